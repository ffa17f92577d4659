// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/data/output_folder.hpp"
#include "trainer/data/stream.hpp"
#include "trainer/data/summary.hpp"
#include "trainer/data/tokenizer.hpp"
#include "trainer/data/verify.hpp"

namespace curtail::data {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

PrepareOptions golden_text(fs::path const& out)
{
    PrepareOptions options;
    options.text = {test::source_path("tests/golden/corpus")};
    options.out = out;
    options.vocabulary_size = 500;
    options.held_out_share = 0.25;
    options.shard_tokens = 1'000;
    return options;
}

std::vector<std::string> names_in(fs::path const& folder)
{
    std::vector<std::string> names;
    for (auto const& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

// All documents of a split, decoded.
std::vector<std::string> documents_of(fs::path const& folder, Split split)
{
    auto const tokenizer = Tokenizer::read(folder / tokenizer_file).value();
    auto stream = TokenStream::open(folder, split).value();
    std::vector<Token> all(static_cast<std::size_t>(stream.tokens()));
    EXPECT_TRUE(stream.read(0, all));
    std::vector<std::string> documents;
    for (auto const token : all)
        if (token == tokenizer.bos()) documents.emplace_back();
        else documents.back() += *tokenizer.decode(std::span(&token, 1));
    return documents;
}

TEST(Prepare, EveryDocumentIsInTheShardsOnce)
{
    test::TemporaryFolder const folder;
    auto const prepared = prepare(golden_text(folder / "data"));
    ASSERT_TRUE(prepared) << prepared.error().message();
    EXPECT_FALSE(prepared->up_to_date);
    EXPECT_GT(prepared->manifest.train.shards.size(), 2U);
    EXPECT_EQ(prepared->manifest.vocabulary_size, 500);
    auto found = documents_of(folder / "data", Split::train);
    EXPECT_EQ(found.size(), 3U);
    auto const held_out = documents_of(folder / "data", Split::held_out);
    EXPECT_EQ(held_out.size(), 1U);
    found.insert(found.end(), held_out.begin(), held_out.end());
    std::vector<std::string> expected;
    for (int i = 1; i <= 4; ++i)
        expected.push_back(*read_file(test::source_path("tests/golden/corpus/prose-") +
                                      std::to_string(i) + ".txt"));
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));
    EXPECT_TRUE(verify(folder / "data")->good());
}

TEST(Prepare, EqualTextAndOptionsGiveEqualBytesAndAreUpToDate)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(prepare(golden_text(folder / "a")));
    ASSERT_TRUE(prepare(golden_text(folder / "b")));
    for (auto const& name : names_in(folder / "a"))
        EXPECT_EQ(*read_file(folder / "a" / name), *read_file(folder / "b" / name)) << name;
    auto const again = prepare(golden_text(folder / "a"));
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->up_to_date);
}

TEST(Prepare, OtherOptionsNeedReplace)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(prepare(golden_text(folder / "data")));
    auto other = golden_text(folder / "data");
    other.seed = 2;
    auto const refused = prepare(other);
    EXPECT_EQ(refused.error().code, ExitCode::cannot_create);
    EXPECT_THAT(refused.error().message(), HasSubstr("with different options; add --replace"));
    other.replace = true;
    auto const replaced = prepare(other);
    ASSERT_TRUE(replaced) << replaced.error().message();
    EXPECT_EQ(read_manifest(folder / "data")->seed, 2);
    EXPECT_THAT(names_in(folder.path()), testing::ElementsAre(".data.lock", "data"));
}

TEST(Prepare, ADamagedFolderIsNotUpToDate)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(prepare(golden_text(folder / "data")));
    ASSERT_TRUE(write_file(folder / "data" / "train-00000.h5", "x"));
    fs::remove(folder / "data" / "train-00001.h5");
    EXPECT_THAT(prepare(golden_text(folder / "data")).error().message(),
                HasSubstr("it is damaged; add --replace"));
    auto again = golden_text(folder / "data");
    again.replace = true;
    EXPECT_TRUE(prepare(again));
    EXPECT_TRUE(verify(folder / "data")->good());
}

