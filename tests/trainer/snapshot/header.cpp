// SPDX-License-Identifier: Apache-2.0
#include "trainer/snapshot/header.hpp"

#include <gtest/gtest.h>

namespace curtail::snapshot {
namespace {

RankHeader example()
{
    return {{RunId{"demo"}, "run abc", Tokens{512}, 4, 77, 3},
            {5, 1, 2},
            {{{"weights/a", {2, 3}, 0, 6}, sha256("a")}, {{"weights/b", {10}, 4, 3}, sha256("b")}}};
}

TEST(SnapshotHeader, IsReadAsItWasWritten)
{
    auto const header = example();
    auto const text = encode(header);
    auto const read = decode(text + std::string(100, '\0'));
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_TRUE(*read);
    EXPECT_EQ((*read)->metadata, header.metadata);
    EXPECT_EQ((*read)->place, header.place);
    ASSERT_EQ((*read)->ranges.size(), 2);
    EXPECT_EQ((*read)->ranges[1].range, header.ranges[1].range);
    EXPECT_EQ((*read)->ranges[1].sha256, header.ranges[1].sha256);
}

TEST(SnapshotHeader, OfAFileThatWasNeverWrittenIsEmpty)
{
    auto const read = decode(std::string(4096, '\0'));
    ASSERT_TRUE(read);
    EXPECT_FALSE(*read);
}

TEST(SnapshotHeader, WithAnyDamagedByteIsRefused)
{
    auto const text = encode(example());
    for (std::size_t i = 0; i < text.size(); i += 7) {
        auto damaged = text;
        damaged[i] = static_cast<char>(damaged[i] ^ 1);
        EXPECT_FALSE(decode(damaged)) << i;
    }
    EXPECT_FALSE(decode(text.substr(0, text.size() / 2)));
}

TEST(SnapshotHeader, WithInvalidNumbersIsRefused)
{
    for (auto const& place : {Place{1, 2, 2}, Place{1, -1, 2}, Place{1, 0, 0}}) {
        auto header = example();
        header.place = place;
        EXPECT_FALSE(decode(encode(header)));
    }
    for (auto const& range : {ElementRange{"w", {4}, 2, 3}, ElementRange{"w", {4}, -1, 2},
                              ElementRange{"w", {4}, 0, 0}, ElementRange{"w", {-4}, 0, 1}}) {
        auto header = example();
        header.ranges[0].range = range;
        EXPECT_FALSE(decode(encode(header))) << range.first << " " << range.count;
    }
}

TEST(SnapshotHeader, FitsIntoItsSpace)
{
    auto header = example();
    for (int i = 0; i < 500; ++i)
        header.ranges.push_back({{std::string(200, 'w') + std::to_string(i),
                                  {1'000'000'000'000, 1'000'000},
                                  999'999'999'999'999,
                                  999'999'999'999'999},
                                 sha256("a")});
    std::vector<ElementRange> ranges;
    for (auto const& stored : header.ranges) ranges.push_back(stored.range);
    EXPECT_LE(encode(header).size(), static_cast<std::size_t>(header_bytes(ranges)));
}

TEST(SnapshotHeader, FileNamesAreRecognized)
{
    EXPECT_EQ(file_name({3, 0, 2}), "snapshot-a.0of2.h5");
    EXPECT_EQ(file_name({4, 1, 2}), "snapshot-b.1of2.h5");
    EXPECT_TRUE(is_file_name("snapshot-b.13of16.h5"));
    for (auto const* name : {"snapshot.h5", "snapshot-a.h5", "snapshot-c.0of2.h5",
                             "snapshot-a.0of2.h5.tmp", "snapshot-a.00of2.h5", "snapshot-a.of2.h5",
                             ".snapshot-a.0of2.h5.1.2.tmp", "snapshot-a.0of.h5"})
        EXPECT_FALSE(is_file_name(name)) << name;
}

}  // namespace
}  // namespace curtail::snapshot
