// SPDX-License-Identifier: Apache-2.0
#include "storage/store/piece_reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/files.hpp"
#include "storage/store/object_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::store {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

class PieceReaderTest : public testing::Test {
  protected:
    void write(std::size_t length)
    {
        content_.resize(length);
        for (std::size_t i = 0; i < length; ++i) content_[i] = static_cast<char>('!' + i % 89);
        ASSERT_TRUE(write_file(folder_ / "file", content_));
    }
    Fd open(int flags = O_RDONLY) const { return Fd(::open((folder_ / "file").c_str(), flags)); }
    // Writes the file to the disk and removes it from the page cache.
    void forget() const
    {
        auto const file = open();
        EXPECT_EQ(fsync(file.get()), 0);
        EXPECT_EQ(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    }
    // All pieces until the first empty one.
    static std::string read_all(int fd, std::size_t size)
    {
        PieceReader reader(fd, static_cast<off_t>(size));
        std::string all;
        for (;;) {
            auto const piece = reader.next();
            EXPECT_TRUE(piece);
            if (!piece || piece->empty()) return all;
            all += text_of(*piece);
        }
    }
    std::string content_;
    test::TemporaryFolder folder_;
};

TEST_F(PieceReaderTest, ReadsFilesOfAnySizeFromTheDiskAndFromTheCache)
{
    for (std::size_t const length : {std::size_t{1}, mebibyte - 1, mebibyte, 4 * mebibyte,
                                     4 * mebibyte + 1, 5 * mebibyte + 4096, 6 * mebibyte + 4095}) {
        write(length);
        EXPECT_TRUE(read_all(open().get(), length) == content_) << length << ", cached";
        forget();
        EXPECT_TRUE(read_all(open().get(), length) == content_) << length << ", not cached";
    }
}

TEST_F(PieceReaderTest, EndsWhereAFileHasBeenCutShort)
{
    write(5 * mebibyte + 100);
    auto const shorter = 4 * mebibyte + 50;
    ASSERT_EQ(truncate((folder_ / "file").c_str(), static_cast<off_t>(shorter)), 0);
    forget();
    EXPECT_TRUE(read_all(open().get(), content_.size()) == content_.substr(0, shorter));
}

TEST_F(PieceReaderTest, ReadsNoMoreThanTheGivenSizeOfAFileThatHasGrown)
{
    write(5 * mebibyte);
    forget();
    auto const size = 4 * mebibyte + 50;
    EXPECT_TRUE(read_all(open().get(), size) == content_.substr(0, size));
}

TEST_F(PieceReaderTest, SaysWhyTheSystemRefusesToRead)
{
    write(5 * mebibyte);
    auto const file = open(O_WRONLY);
    PieceReader reader(file.get(), static_cast<off_t>(content_.size()));
    auto const piece = reader.next();
    ASSERT_FALSE(piece);
    EXPECT_EQ(piece.error(), EBADF);
}

}  // namespace
}  // namespace curtail::store