TEST(Prepare, FailureAndInterruptionLeaveNothingIncomplete)
{
    test::TemporaryFolder const folder;
    auto options = golden_text(folder / "data");
    options.vocabulary_size = 60'000;
    EXPECT_THAT(prepare(options).error().message(),
                HasSubstr("use more text or a smaller vocabulary"));
    EXPECT_THAT(names_in(folder.path()), testing::ElementsAre(".data.lock"));
    ASSERT_TRUE(make_folder(folder / ".data.part"));
    ASSERT_TRUE(write_file(folder / ".data.part" / "train-00099.h5", "left by a killed process"));
    ASSERT_TRUE(prepare(golden_text(folder / "data")));
    EXPECT_THAT(names_in(folder.path()), testing::ElementsAre(".data.lock", "data"));
    EXPECT_FALSE(fs::exists(folder / "data" / "train-00099.h5"));
}

TEST(Prepare, AFolderWithoutManifestIsNeverReplaced)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(make_folder(folder / "data"));
    ASSERT_TRUE(write_file(folder / "data" / "thesis.tex", "years of work"));
    auto options = golden_text(folder / "data");
    options.replace = true;
    EXPECT_EQ(prepare(options).error().code, ExitCode::cannot_create);
    EXPECT_TRUE(fs::exists(folder / "data" / "thesis.tex"));
}

TEST(Prepare, AFolderWithOtherFilesIsNeverReplaced)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(make_folder(folder / "web"));
    ASSERT_TRUE(
        write_file(folder / "web" / "manifest.json", R"({"name": "a web page", "icons": []})"));
    ASSERT_TRUE(write_file(folder / "web" / "precious.txt", "years of work"));
    auto options = golden_text(folder / "web");
    EXPECT_THAT(prepare(options).error().message(), testing::Not(HasSubstr("--replace")))
        << "it must not suggest what it would refuse";
    options.replace = true;
    EXPECT_THAT(prepare(options).error().message(),
                HasSubstr("manifest.json is not one of prepared text"));
    EXPECT_TRUE(fs::exists(folder / "web" / "precious.txt"));

    ASSERT_TRUE(prepare(golden_text(folder / "data")));
    auto other = golden_text(folder / "data");
    other.seed = 2;
    other.replace = true;
    ASSERT_TRUE(write_file(folder / "data" / "notes.txt", "about this text"));
    EXPECT_THAT(prepare(other).error().message(), HasSubstr("it also holds \"notes.txt\""));
    EXPECT_TRUE(fs::exists(folder / "data" / "notes.txt"));
    fs::remove(folder / "data" / "notes.txt");
    fs::create_directory_symlink(folder / "web", folder / "data" / "train-99999.h5");
    EXPECT_THAT(prepare(other).error().message(), HasSubstr("it also holds \"train-99999.h5\""));
    fs::remove(folder / "data" / "train-99999.h5");
    EXPECT_TRUE(prepare(other));
}

TEST(Prepare, LeftoversAreRemovedOnlyIfNothingElseIsWithThem)
{
    test::TemporaryFolder const folder;
    for (auto const* name : {".data.part", ".data.old"}) {
        ASSERT_TRUE(make_folder(folder / name));
        ASSERT_TRUE(
            write_file(folder / name / ".train-00003.h5.99.0.tmp", "left by a killed process"));
        ASSERT_TRUE(write_file(folder / name / "thesis.tex", "years of work"));
        auto const refused = prepare(golden_text(folder / "data"));
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().code, ExitCode::cannot_create);
        EXPECT_THAT(refused.error().message(),
                    HasSubstr("it also holds \"thesis.tex\"; move it away"));
        EXPECT_TRUE(fs::exists(folder / name / "thesis.tex"));
        fs::remove(folder / name / "thesis.tex");
    }
    ASSERT_TRUE(prepare(golden_text(folder / "data")));
    EXPECT_THAT(names_in(folder.path()), testing::ElementsAre(".data.lock", "data"));
}

