// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/preallocated.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/core/direct_io.hpp"
#include "base/core/files.hpp"
#include "storage/tensors/reader.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::tensors {
namespace {

constexpr auto block = static_cast<std::int64_t>(direct_block_bytes);

// Tensors of many sizes, in groups, as a snapshot of a large model has them.
std::vector<TensorInfo> many_tensors()
{
    std::vector<TensorInfo> infos{{"header", Dtype::uint8, {block}}};
    for (std::int64_t i = 1; i <= 400; ++i) {
        auto const layer = "weights/h." + std::to_string(i / 8);
        infos.push_back({layer + "/matrix." + std::to_string(i), Dtype::float32, {i, 3 * i}});
        infos.push_back({layer + "/vector." + std::to_string(i), Dtype::float32, {i}});
    }
    return infos;
}

class Preallocated : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(preallocate(path_, head_)); }
    test::TemporaryFolder folder_;
    std::filesystem::path path_{folder_ / "file.h5"};
    std::vector<TensorInfo> infos_{many_tensors()};
    FileHead head_{encode_head(infos_, {{"format", "example"}, {"rank", 3}}, block)};
};

TEST_F(Preallocated, HasItsTensorsAndAttributes)
{
    auto const file = TensorReader::open(path_);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_EQ(file->list().size(), infos_.size());
    for (auto const& info : infos_) EXPECT_EQ(*file->find(info.name), info);
    EXPECT_EQ(file->attributes().text_at("format"), "example");
    EXPECT_EQ(file->attributes().integer_at("rank"), 3);
}

// Whole blocks are overwritten, with what follows the last element. Had the file anything else in
// them, it would be damaged.
TEST_F(Preallocated, TensorsCanBeOverwrittenInWholeBlocks)
{
    auto const& offsets = head_.offsets;
    {
        auto const file = TensorReader::open(path_).value();
        for (std::size_t i = 0; i < infos_.size(); ++i)
            ASSERT_EQ(file.offset(infos_[i].name), offsets[i]) << infos_[i].name;
    }
    std::fstream out(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (std::size_t i = 0; i < infos_.size(); ++i) {
        ASSERT_EQ(offsets[i] % block, 0) << infos_[i].name;
        auto const bytes = in_whole_blocks(infos_[i].bytes());
        out.seekp(offsets[i]);
        out << std::string(static_cast<std::size_t>(bytes), static_cast<char>(i % 250 + 1));
    }
    out.close();
    auto const file = TensorReader::open(path_);
    ASSERT_TRUE(file) << file.error().message();
    for (std::size_t i = 0; i < infos_.size(); ++i) {
        std::vector<std::byte> read(static_cast<std::size_t>(infos_[i].bytes()));
        ASSERT_TRUE(file->read_into(infos_[i].name, infos_[i].dtype, read));
        EXPECT_EQ(read, std::vector<std::byte>(read.size(), static_cast<std::byte>(i % 250 + 1)));
    }
}

TEST_F(Preallocated, HasItsSpaceOnTheDisk)
{
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, status.st_size);
    std::int64_t bytes = 0;
    for (auto const& info : infos_) bytes += info.bytes();
    EXPECT_GT(status.st_size, bytes);
    EXPECT_EQ(status.st_size % block, 0);
}

// A snapshot is written into the file of an earlier one. It must have the space that it needs.
TEST_F(Preallocated, IsMadeAgainOnlyIfItIsAnotherFile)
{
    auto const node = [&] {
        struct stat status {};
        EXPECT_EQ(::stat(path_.c_str(), &status), 0);
        return status.st_ino;
    };
    auto const first = node();
    ASSERT_TRUE(preallocate(path_, head_));
    EXPECT_EQ(node(), first);
    auto const content = read_file(path_).value();
    for (auto const& other : {content.substr(0, content.size() - 1), std::string(),
                              std::string(content.size(), 'x'), content + "x"}) {
        std::ofstream(path_, std::ios::binary) << other;
        ASSERT_TRUE(preallocate(path_, head_));
        EXPECT_TRUE(TensorReader::open(path_));
        EXPECT_EQ(std::filesystem::file_size(path_), content.size());
    }
}

}  // namespace
}  // namespace curtail::tensors
