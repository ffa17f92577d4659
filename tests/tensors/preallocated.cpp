// SPDX-License-Identifier: Apache-2.0
#include "tensors/preallocated.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temporary_folder.hpp"
#include "tensors/reader.hpp"

namespace curtail::tensors {
namespace {

// Tensors of many sizes, in groups, as a snapshot of a large model has them.
std::vector<TensorInfo> many_tensors()
{
    std::vector<TensorInfo> infos{{"header", Dtype::uint8, {block_bytes}}};
    for (std::int64_t i = 1; i <= 400; ++i) {
        auto const layer = "weights/h." + std::to_string(i / 8);
        infos.push_back({layer + "/matrix." + std::to_string(i), Dtype::float32, {i, 3 * i}});
        infos.push_back({layer + "/vector." + std::to_string(i), Dtype::float32, {i}});
    }
    return infos;
}

class Preallocated : public testing::Test {
  protected:
    void SetUp() override
    {
        ASSERT_TRUE(create_preallocated(path_, infos_, {{"format", "example"}, {"rank", 3}}));
    }
    test::TemporaryFolder folder_;
    std::filesystem::path path_{folder_ / "file.h5"};
    std::vector<TensorInfo> infos_{many_tensors()};
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
    std::vector<std::int64_t> offsets;
    {
        auto const file = TensorReader::open(path_).value();
        for (auto const& info : infos_) offsets.push_back(file.offset(info.name).value());
    }
    std::fstream out(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (std::size_t i = 0; i < infos_.size(); ++i) {
        ASSERT_EQ(offsets[i] % block_bytes, 0) << infos_[i].name;
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
    EXPECT_EQ(status.st_size % block_bytes, 0);
}

}  // namespace
}  // namespace curtail::tensors