TEST(Prepare, AFileIsNotReplacedByAFolder)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "data", ""));
    auto options = golden_text(folder / "data");
    options.replace = true;
    EXPECT_EQ(prepare(options).error().code, ExitCode::cannot_create);
    EXPECT_TRUE(fs::is_regular_file(folder / "data"));
}

TEST(PutInPlace, AfterAFailureTheOldFolderIsBack)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(make_folder(folder / "data"));
    ASSERT_TRUE(write_file(folder / "data" / "x", "old"));
    EXPECT_EQ(put_in_place(folder / "none", folder / "data", folder / ".data.old").error().code,
              ExitCode::cannot_create);
    EXPECT_EQ(read_file(folder / "data" / "x").value_or("gone"), "old");
    EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("data"));
}

TEST(Prepare, ASecondProcessFailsWhileTheFirstHoldsTheLock)
{
    test::TemporaryFolder const folder;
    auto const lock = FileLock::take(folder / ".data.lock");
    EXPECT_EQ(prepare(golden_text(folder / "data")).error().code, ExitCode::temporary);
}

TEST(Verify, FindsEveryBadFileByName)
{
    test::TemporaryFolder const folder;
    ASSERT_TRUE(prepare(golden_text(folder / "data")));
    ASSERT_TRUE(write_file(folder / "data" / "train-00000.h5", "x"));
    fs::remove(folder / "data" / "heldout-00000.h5");
    auto const tokenizer = *read_file(folder / "data" / tokenizer_file);
    ASSERT_TRUE(write_file(folder / "data" / tokenizer_file, tokenizer + "\n"))
        << "an equal tokenizer in different bytes";
    auto const found = verify(folder / "data");
    ASSERT_TRUE(found) << found.error().message();
    using testing::Field;
    EXPECT_THAT(found->bad, testing::ElementsAre(Field(&BadFile::file, "tokenizer.tiktoken"),
                                                 Field(&BadFile::file, "train-00000.h5"),
                                                 Field(&BadFile::file, "heldout-00000.h5")));
    ASSERT_EQ(found->bad.size(), 3U);
    EXPECT_THAT(found->bad[0].why, HasSubstr("digest differs"));
    EXPECT_THAT(found->bad[1].why, HasSubstr("digest differs"));
    EXPECT_EQ(found->bad[2].why, "No such file or directory");
}

TEST(Prepare, TheHeldOutPartMayBeEmpty)
{
    test::TemporaryFolder const folder;
    auto options = golden_text(folder / "data");
    options.held_out_share = 0;
    auto const prepared = prepare(options);
    ASSERT_TRUE(prepared) << prepared.error().message();
    EXPECT_EQ(prepared->manifest.train.documents, 4);
    EXPECT_TRUE(prepared->manifest.held_out.shards.empty());
    auto const summary = summarize(folder / "data");
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->manifest.held_out.tokens, 0);
    EXPECT_THAT(summary->sample, testing::StartsWith("<|bos|>"));
    EXPECT_NEAR(summary->train.bytes_per_token,
                16'839.0 / static_cast<double>(summary->manifest.train.tokens), 1e-12);
}

TEST(Prepare, AGivenTokenizerIsUsedUnchanged)
{
    test::TemporaryFolder const folder;
    auto options = golden_text(folder / "data");
    options.tokenizer = test::source_path("tests/golden/tokenizer.tiktoken");
    auto const prepared = prepare(options);
    ASSERT_TRUE(prepared) << prepared.error().message();
    EXPECT_EQ(*read_file(folder / "data" / tokenizer_file), *read_file(*options.tokenizer));
}

}  // namespace
}  // namespace curtail::data
