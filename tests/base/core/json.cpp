// SPDX-License-Identifier: Apache-2.0
#include "base/core/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::json {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text, Limits limits = document_limits,
                     Dialect dialect = Dialect::strict)
{
    auto const parsed = parse(text, "x.json", dialect, limits);
    return parsed ? "" : parsed.error().message();
}

TEST(Json, CanonicalFormSortsKeysBytewiseWithoutSpaces)
{
    Object const o{
        {"b", 1}, {"a", Array{true, nullptr, "x\n"}}, {"B", Object{{"z", 0}, {"y", -5}}}};
    EXPECT_EQ(canonical(o), R"({"B":{"y":-5,"z":0},"a":[true,null,"x\n"],"b":1})");
    EXPECT_EQ(*parse(canonical(o), "c"), *parse(to_pretty(o), "p").map([](Value const& v) {
        return *parse(canonical(v), "c");
    }));
}

TEST(Json, CanonicalFormRejectsReals)
{
    EXPECT_THROW((void)canonical(Object{{"x", 0.5}}), std::logic_error);
}

TEST(Json, FindsRealNumbersAtAnyDepth)
{
    for (auto const* text : {"0.5", "[1, 0.5]", R"({"a": 1, "b": [{"c": 1e0}]})"})
        EXPECT_TRUE(has_real(*parse(text, "x"))) << text;
    for (auto const* text : {"1", R"("0.5")", "[]", R"({"a": [1, null, true, {"0.5": "x"}]})"})
        EXPECT_FALSE(has_real(*parse(text, "x"))) << text;
}

TEST(Json, RejectsInvalidDocuments)
{
    EXPECT_THAT(error_of("{\"a\":1,\"a\":2}"), HasSubstr("duplicate key 'a'"));
    EXPECT_THAT(error_of("{\n \"a\": }"), HasSubstr("line 2"));
    EXPECT_THAT(error_of("{\"a\": NaN}"), HasSubstr("line 1"));
    EXPECT_THAT(error_of("\"\xC0\xAF\""), HasSubstr("invalid UTF-8"));
    EXPECT_THAT(error_of("{} {}"), HasSubstr("line 1"));
    EXPECT_THAT(error_of("// c\n{}"), HasSubstr("line 1"));
    EXPECT_EQ(error_of("// c\n{\"a\":[1,],}", document_limits, Dialect::comments), "");
}

TEST(Json, AByteOrderMarkIsIgnoredInFilesThatPeopleWrite)
{
    auto const value = parse("\xEF\xBB\xBF{\"a\": 1}", "run.json", Dialect::comments);
    ASSERT_TRUE(value) << value.error().message();
    EXPECT_EQ(*value->as_object()->find("a"), Value(1));
    auto const wrong = parse("\xEF\xBB\xBF{\"a\" 1}", "run.json", Dialect::comments);
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message(), HasSubstr("line 1, column 6"));
}

TEST(Json, AByteOrderMarkInARecordIsNamed)
{
    auto const record = parse("\xEF\xBB\xBF{\"a\":1}", "state.json");
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().message(),
              "cannot read state.json: it begins with a byte order mark (EF BB BF); save it as "
              "UTF-8 without the mark");
}

TEST(Json, NamesTheEncodingAndLineEndsOfOtherMachines)
{
    std::string wide;
    for (char const c : std::string("{\"a\": 1}")) wide += {c, '\0'};
    for (auto const& text : {"\xFF\xFE" + wide, wide}) {
        auto const value = parse(text, "run.json", Dialect::comments);
        ASSERT_FALSE(value);
        EXPECT_EQ(value.error().message(),
                  "cannot read run.json: it is UTF-16LE, not UTF-8; convert it with iconv -f "
                  "UTF-16LE -t UTF-8");
    }
    auto const commented = parse("{\r// comment\r\"a\": 1\r}\r", "run.json", Dialect::comments);
    ASSERT_FALSE(commented);
    EXPECT_THAT(commented.error().message(),
                HasSubstr("its lines end with carriage returns only; convert its line ends"));
    EXPECT_TRUE(parse("{\r\"a\": 1\r}\r", "run.json", Dialect::comments));
}

TEST(Json, RejectsNulBytes)
{
    using namespace std::string_view_literals;
    EXPECT_THAT(error_of("{\"a\":1}\n\0{\"a\":2}"sv), HasSubstr("line 2, column 1: NUL byte"));
    EXPECT_THAT(error_of("\"a\0b\""sv), HasSubstr("column 3: NUL byte"));
    EXPECT_EQ(*parse(R"("a\u0000b")", "x")->as_text(), "a\0b"sv) << "an escaped NUL is valid";
}

TEST(Json, RejectsUnpairedSurrogates)
{
    for (auto const* text :
         {R"("\udc00")", R"("x\udfffy")", R"({"\udc00": 1})", R"("\ud800")", R"(["\ud800\u0041"])"})
        EXPECT_THAT(error_of(text), HasSubstr("line 1")) << text;
    EXPECT_EQ(*parse(R"("\ud83d\ude00")", "x")->as_text(), "\xF0\x9F\x98\x80");
}

