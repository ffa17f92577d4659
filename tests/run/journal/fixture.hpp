// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "run/journal/reader.hpp"
#include "run/journal/stream_writer.hpp"
#include "support/faulty_store.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_folder.hpp"

/// A local file that is published in a store in memory.
namespace curtail::journal {

inline StreamId const stream_id{{"demo"}, {"A"}, Stream::metrics};
inline Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }

/// `count` lines of `length` bytes each, from line `first` on.
inline std::string lines(int first, int count, std::size_t length = 20)
{
    std::string text;
    for (int i = first; i < first + count; ++i) {
        auto line = "line " + std::to_string(i);
        line.resize(length - 1, '.');
        text += line + "\n";
    }
    return text;
}

class JournalTest : public testing::Test {
  protected:
    void append(std::string const& text) const { append_to(file_, text); }
    static void append_to(std::filesystem::path const& file, std::string const& text)
    {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::app) << text;
    }
    void replace(std::string const& text) const
    {
        std::filesystem::remove(file_);
        append(text);
    }
    [[nodiscard]] StreamWriter writer(std::shared_ptr<store::ObjectStore> store = {}) const
    {
        return writer_of(file_, std::move(store));
    }
    [[nodiscard]] StreamWriter writer_of(std::filesystem::path const& file,
                                         std::shared_ptr<store::ObjectStore> store = {}) const
    {
        WriterOptions options;
        options.now = [this] { return now_; };
        return {StreamObjects(store ? std::move(store) : store_, stream_id), file, options};
    }
    [[nodiscard]] Pass publish() const { return publish(writer()); }
    static Pass publish(StreamWriter writer)
    {
        auto const pass = writer.publish({});
        EXPECT_TRUE(pass) << (pass ? "" : pass.error().message());
        return pass.value_or(Pass{});
    }
    [[nodiscard]] StreamContent stream() const
    {
        auto read = Reader(store_, stream_id.run, Cache({})).read(stream_id.site, Stream::metrics);
        EXPECT_TRUE(read) << (read ? "" : read.error().message());
        return read.value_or(StreamContent{});
    }
    [[nodiscard]] std::string object(int number) const
    {
        auto const content = store_->get(*piece_name(stream_id, {number}), {1 << 22}).value();
        return content ? std::string(store::text_of(*content)) : "";
    }
    void store_object(int number, std::string const& bytes) const
    {
        ASSERT_TRUE(store_->put(*piece_name(stream_id, {number}), std::string_view(bytes)));
    }
    void forget_note() const { std::filesystem::remove(folder_ / "site/metrics.published"); }

    test::TemporaryFolder folder_;
    std::filesystem::path file_{folder_ / "site/metrics.jsonl"};
    std::shared_ptr<store::MemoryStore> store_ = std::make_shared<store::MemoryStore>();
    Time now_{at(0)};
};

}  // namespace curtail::journal
