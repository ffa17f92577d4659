// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <future>
#include <limits>
#include <numeric>

#include "storage/tensors/reader.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/snapshot/reader.hpp"
#include "trainer/snapshot/writer.hpp"

namespace curtail::snapshot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
constexpr std::chrono::milliseconds long_enough{30'000};

// A tensor of several blocks, one of a few elements, and one of exactly a block.
std::vector<ElementRange> const tensors_of_model{{"weights/matrix", {100, 70}, 0, 7'000},
                                                 {"weights/scale", {3}, 0, 3},
                                                 {"optimizer/matrix/momentum", {1'024}, 0, 1'024}};

// The ranges of a rank: each has an equal part of every tensor.
std::vector<ElementRange> ranges_of(int rank, int ranks)
{
    std::vector<ElementRange> parts;
    for (auto const& range : tensors_of_model) {
        auto const begin = range.count * rank / ranks;
        auto const end = range.count * (rank + 1) / ranks;
        if (begin == end) continue;
        parts.push_back({range.name, range.shape, begin, end - begin});
    }
    return parts;
}

using Values = std::vector<std::vector<float>>;

// Element i of tensor t is 1000 t + i + offset.
Values values_of(std::vector<ElementRange> const& ranges, float offset)
{
    Values values;
    for (auto const& range : ranges) {
        float tensor = 0;
        while (tensors_of_model[static_cast<std::size_t>(tensor)].name != range.name) ++tensor;
        values.emplace_back(static_cast<std::size_t>(range.count));
        std::iota(values.back().begin(), values.back().end(),
                  1'000 * tensor + static_cast<float>(range.first) + offset);
    }
    return values;
}

Writer::CopyRange copy_of(Values const& values)
{
    return [values](std::size_t range, std::size_t first, std::span<float> to) {
        std::copy_n(values.at(range).begin() + static_cast<std::ptrdiff_t>(first), to.size(),
                    to.begin());
    };
}

class SnapshotFiles : public testing::Test {
  protected:
    Metadata metadata(std::int64_t steps) const
    {
        return {RunId{"demo"}, "run abc", Tokens{9}, steps, 1, 2};
    }

    // Saves a whole snapshot, whose values depend on `serial`.
    void save(std::int64_t serial, int ranks)
    {
        for (int rank = 0; rank < ranks; ++rank) {
            auto const ranges = ranges_of(rank, ranks);
            Writer writer(folder_, ranges);
            auto values = values_of(ranges, static_cast<float>(serial));
            ASSERT_TRUE(writer.begin(metadata(serial), {serial, rank, ranks}, copy_of(values)));
            for (auto& part : values) std::fill(part.begin(), part.end(), -1.0F);
            auto const done = writer.take_result(long_enough);
            ASSERT_TRUE(done && *done) << done->error().message();
        }
    }
    // What all ranks read from the newest snapshot.
    Result<Values> read_by(int ranks)
    {
        auto const found = find_snapshots(folder_).value();
        Values all;
        for (int rank = 0; rank < ranks; ++rank) {
            auto const ranges = ranges_of(rank, ranks);
            Values values;
            for (auto const& range : ranges) values.emplace_back(range.count, -2.0F);
            std::vector<std::span<float>> const into(values.begin(), values.end());
            if (auto done = read(folder_, found.whole.at(0), ranges, into); !done)
                return tl::unexpected(done.error());
            all.insert(all.end(), values.begin(), values.end());
        }
        return all;
    }
    static Values expected(int ranks, float offset)
    {
        Values all;
        for (int rank = 0; rank < ranks; ++rank) {
            auto const values = values_of(ranges_of(rank, ranks), offset);
            all.insert(all.end(), values.begin(), values.end());
        }
        return all;
    }
    void flip_byte(fs::path const& path, std::int64_t at) const
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(at);
        auto const byte = static_cast<char>(file.get() ^ 1);
        file.seekp(at);
        file.put(byte);
    }
    [[nodiscard]] std::int64_t offset(fs::path const& path, std::string const& name) const
    {
        return tensors::TensorReader::open(path)->offset(name).value();
    }

    test::TemporaryFolder temporary_;
    fs::path folder_{temporary_ / "site"};
    void SetUp() override { fs::create_directories(folder_); }
};

TEST_F(SnapshotFiles, AnyNumberOfRanksReadsWhatAnyOtherNumberHasSaved)
{
    std::int64_t serial = 0;
    for (int const saved : {1, 2, 3, 4}) {
        save(++serial, saved);
        save(++serial, saved);
        for (int const ranks : {1, 2, 3, 4, 5}) {
            auto const values = read_by(ranks);
            ASSERT_TRUE(values) << values.error().message();
            EXPECT_EQ(*values, expected(ranks, static_cast<float>(serial)))
                << ranks << " read what " << saved << " have saved";
        }
    }
}

TEST_F(SnapshotFiles, TheNewestWholeSnapshotComesFirst)
{
    save(1, 2);
    save(2, 2);
    save(3, 2);
    auto const found = find_snapshots(folder_).value();
    ASSERT_EQ(found.whole.size(), 2);
    EXPECT_EQ(found.whole[0].serial, 3);
    EXPECT_EQ(found.whole[0].metadata, metadata(3));
    EXPECT_EQ(found.whole[1].serial, 2);
    EXPECT_TRUE(found.damaged.empty());
}

TEST_F(SnapshotFiles, ASnapshotThatLacksARankIsNotWhole)
{
    save(1, 2);
    save(2, 2);
    auto const ranges = ranges_of(0, 2);
    Writer writer(folder_, ranges);
    auto const values = values_of(ranges, 3);
    ASSERT_TRUE(writer.begin(metadata(3), {3, 0, 2}, copy_of(values)));
    ASSERT_TRUE(writer.take_result(long_enough)->has_value());
    auto const found = find_snapshots(folder_).value();
    ASSERT_EQ(found.whole.size(), 1);
    EXPECT_EQ(found.whole[0].serial, 2);
    EXPECT_TRUE(found.damaged.empty());
}

TEST_F(SnapshotFiles, ADamagedElementIsFound)
{
    save(1, 1);
    auto const path = folder_ / file_name({1, 0, 1});
    flip_byte(path, offset(path, "weights/scale") + 5);
    auto const values = read_by(1);
    ASSERT_FALSE(values);
    EXPECT_EQ(values.error().code, ExitCode::data);
    EXPECT_THAT(values.error().message(), HasSubstr("the digest of weights/scale differs"));
}

TEST_F(SnapshotFiles, ADamagedHeaderIsReportedAndTheOtherSlotIsWhole)
{
    save(1, 1);
    save(2, 1);
    auto const path = folder_ / file_name({2, 0, 1});
    flip_byte(path, offset(path, header_tensor) + 80);
    auto const found = find_snapshots(folder_).value();
    ASSERT_EQ(found.whole.size(), 1);
    EXPECT_EQ(found.whole[0].serial, 1);
    EXPECT_THAT(found.damaged, testing::ElementsAre(HasSubstr(path.string())));
}

TEST_F(SnapshotFiles, ANonFiniteValueIsNotSavedAndTheOtherSlotIsWhole)
{
    save(1, 1);
    save(2, 1);
    auto const ranges = ranges_of(0, 1);
    auto values = values_of(ranges, 3);
    values[0][6'999] = std::numeric_limits<float>::infinity();
    Writer writer(folder_, ranges);
    ASSERT_TRUE(writer.begin(metadata(3), {3, 0, 1}, copy_of(values)));
    auto const done = writer.take_result(long_enough);
    ASSERT_TRUE(done);
    ASSERT_FALSE(*done);
    EXPECT_THAT(done->error().message(),
                HasSubstr("weights/matrix has values that are not finite"));
    EXPECT_EQ(find_snapshots(folder_)->whole.at(0).serial, 2);
    EXPECT_EQ(read_by(1).value(), expected(1, 2));
}

// The first one is so much larger that a later one is noticed before it.
TEST_F(SnapshotFiles, TheFirstOfSeveralRangesThatAreNotFiniteIsReported)
{
    std::vector<ElementRange> ranges;
    Values values;
    for (int i = 0; i < 16; ++i) {
        std::int64_t const count = i == 4 ? 1 << 22 : 1 << 10;
        ranges.push_back({std::to_string(i), {count}, 0, count});
        values.emplace_back(count, 1.0F);
    }
    for (std::size_t const i : {4UL, 5UL, 6UL, 15UL})
        values[i].back() = std::numeric_limits<float>::quiet_NaN();
    Writer writer(folder_, ranges);
    ASSERT_TRUE(writer.begin(metadata(1), {1, 0, 1}, copy_of(values)));
    auto const done = writer.take_result(long_enough);
    ASSERT_TRUE(done && !*done);
    EXPECT_THAT(done->error().message(), HasSubstr(": 4 has values that are not finite"));
}

TEST_F(SnapshotFiles, ARangeIsWrittenWhileALaterOneIsBeingCopied)
{
    std::vector<ElementRange> const ranges{{"first", {1'024}, 0, 1'024},
                                           {"second", {1'024}, 0, 1'024}};
    Writer writer(folder_, ranges);
    bool written = false;
    auto const path = folder_ / file_name({1, 0, 1});
    auto const has_ones = [&] {
        std::ifstream file(path, std::ios::binary);
        file.seekg(offset(path, "first"));
        float value = 0;
        file.read(reinterpret_cast<char*>(&value), sizeof(value));
        return value == 1;
    };
    auto const copy = [&](std::size_t range, std::size_t, std::span<float> to) {
        std::ranges::fill(to, 1.0F);
        auto const end = std::chrono::steady_clock::now() + long_enough;
        while (range == 1 && !written && std::chrono::steady_clock::now() < end)
            written = has_ones();
    };
    ASSERT_TRUE(writer.begin(metadata(1), {1, 0, 1}, copy));
    ASSERT_TRUE(writer.take_result(long_enough)->has_value());
    EXPECT_TRUE(written);
}

// A later snapshot overwrites its file in place. Nothing but the elements and the header changes.
TEST_F(SnapshotFiles, OneFileServesAllSnapshotsOfItsSlot)
{
    save(1, 1);
    auto const path = folder_ / file_name({1, 0, 1});
    auto const node = [&] {
        struct stat s {};
        EXPECT_EQ(::stat(path.c_str(), &s), 0);
        return std::pair(s.st_ino, s.st_size);
    };
    auto const before = node();
    save(3, 1);
    EXPECT_EQ(node(), before);
    EXPECT_EQ(read_by(1).value(), expected(1, 3));
    auto const file = tensors::TensorReader::open(path);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->find("weights/matrix")->shape, (tensors::Shape{100, 70}));
    EXPECT_EQ(file->attributes().text_at("format"), format);
}

TEST_F(SnapshotFiles, AWriterMakesItsBlocksBeforeTheFirstSnapshot)
{
    std::promise<std::size_t> made;
    Writer const writer(folder_, ranges_of(0, 1), {[&](std::size_t bytes) {
                            made.set_value(bytes);
                            return AlignedMemory(bytes);
                        }});
    auto bytes = made.get_future();
    ASSERT_EQ(bytes.wait_for(long_enough), std::future_status::ready);
    EXPECT_EQ(bytes.get(), (7 + 1 + 1) * 4'096U);
}

TEST_F(SnapshotFiles, ARangeThatSpansBlocksIsWrittenAndCopiedInParts)
{
    constexpr std::int64_t count = (std::int64_t{9} << 20) + 5;  // 32 MiB and 4 MiB
    std::vector<ElementRange> const ranges{{"small", {3}, 0, 3}, {"large", {count}, 0, count}};
    std::vector<std::size_t> blocks;
    Writer writer(folder_, ranges,
                  {[&](std::size_t bytes) {
                       blocks.push_back(bytes);
                       return AlignedMemory(bytes);
                   },
                   std::size_t{32} << 20});
    Values values{{1, 2, 3}, std::vector<float>(count)};
    std::iota(values[1].begin(), values[1].end(), 0.0F);
    ASSERT_TRUE(writer.begin(metadata(1), {1, 0, 1}, copy_of(values)));
    auto const done = writer.take_result(long_enough);
    ASSERT_TRUE(done && *done) << done->error().message();
    EXPECT_THAT(blocks, testing::ElementsAre(std::size_t{32} << 20, (4U << 20) + 2 * 4'096U));
    Values found{std::vector<float>(3), std::vector<float>(count)};
    std::vector<std::span<float>> const into(found.begin(), found.end());
    ASSERT_TRUE(read(folder_, find_snapshots(folder_)->whole.at(0), ranges, into));
    EXPECT_TRUE(found == values);
}

// The memory may have held anything.
TEST_F(SnapshotFiles, ZerosFillTheLastBlockOfATensor)
{
    std::vector<ElementRange> const ranges{{"small", {3}, 0, 3}};
    Writer writer(folder_, ranges, {[](std::size_t bytes) {
                      AlignedMemory block(bytes);
                      std::ranges::fill(block.bytes(), std::byte{7});
                      return block;
                  }});
    ASSERT_TRUE(writer.begin(metadata(1), {1, 0, 1}, copy_of({{1, 2, 3}})));
    ASSERT_TRUE(writer.take_result(long_enough)->has_value());
    auto const path = folder_ / file_name({1, 0, 1});
    std::ifstream file(path, std::ios::binary);
    file.seekg(offset(path, "small") + 12);
    std::string rest(4'096 - 12, 'x');
    file.read(rest.data(), std::ssize(rest));
    EXPECT_EQ(rest, std::string(rest.size(), '\0'));
}

TEST_F(SnapshotFiles, AWriterAsksAgainForABlockThatItCouldNotGet)
{
    int asked = 0;
    auto const ranges = ranges_of(0, 1);
    Writer writer(folder_, ranges, {[&](std::size_t bytes) {
                      if (++asked < 3) throw std::bad_alloc();
                      return AlignedMemory(bytes);
                  }});
    auto const values = values_of(ranges, 1);
    EXPECT_THROW((void)writer.begin(metadata(1), {1, 0, 1}, copy_of(values)), std::bad_alloc);
    EXPECT_FALSE(writer.is_writing());
    ASSERT_TRUE(writer.begin(metadata(1), {1, 0, 1}, copy_of(values)));
    EXPECT_TRUE(writer.take_result(long_enough)->has_value());
    EXPECT_EQ(asked, 3);
}

TEST_F(SnapshotFiles, AFileOfAnotherModelIsReplaced)
{
    save(1, 1);
    std::vector<ElementRange> const other{{"weights/matrix", {100, 71}, 0, 7'100}};
    Writer writer(folder_, other);
    Values const values{std::vector<float>(7'100, 1.0F)};
    ASSERT_TRUE(writer.begin(metadata(1), {1, 0, 1}, copy_of(values)));
    ASSERT_TRUE(writer.take_result(long_enough)->has_value());
    auto const wrong = read_by(1);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message(), HasSubstr("the shape of weights/matrix differs"));
}

TEST_F(SnapshotFiles, AFileThatDoesNotFitOnTheDiskIsNotBegun)
{
    save(1, 1);
    auto const ranges = ranges_of(0, 1);
    auto const values = values_of(ranges, 2);
    Writer writer(folder_, ranges);
    // Exceeding the limit fails like a full disk, with another number.
    struct rlimit old {};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{20'000, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    auto const begun = writer.begin(metadata(2), {2, 0, 1}, copy_of(values));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    ASSERT_FALSE(begun);
    EXPECT_THAT(begun.error().message(), HasSubstr("File too large; raise the limit (ulimit -f)"));
    EXPECT_THAT(begun.error().message(), HasSubstr("cannot prepare the snapshot"));
    EXPECT_EQ(find_snapshots(folder_)->whole.at(0).serial, 1);
    EXPECT_FALSE(fs::exists(folder_ / file_name({2, 0, 1})));
}

TEST_F(SnapshotFiles, FilesOfAnotherNumberOfRanksAreRemovedFromTheSlot)
{
    save(1, 2);
    save(2, 2);
    remove_other_ranks(folder_, {3, 0, 1});
    EXPECT_FALSE(fs::exists(folder_ / file_name({1, 0, 2})));
    EXPECT_FALSE(fs::exists(folder_ / file_name({1, 1, 2})));
    EXPECT_EQ(find_snapshots(folder_)->whole.at(0).serial, 2);
}

TEST_F(SnapshotFiles, ACopyThatThrowsFailsTheSnapshotAndKeepsTheOlderOne)
{
    save(1, 1);
    Writer writer(folder_, ranges_of(0, 1));
    auto const broken = [](std::size_t range, std::size_t, std::span<float> to) {
        if (range > 0) throw std::runtime_error("the GPU is gone");
        std::fill(to.begin(), to.end(), 0.0F);
    };
    EXPECT_THROW((void)writer.begin(metadata(2), {2, 0, 1}, broken), std::runtime_error);
    auto const done = writer.take_result(long_enough);
    ASSERT_TRUE(done);
    ASSERT_FALSE(*done);
    EXPECT_THAT(done->error().message(), HasSubstr("the GPU is gone"));
    auto const found = find_snapshots(folder_).value();
    ASSERT_EQ(found.whole.size(), 1U);
    EXPECT_EQ(found.whole.front().serial, 1);
}

}  // namespace
}  // namespace curtail::snapshot