TEST(Json, ParsesAnObjectWithManyKeysInLinearTime)
{
    constexpr int keys = 200'000;
    std::string text = "{";
    for (int i = 0; i < keys; ++i) text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
    auto const before = std::clock();
    auto const parsed = parse(text + "}", "x");
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->as_object()->members().size(), std::size_t{keys});
    EXPECT_THAT(error_of(text + ",\"k7\":2}"), HasSubstr("duplicate key 'k7'"));
    EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 10) << "CPU seconds";
}

TEST(Json, EnforcesLimitsExactly)
{
    EXPECT_EQ(error_of("[1]", {3, 32}), "");
    EXPECT_THAT(error_of("[1] ", {3, 32}), HasSubstr("limit is 3"));
    EXPECT_EQ(error_of("[[1]]", {100, 2}), "");
    EXPECT_THAT(error_of("[[[1]]]", {100, 2}), HasSubstr("deeper than 2"));
    EXPECT_THAT(error_of(std::string(1 << 20, '[')), HasSubstr("deeper than 32"));
}

TEST(Json, WhatIsWrittenCanBeReadWhateverBytesItHas)
{
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    all += "\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xD8\x9C\xED\xA0\x80";
    Value const value(Object{{all, Array{all}}, {"k", "v"}});
    auto const read = parse(to_string(value), "text");
    ASSERT_TRUE(read) << read.error().message();
    auto const& [key, list] = read->as_object()->members().front();
    EXPECT_EQ(key, valid_utf8(all));
    EXPECT_EQ(*list.as_array()->front().as_text(), valid_utf8(all));
    EXPECT_EQ(parse(canonical(value), "text").value(), *read);
    EXPECT_EQ(parse(to_pretty(value), "text").value(), *read);
    EXPECT_TRUE(parse("[" + to_script(value) + "]", "text"));
    auto const shown = to_pretty(value);
    EXPECT_EQ(printable_lines(shown), shown) << "nothing in it commands a terminal";
}

TEST(Json, ScriptFormCannotCloseItsElement)
{
    EXPECT_EQ(to_script(Value("</script>&\xE2\x80\xA8")), R"("\u003c/script\u003e\u0026\u2028")");
}

TEST(ObjectReader, UnknownKeyErrorNamesTheNearestKey)
{
    auto const value = *parse(R"({"round_tine_s": 3})", "run.json");
    ObjectReader r(value, "run.json", ExitCode::config);
    EXPECT_EQ(r.number("round_time_s", 600.0), 600);
    (void)r.integer("seed");
    auto const error = r.finish();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(),
              "run.json: round_tine_s: unknown key; did you mean \"round_time_s\"?");
    EXPECT_EQ(error->code, ExitCode::config);
}

// Others may have written the file, and a person may paste the message into a shell.
TEST(ObjectReader, ErrorsQuoteTextsOfOthers)
{
    auto const value = *parse(R"json({"phase": "$(id)", "`id`": 3})json", "state.json");
    ObjectReader r(value, "state.json");
    (void)r.one_of("phase", {"open", "closed"});
    EXPECT_THAT(r.finish()->message(), HasSubstr("state.json: '`id`': unknown key"));
    ObjectReader again(value, "state.json");
    (void)again.one_of("phase", {"open", "closed"});
    (void)again.any("`id`");
    EXPECT_THAT(again.finish()->message(), HasSubstr("unknown value '$(id)'"));
    EXPECT_THAT(parse(R"json({"$(id)":1,"$(id)":2})json", "x").error().message(),
                HasSubstr("duplicate key '$(id)'"));
}

TEST(ObjectReader, ErrorsNameThePathOfTheKey)
{
    auto const value = *parse(R"({"sites":[{"name":"a"},{"name":7}]})", "run.json");
    ObjectReader r(value, "run.json");
    r.each("sites", [](ObjectReader& site) { (void)site.text("name"); });
    EXPECT_EQ(r.finish()->message(), "run.json: sites[1].name: must be text, found integer");
}

TEST(ObjectReader, MissingKeyIsAnErrorUnlessItHasADefault)
{
    auto const value = *parse("{}", "run.json");
    ObjectReader r(value, "run.json");
    EXPECT_EQ(r.text("kind", "plain"), "plain");
    EXPECT_TRUE(r.error_free());
    (void)r.integer("seed");
    EXPECT_THAT(r.finish()->message(), HasSubstr("seed: is missing"));
}

TEST(ReadRecord, ReturnsTheRecordOrNothingIfTheFileIsMissing)
{
    test::TemporaryFolder const folder;
    auto const read = [&](char const* name) {
        return read_record(folder / name, [](ObjectReader& r) { return r.integer("n"); });
    };
    EXPECT_EQ(read("none.json").value(), std::nullopt);
    ASSERT_TRUE(write_file(folder / "good.json", R"({"n": 7})"));
    EXPECT_EQ(read("good.json").value(), 7);
    for (auto const* content :
         {R"({"n": "7"})", R"({"n": 7, "m": 8})", "{} // comment", "[", "7"}) {
        ASSERT_TRUE(write_file(folder / "bad.json", content));
        auto const record = read("bad.json");
        ASSERT_FALSE(record) << content;
        EXPECT_EQ(record.error().code, ExitCode::data);
        EXPECT_THAT(record.error().message(), HasSubstr("bad.json"));
    }
}

}  // namespace
}  // namespace curtail::json
