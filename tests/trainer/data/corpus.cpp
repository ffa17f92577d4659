// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/corpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <numeric>

#include "base/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Corpus> read(std::filesystem::path const& source)
{
    return read_corpus(std::span(&source, 1));
}

TEST(Documents, AreCutAfterBlankLinesThenLinesThenCharacters)
{
    EXPECT_THAT(cut_documents("one\n\ntwo\n\nthree", 11), ElementsAre("one\n\ntwo\n\n", "three"));
    EXPECT_THAT(cut_documents("one\ntwo\nthree", 9), ElementsAre("one\ntwo\n", "three"));
    EXPECT_THAT(cut_documents("ééé", 3), ElementsAre("é", "é", "é"));
    EXPECT_THAT(cut_documents("short", 100), ElementsAre("short"));
    EXPECT_TRUE(cut_documents("", 100).empty());
}

TEST(Documents, AreCutTheSameWayWithTheLineEndsOfOtherMachines)
{
    std::string const text = "one\n\ntwo\nthree\n\nfour\nfive\nsix";
    for (std::size_t limit = 8; limit < text.size(); ++limit) {
        auto const cuts = cut_documents(text, limit);
        for (std::string const end : {"\r\n", "\r", " \n", "\t\r\n"}) {
            auto const other = [&](std::string_view part) {
                std::string out;
                for (char const c : part) out += c == '\n' ? end : std::string(1, c);
                return out;
            };
            // The limit counts bytes, so it must leave room for the longer line ends.
            std::vector<std::string> expected;
            expected.reserve(cuts.size());
            for (auto const& document : cuts) expected.push_back(other(document));
            auto const longest = std::ranges::max(expected, {}, &std::string::size).size();
            if (longest > limit) continue;
            EXPECT_EQ(cut_documents(other(text), limit), expected) << limit << " " << end.size();
        }
    }
    EXPECT_THAT(cut_documents("one\r\n\r\ntwo\r\nthree", 13),
                ElementsAre("one\r\n\r\n", "two\r\nthree"));
    EXPECT_THAT(cut_documents("one\n \t\ntwo\nthree", 13), ElementsAre("one\n \t\n", "two\nthree"));
    EXPECT_THAT(cut_documents("one\r\rtwo\rthree", 11), ElementsAre("one\r\r", "two\rthree"));
    EXPECT_THAT(cut_documents("ab\r\ncd", 3), ElementsAre("ab\r", "\ncd")) << "no other place";
}

TEST(Corpus, ReadsFilesOfOtherMachines)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "A.TXT",
                           "\xEF\xBB\xBF"
                           "one"));
    ASSERT_TRUE(write_file(folder / "b.Txt", "\xEF\xBB\xBF"));
    auto const corpus = read(folder.path());
    ASSERT_TRUE(corpus) << corpus.error().message();
    EXPECT_THAT(corpus->documents, ElementsAre("one"));
    EXPECT_EQ(corpus->bytes, 3);
}

TEST(Corpus, ReadsTheTextFilesOfAFolderInOrder)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(make_folder(folder / "b"));
    ASSERT_TRUE(write_file(folder / "c.txt", "third"));
    ASSERT_TRUE(write_file(folder / "a.txt", "first"));
    ASSERT_TRUE(write_file(folder / "b" / "x.txt", "second"));
    ASSERT_TRUE(write_file(folder / "empty.txt", ""));
    ASSERT_TRUE(write_file(folder / "notes.md", "no text"));
    auto const corpus = read(folder.path());
    ASSERT_TRUE(corpus) << corpus.error().message();
    EXPECT_THAT(corpus->documents, ElementsAre("first", "second", "third"));
    EXPECT_EQ(corpus->bytes, 16);
}

TEST(Corpus, FollowsLinksAndReadsEveryFileOnce)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(make_folder(folder / "text"));
    ASSERT_TRUE(make_folder(folder / "more"));
    ASSERT_TRUE(write_file(folder / "text" / "a.txt", "one"));
    ASSERT_TRUE(write_file(folder / "more" / "b.txt", "two"));
    std::filesystem::create_directory_symlink(folder / "more", folder / "text" / "linked");
    std::filesystem::create_directory_symlink(folder / "text", folder / "more" / "round");
    std::filesystem::create_symlink(folder / "text" / "a.txt", folder / "text" / "z.txt");
    EXPECT_THAT(read(folder / "text")->documents, ElementsAre("one", "two"));
    std::vector<std::filesystem::path> const twice{folder / "text" / "a.txt", folder / "text",
                                                   folder / "text" / "z.txt"};
    EXPECT_THAT(read_corpus(twice)->documents, ElementsAre("one", "two"));
}

