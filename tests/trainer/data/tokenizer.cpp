// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "trainer/data/encoder.hpp"
#include "trainer/data/tokenizer_training.hpp"

namespace curtail::data {
namespace {

using testing::HasSubstr;

std::string repeat(std::string_view text, std::size_t times)
{
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

std::vector<std::string> pieces_of(std::string_view text)
{
    std::vector<std::string> pieces;
    Splitter{}.each(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
    return pieces;
}

Tokenizer small_tokenizer()
{
    std::vector<std::string> const text{
        repeat("the cat sat on the mat, the rat sat on the hat. aaaa aaaaaa größer 12345\n", 3)};
    return train_tokenizer(text, min_vocabulary_size + 30).value();
}

// Merging by definition, without any table or heap.
std::vector<std::string> merged_slowly(std::string_view piece, Tokenizer const& tokenizer)
{
    std::vector<std::string> parts;
    for (char const c : piece) parts.emplace_back(1, c);
    auto const rank = [&](std::string const& bytes) {
        for (int i = 0; i < tokenizer.vocabulary_size() - static_cast<int>(special_tokens.size());
             ++i) {
            auto const id = static_cast<Token>(i);
            if (*tokenizer.decode(std::span(&id, 1)) == bytes) return i;
        }
        return 1 << 20;
    };
    for (;;) {
        int best = 1 << 20;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i)
            if (int const r = rank(parts[i] + parts[i + 1]); r < best) best = r, at = i;
        if (best == 1 << 20) return parts;
        parts[at] += parts[at + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

TEST(Splitter, CutsWordsNumbersSignsAndSpaces)
{
    using Pieces = std::vector<std::string>;
    EXPECT_EQ(pieces_of("Hello, it's 2026!\n\n  x"),
              (Pieces{"Hello", ",", " it", "'s", " ", "20", "26", "!\n\n", " ", " x"}));
    EXPECT_EQ(pieces_of("a  \n b \t"), (Pieces{"a", "  \n", " b", " \t"}));
    EXPECT_EQ(pieces_of("größer Ωμέγα"), (Pieces{"größer", " Ωμέγα"}));
}

TEST(Splitter, WhiteSpaceIsUnicodes)
{
    EXPECT_EQ(pieces_of("\u3000\u00a0\u2003").size(), 1U) << "three kinds of space are one run";
    EXPECT_EQ(pieces_of("!\u180e!").size(), 1U)
        << "U+180E is not white space, so it forms one piece with the signs around it";
    EXPECT_EQ(pieces_of("IT\u0027\u017f x").at(1), "'\u017f")
        << "a case-insensitive pattern takes the long s for an s";
}

TEST(Splitter, LongRunsOfOneUnitWork)
{
    for (auto const* unit : {" ", "\n", "x", "é", "1", "-", " \n", "a ", "\u3000"}) {
        auto const text = repeat(unit, 300'000);
        std::size_t bytes = 0;
        Splitter{}.each(text, [&](std::string_view piece) { bytes += piece.size(); });
        EXPECT_EQ(bytes, text.size()) << unit;
    }
}

TEST(Tokenizer, RoundTripsAndMergesByDefinition)
{
    auto const tokenizer = small_tokenizer();
    Encoder encoder(tokenizer);
    for (unsigned seed = 1; seed <= 100; ++seed) {
        std::mt19937 random(seed);
        std::string text;
        for (auto n = random() % 200; n > 0; --n)
            text += std::array{
                "a", "t", "h", "e", " ", "the", "größer", "é", "12", "\n"}[random() % 10];
        auto const tokens = encoder.encode(text);
        ASSERT_TRUE(tokens);
        EXPECT_EQ(*tokenizer.decode(*tokens), text) << "seed " << seed;
        std::vector<std::string> slow;
        for (auto const& piece : pieces_of(text))
            for (auto& part : merged_slowly(piece, tokenizer)) slow.push_back(std::move(part));
        std::vector<std::string> fast;
        for (auto const& token : *tokens) fast.push_back(*tokenizer.decode(std::span(&token, 1)));
        EXPECT_EQ(fast, slow) << "seed " << seed;
    }
}

TEST(Tokenizer, LongPiecesMergeByDefinition)
{
    auto const tokenizer = small_tokenizer();
    Encoder encoder(tokenizer);
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        std::string piece;
        for (int n = 65 + static_cast<int>(random() % 200); n > 0; --n)
            piece += "athes"[random() % (seed % 5 + 1)];
        auto const tokens = *encoder.encode(piece);
        std::vector<std::string> fast;
        fast.reserve(tokens.size());
        for (auto const& token : tokens) fast.push_back(*tokenizer.decode(std::span(&token, 1)));
        EXPECT_EQ(fast, merged_slowly(piece, tokenizer)) << "seed " << seed;
    }
}

TEST(Tokenizer, AMegabyteWithoutASpaceIsFast)
{
    auto const tokenizer = small_tokenizer();
    auto const text = repeat("athe", 250'000);
    EXPECT_EQ(*tokenizer.decode(*Encoder(tokenizer).encode(text)), text);
}

TEST(Tokenizer, TiesGoToTheSmallestPair)
{
    std::vector<std::string> const text{"zy ba", "zy ba"};
    auto const tokenizer = train_tokenizer(text, min_vocabulary_size + 2).value();
    Token const first = 256;
    Token const second = 257;
    EXPECT_EQ(*tokenizer.decode(std::span(&first, 1)), " b")
        << "(32, 98), (98, 97), (122, 121): all twice";
    EXPECT_EQ(*tokenizer.decode(std::span(&second, 1)), "zy") << "(122, 121) before (256, 97)";
}

TEST(Tokenizer, SpecialTokensComeLastAndTextNeverGivesThem)
{
    auto const tokenizer = small_tokenizer();
    EXPECT_EQ(tokenizer.vocabulary_size(), min_vocabulary_size + 30);
    EXPECT_EQ(tokenizer.bos(), tokenizer.vocabulary_size() - 9);
    EXPECT_EQ(*tokenizer.decode(std::array{tokenizer.bos()}), "<|bos|>");
    auto const tokens = *Encoder(tokenizer).encode("<|bos|>");
    EXPECT_THAT(tokens, testing::Each(testing::Lt(tokenizer.bos())));
    EXPECT_THAT(tokenizer.decode(std::array{static_cast<Token>(tokenizer.vocabulary_size())})
                    .error()
                    .message(),
                HasSubstr("the vocabulary does not have it"));
}

TEST(Tokenizer, RankFilesRoundTrip)
{
    auto const tokenizer = small_tokenizer();
    auto const read = Tokenizer::parse(tokenizer.to_tiktoken(), "again");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->to_tiktoken(), tokenizer.to_tiktoken());
    EXPECT_EQ(read->digest(), tokenizer.digest());
    EXPECT_EQ(read->vocabulary_size(), tokenizer.vocabulary_size());
}

TEST(Tokenizer, RankFilesOfOtherMachinesAreTheSame)
{
    auto const tokenizer = small_tokenizer();
    std::string text = "\xEF\xBB\xBF";
    for (char const c : tokenizer.to_tiktoken()) text += c == '\n' ? "\r\n" : std::string(1, c);
    auto const read = Tokenizer::parse(text, "again");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->digest(), tokenizer.digest());
}

TEST(Tokenizer, WhiteSpaceAroundRanksHasNoMeaning)
{
    auto const tokenizer = small_tokenizer();
    std::string text;
    for (char const c : tokenizer.to_tiktoken()) {
        if (c == '\n') text += " \t\n";
        else text += c == ' ' ? '\t' : c;
    }
    auto const read = Tokenizer::parse(text + "  \t", "again");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->digest(), tokenizer.digest());
    std::ranges::replace(text, '\n', '\r');
    EXPECT_THAT(Tokenizer::parse(text, "x").error().message(),
                HasSubstr("its lines end with carriage returns only"));
}

TEST(Tokenizer, TwoChainsOfMergesToTheSameBytesLeaveOneToken)
{
    // Runs of one letter let two chains of merges reach the same bytes.
    for (std::size_t length = 3; length < 40; ++length) {
        std::vector<std::string> const text{repeat(repeat("a", length) + " ", 5) +
                                            repeat("a", 2 * length + 1)};
        auto const tokenizer = train_tokenizer(text, min_vocabulary_size + 4);
        if (!tokenizer) continue;
        auto const again = Tokenizer::parse(tokenizer->to_tiktoken(), "again");
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(*again->decode(*Encoder(*again).encode(text[0])), text[0]);
    }
}

TEST(Tokenizer, MergesOfTooManyBytesAreSkipped)
{
    // A run of one letter doubles its token with each merge: the thirteenth would have 8192 bytes.
    std::vector<std::string> const text(3, repeat("a", 16'384) + " bcdefgh");
    auto const tokenizer = train_tokenizer(text, min_vocabulary_size + 16);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    EXPECT_EQ(*tokenizer->decode(*Encoder(*tokenizer).encode(text[0])), text[0]);
    std::size_t longest = 0;
    for (Token id = 0; id < tokenizer->bos(); ++id)
        longest = std::max(longest, tokenizer->decode(std::span(&id, 1))->size());
    EXPECT_EQ(longest, max_token_bytes);
}

TEST(Tokenizer, AnErrorNamesTheBadLineOfARankFile)
{
    auto const good = small_tokenizer().to_tiktoken();
    auto const why = [](std::string const& text) {
        return Tokenizer::parse(text, "x.tiktoken").error().message();
    };
    EXPECT_THAT(why(good + "not a line\n"), HasSubstr("line 287 is not a token"));
    EXPECT_THAT(why(good + "YWJj\n"), HasSubstr("line 287 is not a token"));
    EXPECT_THAT(why(good + "YW?= 316\n"), HasSubstr("line 287 is not a token"));
    EXPECT_THAT(why(good + "YWJj 65536\n"), HasSubstr("outside 0 to 65535"));
    EXPECT_THAT(why(good + "YWJj 65535\n"), HasSubstr("the limit is 65527"));
    EXPECT_THAT(why(good + "YWJj 5\n"), HasSubstr("repeats rank 5"));
    EXPECT_THAT(why(good + "YQ== 286\n"), HasSubstr("repeats the bytes"));
    EXPECT_THAT(why(good.substr(good.find('\n') + 1)), HasSubstr("no token for byte 0"));
    EXPECT_THAT(why(""), HasSubstr("no token for byte 0"));
}

TEST(Tokenizer, DamagedRankFilesWorkOrAreRefused)
{
    auto const good = small_tokenizer().to_tiktoken();
    for (unsigned seed = 1; seed <= 500; ++seed) {
        std::mt19937 random(seed);
        auto damaged = good;
        for (auto n = 1 + random() % 4; n > 0; --n)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        auto const parsed = Tokenizer::parse(damaged, "damaged");
        if (!parsed) continue;
        SCOPED_TRACE("seed " + std::to_string(seed));
        EXPECT_EQ(*parsed->decode(*Encoder(*parsed).encode("the hat größer")), "the hat größer");
    }
}

TEST(Tokenizer, InvalidOrTooShortTextIsRefused)
{
    auto const tokenizer = small_tokenizer();
    EXPECT_THAT(Encoder(tokenizer).encode("ab\xff").error().message(),
                HasSubstr("not UTF-8 at byte 2"));
    std::vector<std::string> const little{"abc"};
    EXPECT_THAT(train_tokenizer(little, 300).error().message(), HasSubstr("yields only 267"));
    EXPECT_EQ(train_tokenizer(little, 264).error().code, ExitCode::usage);
    EXPECT_EQ(train_tokenizer(little, 65'537).error().code, ExitCode::usage);
}

}  // namespace
}  // namespace curtail::data
