// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/shards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "trainer/data/folder.hpp"
#include "trainer/data/stream.hpp"

namespace curtail::data {
namespace {

using testing::HasSubstr;

ShardLabel const label{Split::train, {}, 1'000};

TEST(Shards, HaveAFixedSizeAcrossDocuments)
{
    test::TemporaryFolder const folder;
    auto const manifest = make_counting_folder(folder.path(), 100, 30);
    ASSERT_EQ(manifest.train.shards.size(), 4U);
    EXPECT_EQ(manifest.train.tokens, 100);
    EXPECT_EQ(manifest.train.documents, 15);
    EXPECT_EQ(manifest.train.text_bytes, 300);
    auto const second = read_shard(folder.path(), manifest.train.shards[1], label);
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->tokens.front(), 30);
    EXPECT_THAT(second->documents, testing::ElementsAre(5, 12, 19, 26))
        << "documents begin at 35, 42, 49, 56";
    EXPECT_EQ(read_shard(folder.path(), manifest.train.shards[3], label)->tokens.size(), 10U);
}

TEST(Shards, TheManifestRoundTrips)
{
    test::TemporaryFolder const folder;
    auto const manifest = make_counting_folder(folder.path(), 100, 30);
    auto const read = read_manifest(folder.path());
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, manifest);
}

TEST(Shards, AFlippedByteChangesTheDigest)
{
    test::TemporaryFolder const folder;
    auto const manifest = make_counting_folder(folder.path(), 100, 30);
    auto const path = folder / manifest.train.shards[2].file;
    auto const whole = *read_file(path);
    std::mt19937 random(7);
    for (int i = 0; i < 50; ++i) {
        auto flipped = whole;
        flipped[random() % flipped.size()] ^= 1;
        ASSERT_TRUE(write_file(path, flipped));
        auto const failed = read_shard(folder.path(), manifest.train.shards[2], label);
        ASSERT_FALSE(failed) << "seed 7, case " << i;
        EXPECT_EQ(failed.error().code, ExitCode::data);
        EXPECT_THAT(failed.error().message(),
                    HasSubstr("digest differs (expected " +
                              manifest.train.shards[2].sha256.hex().substr(0, 12)));
        EXPECT_THAT(failed.error().message(),
                    HasSubstr("run `curtail-data verify " + folder.path().string() + "`"));
    }
    ASSERT_TRUE(write_file(path, whole.substr(0, whole.size() / 2)));
    EXPECT_FALSE(read_shard(folder.path(), manifest.train.shards[2], label));
    std::filesystem::remove(path);
    auto const missing = read_shard(folder.path(), manifest.train.shards[2], label).error();
    EXPECT_EQ(missing.code, ExitCode::no_input);
    EXPECT_NE(missing.message().find("run `curtail-data verify "), std::string::npos);
}

TEST(Shards, AFileThatContradictsItsManifestIsRefused)
{
    test::TemporaryFolder const folder;
    Shard const shard{{1, 2, 3}, {0, 2}};
    auto entry = write_shard(folder.path(), "train-00000.h5", shard, label).value();
    EXPECT_TRUE(read_shard(folder.path(), entry, label));
    auto const why = [&](ShardEntry const& e, ShardLabel const& l) {
        return read_shard(folder.path(), e, l).error().message();
    };
    EXPECT_THAT(why(entry, {Split::held_out, {}, 1'000}), HasSubstr("does not belong to heldout"));
    EXPECT_THAT(why(entry, {Split::train, sha256("x"), 1'000}), HasSubstr("different tokenizer"));
    EXPECT_THAT(why(entry, {Split::train, {}, 3}), HasSubstr("outside the vocabulary"));
    auto wrong = entry;
    wrong.tokens = 4;
    EXPECT_THAT(why(wrong, label), HasSubstr("it has 3 tokens"));
    auto const overlapping =
        write_shard(folder.path(), "train-00001.h5", {{1, 2, 3}, {2, 2}}, label).value();
    EXPECT_THAT(why(overlapping, label), HasSubstr("documents overlap"));
}

TEST(Shards, AnErrorNamesTheBadKeyOfAManifest)
{
    test::TemporaryFolder const folder;
    auto const manifest = make_counting_folder(folder.path(), 100, 30);
    auto const why = [](json::Object object) {
        return parse_manifest(json::Value(std::move(object)), "m").error().message();
    };
    EXPECT_THAT(why(manifest.to_json().set("format", "other")), HasSubstr("format"));
    EXPECT_THAT(why(manifest.to_json().set("sead", 1)), HasSubstr("seed"));
    auto wrong = manifest;
    wrong.train.tokens = 99;
    EXPECT_THAT(why(wrong.to_json()), HasSubstr("sum of the shards"));
    wrong = manifest;
    wrong.train.shards[1].file = "../x.h5";
    EXPECT_THAT(why(wrong.to_json()), HasSubstr("next name in order"));
    EXPECT_EQ(read_manifest(folder.path() / "none").error().code, ExitCode::no_input);
}

TEST(Stream, ReadsAcrossShardBorders)
{
    test::TemporaryFolder const folder;
    make_counting_folder(folder.path(), 2'345, 100);
    auto stream = TokenStream::open(folder.path(), Split::train).value();
    EXPECT_EQ(stream.tokens(), 2'345);
    for (unsigned seed = 1; seed <= 300; ++seed) {
        std::mt19937 random(seed);
        std::vector<Token> out(random() % 500);
        auto const offset = static_cast<std::int64_t>(random() % (2'345 - out.size() + 1));
        ASSERT_TRUE(stream.read(offset, out));
        for (std::size_t i = 0; i < out.size(); ++i)
            ASSERT_EQ(out[i], (static_cast<std::size_t>(offset) + i) % 1'000)
                << "seed " << seed << ", token " << i;
    }
    std::vector<Token> beyond(2);
    EXPECT_THROW((void)stream.read(2'344, beyond), std::out_of_range);
}

TEST(Stream, ReadsOnlyTheShardsItNeeds)
{
    test::TemporaryFolder const folder;
    auto const manifest = make_counting_folder(folder.path(), 300, 100);
    std::filesystem::remove(folder / manifest.train.shards[1].file);
    auto stream = TokenStream::open(folder.path(), Split::train).value();
    std::vector<Token> out(100);
    EXPECT_TRUE(stream.read(0, out));
    EXPECT_TRUE(stream.read(200, out));
    EXPECT_EQ(stream.read(1, out).error().code, ExitCode::no_input);
}

TEST(Stream, EntropyOfEquallyFrequentTokensIsTheLogOfTheirCount)
{
    test::TemporaryFolder const folder;
    make_counting_folder(folder.path(), 5'000, 1'700);
    auto stream = TokenStream::open(folder.path(), Split::train).value();
    EXPECT_NEAR(*unigram_entropy(stream), std::log(1'000.0), 1e-12);
}

}  // namespace
}  // namespace curtail::data