TEST(Corpus, BrokenLinksAndSpecialFilesAreErrors)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "a.txt", "one"));
    std::filesystem::create_symlink(folder / "missing", folder / "b.txt");
    auto const dangling = read(folder.path());
    ASSERT_FALSE(dangling);
    EXPECT_EQ(dangling.error().code, ExitCode::no_input);
    EXPECT_THAT(dangling.error().message(), HasSubstr("b.txt: it is a broken link"));
    std::filesystem::rename(folder / "b.txt", folder / "b");
    EXPECT_THAT(read(folder.path()).error().message(), HasSubstr("b: it is a broken link"));
    std::filesystem::remove(folder / "b");
    ASSERT_EQ(mkfifo((folder / "c.txt").c_str(), 0600), 0);
    EXPECT_THAT(read(folder.path()).error().message(),
                HasSubstr("c.txt: it is not a regular file"));
}

TEST(Corpus, DigestDependsOnContentOnly)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "a.txt", "one"));
    auto const before = read(folder.path())->digest;
    EXPECT_EQ(read(folder / "a.txt")->digest, before);
    ASSERT_TRUE(write_file(folder / "a.txt", "two"));
    EXPECT_NE(read(folder.path())->digest, before);
}

TEST(Corpus, MissingOrEmptyTextIsNoInput)
{
    test::TemporaryFolder const folder;
    EXPECT_EQ(read(folder / "none.txt").error().code, ExitCode::no_input);
    EXPECT_THAT(read(folder.path()).error().message(), HasSubstr("the folder has no .txt file"));
    ASSERT_TRUE(write_file(folder / "a.txt", ""));
    auto const empty = read(folder / "a.txt");
    EXPECT_EQ(empty.error().code, ExitCode::no_input);
    EXPECT_THAT(empty.error().message(),
                HasSubstr("there is no text in " + (folder / "a.txt").string()));
}

TEST(Corpus, AnErrorNamesFileAndByteOfInvalidUtf8)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "latin.txt", "gr\xf6\xdf"));
    auto const failed = read(folder.path());
    EXPECT_EQ(failed.error().code, ExitCode::data);
    EXPECT_THAT(failed.error().message(), HasSubstr("latin.txt: not UTF-8 at byte 2"));
}

// As Windows programs write it. Without a mark, its bytes are valid UTF-8.
TEST(Corpus, NamesTheWideEncodingOfAText)
{
    test::TemporaryFolder const folder;
    for (bool const big : {false, true})
        for (bool const marked : {false, true})
            for (std::string const plain : {"Some plain text, with words.\r\n", "ok"}) {
                std::string text;
                if (marked) text = big ? "\xFE\xFF" : "\xFF\xFE";
                for (char const c : plain)
                    text += big ? std::string{'\0', c} : std::string{c, '\0'};
                ASSERT_TRUE(write_file(folder / "wide.txt", text));
                auto const failed = read(folder / "wide.txt");
                ASSERT_FALSE(failed) << big << marked;
                EXPECT_EQ(failed.error().code, ExitCode::data);
                std::string const name = big ? "UTF-16BE" : "UTF-16LE";
                EXPECT_THAT(failed.error().message(), HasSubstr("it is " + name + ", not UTF-8"));
                EXPECT_THAT(failed.error().message(), HasSubstr("iconv -f " + name + " -t UTF-8"));
            }
    ASSERT_TRUE(write_file(folder / "wide.txt", std::string(2000, 'a') + '\0' + "b"));
    EXPECT_TRUE(read(folder / "wide.txt")) << "a NUL byte alone";
}

TEST(Shuffle, IsAPermutationThatDependsOnTheSeedOnly)
{
    EXPECT_THAT(shuffled(10, 1), ElementsAre(9, 0, 1, 4, 8, 2, 3, 7, 6, 5))
        << "frozen: runs depend on it";
    EXPECT_NE(shuffled(10, 2), shuffled(10, 1));
    auto order = shuffled(1'000, 5);
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> all(1'000);
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_EQ(order, all);
    EXPECT_TRUE(shuffled(0, 1).empty());
}

TEST(SplitDocuments, HoldsOutAShareAndAtLeastOne)
{
    auto const twenty = *split_documents(100, 0.2, 3);
    EXPECT_EQ(twenty.held_out.size(), 20U);
    EXPECT_EQ(twenty.training.size(), 80U);
    EXPECT_EQ(split_documents(4, 0.05, 3)->held_out.size(), 1U);
    EXPECT_EQ(split_documents(4, 0, 3)->held_out.size(), 0U);
    EXPECT_EQ(split_documents(1, 0.05, 3).error().code, ExitCode::data);
    EXPECT_EQ(split_documents(4, 1, 3).error().code, ExitCode::usage);
    EXPECT_EQ(split_documents(4, -0.1, 3).error().code, ExitCode::usage);
}

}  // namespace
}  // namespace curtail::data
