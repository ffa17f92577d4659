// SPDX-License-Identifier: Apache-2.0
#include "base/core/direct_io.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::string text_of_length(std::size_t length)
{
    std::string text(length, ' ');
    for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>('!' + i % 89);
    return text;
}

class WritePieces : public testing::Test {
  protected:
    std::filesystem::path path() const { return folder_ / "file"; }
    Fd create() const { return Fd(open(path().c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)); }

  private:
    test::TemporaryFolder folder_;
};

TEST_F(WritePieces, WritesContentsOfAnyLengthAndPlace)
{
    auto const text = text_of_length(13 * mebibyte + 1);
    std::string_view const all(text);
    for (std::size_t const length : {std::size_t{0}, std::size_t{1}, 4 * mebibyte - 1, 4 * mebibyte,
                                     4 * mebibyte + 4096, 8 * mebibyte + 4095, 12 * mebibyte + 1}) {
        for (std::size_t const first : {std::size_t{1}, std::size_t{4096}, mebibyte + 5}) {
            auto const content = all.substr(1, length);
            Pieces pieces{content.substr(0, std::min(first, length))};
            if (first < length) pieces.add(std::as_bytes(std::span(content.substr(first))));
            Fd const file = create();
            ASSERT_EQ(write_pieces(file.get(), pieces), 0);
            EXPECT_TRUE(read_file(path()).value() == content) << length << " from " << first;
        }
    }
}

// How many pages of the file are in the page cache.
std::size_t cached_pages(int fd, std::size_t size)
{
    void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return 0;
    std::vector<unsigned char> pages((size + 4095) / 4096);
    EXPECT_EQ(mincore(memory, size, pages.data()), 0);
    munmap(memory, size);
    return static_cast<std::size_t>(
        std::count_if(pages.begin(), pages.end(), [](auto page) { return (page & 1U) != 0; }));
}

TEST_F(WritePieces, LargeContentsStayOutOfThePageCache)
{
    Fd const file = create();
    if (fcntl(file.get(), F_SETFL, O_RDWR | O_DIRECT) != 0 || pwrite(file.get(), "", 0, 0) != 0)
        GTEST_SKIP() << "this file system has no direct I/O";
    ASSERT_EQ(fcntl(file.get(), F_SETFL, O_RDWR), 0);
    auto const text = text_of_length(8 * mebibyte + 5);
    ASSERT_EQ(write_pieces(file.get(), std::string_view(text)), 0);
    EXPECT_LE(cached_pages(file.get(), text.size()), 1U) << "the end, which is no whole block";
}

TEST_F(WritePieces, EndsOnceItsCallIsOver)
{
    std::stop_source stop;
    stop.request_stop();
    Fd const file = create();
    auto const text = text_of_length(8 * mebibyte);
    EXPECT_EQ(write_pieces(file.get(), std::string_view(text), {stop.get_token(), {}}), ECANCELED);
    EXPECT_EQ(lseek(file.get(), 0, SEEK_END), 0);
}

TEST_F(WritePieces, SaysWhyTheSystemRefusesToWrite)
{
    create();
    Fd const file(open(path().c_str(), O_RDONLY));
    for (std::size_t const length : {std::size_t{10}, 5 * mebibyte})
        EXPECT_EQ(write_pieces(file.get(), std::string_view(text_of_length(length))), EBADF);
}

}  // namespace
}  // namespace curtail
