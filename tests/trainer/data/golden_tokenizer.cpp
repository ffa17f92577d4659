// SPDX-License-Identifier: Apache-2.0
// The tokenizer against vectors of the reference's tokenizer (rustbpe and tiktoken).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "support/golden_folder.hpp"
#include "trainer/data/encoder.hpp"
#include "trainer/data/tokenizer_training.hpp"

namespace curtail::data {
namespace {

std::filesystem::path golden(std::string const& name) { return test::golden_folder() / name; }

json::Value golden_json(std::string const& name)
{
    return json::parse_file(golden(name), json::Dialect::strict).value();
}

TEST(GoldenTokenizer, EncodesEveryStringLikeTheReference)
{
    auto const tokenizer = Tokenizer::read(golden("tokenizer.tiktoken"));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    Encoder encoder(*tokenizer);
    auto const cases = golden_json("tokenizer_cases.json");
    ASSERT_FALSE(cases.as_array()->empty());
    for (auto const& one : *cases.as_array()) {
        auto const& text = *one.as_object()->find("text")->as_text();
        std::vector<Token> expected;
        for (auto const& id : *one.as_object()->find("ids")->as_array())
            expected.push_back(static_cast<Token>(*id.as_integer()));
        EXPECT_EQ(*encoder.encode(text), expected) << json::to_string(text);
        EXPECT_EQ(*encoder.encode(text), expected) << "from the cache: " << json::to_string(text);
        EXPECT_EQ(*tokenizer->decode(expected), text);
    }
}

TEST(GoldenTokenizer, LearnsTheReferencesRanks)
{
    auto const listing = golden_json("tokenizer.json");
    std::vector<std::string> documents;
    for (auto const& name : *listing.as_object()->find("trained_on")->as_array())
        documents.push_back(read_file(golden("corpus") / *name.as_text()).value());
    auto const trained =
        train_tokenizer(documents, *listing.as_object()->find("vocab_size")->as_integer());
    ASSERT_TRUE(trained) << trained.error().message();
    EXPECT_EQ(trained->to_tiktoken(), read_file(golden("tokenizer.tiktoken")).value());
}

TEST(GoldenTokenizer, PatternAndSpecialTokensMatchTheReference)
{
    auto const listing = golden_json("tokenizer.json");
    auto const tokenizer = Tokenizer::read(golden("tokenizer.tiktoken")).value();
    EXPECT_EQ(*listing.as_object()->find("pattern")->as_text(), split_pattern);
    EXPECT_EQ(tokenizer.vocabulary_size(), *listing.as_object()->find("vocab_size")->as_integer());
    auto const& specials = listing.as_object()->find("specials")->as_object()->members();
    ASSERT_EQ(specials.size(), special_tokens.size());
    for (std::size_t i = 0; i < specials.size(); ++i) {
        auto const place =
            std::find(special_tokens.begin(), special_tokens.end(), specials[i].first);
        ASSERT_NE(place, special_tokens.end()) << specials[i].first;
        EXPECT_EQ(tokenizer.special(static_cast<std::size_t>(place - special_tokens.begin())),
                  *specials[i].second.as_integer());
    }
}

}  // namespace
}  // namespace curtail::data
