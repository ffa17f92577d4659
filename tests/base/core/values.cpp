// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/core/base64.hpp"
#include "base/core/clock.hpp"
#include "base/core/digest.hpp"
#include "base/core/ids.hpp"
#include "base/core/log.hpp"
#include "base/core/text.hpp"
#include "base/core/units.hpp"

namespace curtail {
namespace {

TEST(Units, EnergyTimesIntensityIsCarbon)
{
    WattHours const energy = Watts{2024} * std::chrono::hours{1};
    EXPECT_DOUBLE_EQ(energy.value, 2024);
    EXPECT_DOUBLE_EQ((energy * GramsPerKwh{100}).value, 202.4);
    EXPECT_DOUBLE_EQ(from_lbs_per_mwh(1000).value, 453.592);
}

TEST(Units, IntegersDivideIntoWholePartsAndARest)
{
    EXPECT_EQ(Tokens{17} / Tokens{5}, 3);
    EXPECT_EQ(Tokens{17} % Tokens{5}, Tokens{2});
    EXPECT_EQ(ratio(Tokens{17}, Tokens{5}), 3.4);
}

TEST(Time, ReadsIsoTimesAndRequiresATimeZone)
{
    EXPECT_EQ(format_time(*parse_time("2026-01-11 17:00:00+00:00")), "2026-01-11T17:00:00Z");
    EXPECT_EQ(format_time(*parse_time("2026-01-11T14:20Z")), "2026-01-11T14:20:00Z");
    EXPECT_EQ(format_time(*parse_time("2026-01-12T00:30:05.25+09:30")), "2026-01-11T15:00:05.250Z");
    EXPECT_EQ(
        parse_time("2026-01-11 14:20").error().message(),
        "invalid time \"2026-01-11 14:20\": it has no time zone; append Z or an offset such as "
        "+00:00");
    for (auto const* bad :
         {"", "2026-02-30T00:00Z", "2026-01-11T24:00Z", "2026-01-11T14:20Zx",
          "2026-01-11T14:20+99:99", "2026-01-11T14:20+15:00", "2026-01-11T14:20-05:60", "today"})
        EXPECT_FALSE(parse_time(bad)) << bad;
}

TEST(TimeScale, MapsRealTimeToReplayTime)
{
    TimeScale const scale{*parse_time("2026-01-11T17:00Z"), *parse_time("2026-11-21T10:00Z"), 300};
    auto const real = scale.real_origin + Millis{1000};
    EXPECT_EQ(scale.from_real(real), scale.origin + Seconds{300});
}

TEST(Log, EscapesTerminalControlSequences)
{
    testing::internal::CaptureStderr();
    Log::to_stderr("test").info("file \x1b[2Jx\nforged line");
    auto const line = testing::internal::GetCapturedStderr();
    EXPECT_NE(line.find(" test file \\x1b[2Jx\\x0aforged line\n"), std::string::npos) << line;
}

TEST(Digest, MatchesTheStandardVector)
{
    EXPECT_EQ(sha256("abc").hex(),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(Digest::from_hex(sha256("abc").hex()), sha256("abc"));
    EXPECT_FALSE(Digest::from_hex("ba78"));
    EXPECT_FALSE(Digest::from_hex(std::string(64, 'G')));
}

TEST(Base64, EncodesAndDecodesTheVectorsOfRfc4648)
{
    std::pair<char const*, char const*> const vectors[] = {{"", ""},
                                                           {"f", "Zg=="},
                                                           {"fo", "Zm8="},
                                                           {"foo", "Zm9v"},
                                                           {"foob", "Zm9vYg=="},
                                                           {"fooba", "Zm9vYmE="},
                                                           {"foobar", "Zm9vYmFy"}};
    for (auto const& [bytes, text] : vectors) {
        EXPECT_EQ(to_base64(std::string_view(bytes)), text);
        EXPECT_EQ(from_base64(text), bytes);
    }
    std::vector<unsigned char> const high{0xFB, 0xFF, 0x00};
    EXPECT_EQ(to_base64(high), "+/8A");
    EXPECT_EQ(from_base64("+/8A"), std::string("\xFB\xFF\0", 3));
}

TEST(Base64, RejectsEverythingElse)
{
    for (auto const* text : {"Zg", "Zg=", "=", "====", "Z===", "Zg==Zg==", "Zm9v\n", " Zm9v",
                             "Zm9v ", "Zm 9", "Zm\n9", "Zm-_", "Z=g=", "Zm9vZg==="})
        EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

TEST(Names, RejectCharactersThatAreUnsafeInShellsAndPaths)
{
    for (auto const* good : {"A", "CAISO_NORTH", "nem-sa", "0x"})
        EXPECT_TRUE(is_plain_name(good)) << good;
    for (auto const* bad : {"", "-a", "_a", "a b", "a/b", "..", "a;b", "ä"})
        EXPECT_FALSE(is_plain_name(bad)) << bad;
    EXPECT_TRUE(is_plain_name(std::string(32, 'a')));
    EXPECT_FALSE(is_plain_name(std::string(33, 'a')));
}

TEST(Text, EscapesTerminalControlSequences)
{
    EXPECT_EQ(printable("a\x1b[2Jb\xff\xC3\xA4"), "a\\x1b[2Jb\\xff\xC3\xA4");
    EXPECT_EQ(printable("\xE2\x80\xAE"), "\\xe2\\x80\\xae");
    EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b") << "a C1 control character";
    EXPECT_EQ(printable("\xE2\x81\xA6"), "\\xe2\\x81\\xa6") << "a bidirectional isolate";
    EXPECT_EQ(printable("\xE2\x82\xAC\xF0\x9F\x8C"), "\xE2\x82\xAC\\xf0\\x9f\\x8c") << "cut short";
}

// A character as UTF-8. `code` is at least 0x80.
std::string utf8(unsigned code)
{
    auto const last = static_cast<char>(0x80 | (code & 0x3F));
    if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), last};
    return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
            last};
}

TEST(Text, NoControlCharacterAndNoMarkOfDirectionReachesATerminal)
{
    for (unsigned code = 0; code < 0xA0; ++code) {
        bool const is_harmless = code >= 0x20 && code < 0x7F;
        auto const text = code < 0x80 ? std::string(1, static_cast<char>(code)) : utf8(code);
        EXPECT_EQ(printable(text) == text, is_harmless) << code;
        EXPECT_EQ(printable_lines(text) == text, is_harmless || text == "\n") << code;
    }
    // Unicode's property Bidi_Control, and the line breaks that are no newline.
    for (unsigned const code : {0x061CU, 0x200EU, 0x200FU, 0x202AU, 0x202BU, 0x202CU, 0x202DU,
                                0x202EU, 0x2066U, 0x2067U, 0x2068U, 0x2069U, 0x2028U, 0x2029U})
        EXPECT_TRUE(printable(utf8(code)).starts_with("\\x")) << code;
    for (unsigned const code : {0xA0U, 0x00E4U, 0x061BU, 0x061DU, 0x20ACU, 0x200DU})
        EXPECT_EQ(printable(utf8(code)), utf8(code)) << code;
}

TEST(Text, OfSeveralLinesKeepsItsLineBreaks)
{
    EXPECT_EQ(printable_lines("\na\x1b\n\nb\r\n"), "\na\\x1b\n\nb\\x0d\n");
    EXPECT_EQ(printable_lines(""), "");
}

TEST(Text, BytesThatAreNoUtf8AreShown)
{
    EXPECT_EQ(valid_utf8("\xC3\xA4\xff\xC3z\xED\xA0\x80"), "\xC3\xA4\\xff\\xc3z\\xed\\xa0\\x80");
}

TEST(Text, SuggestsOnlySimilarNames)
{
    std::vector<std::string> const names{"round_time_s", "seed"};
    EXPECT_EQ(nearest_name("roundtime_s", names), "round_time_s");
    EXPECT_EQ(nearest_name("banana", names), std::nullopt);
}

TEST(Text, PrefersAPrefixToASimilarSpelling)
{
    std::vector<std::string> const names{"--help", "--temperature", "--threads"};
    EXPECT_EQ(nearest_name("--temp", names), "--temperature");
    EXPECT_EQ(nearest_name("--hepl", names), "--help");
}

TEST(Text, ChecksUtf8Strictly)
{
    EXPECT_FALSE(find_invalid_utf8("gr\xC3\xBC\xC3\x9F \xF0\x9F\x8C\xB1"));
    EXPECT_EQ(find_invalid_utf8("ab\xC0\xAF"), 2U);
    EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0U);
    for (auto const* bad : {"\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                            "\xF5\x80\x80\x80", "\x80", "\xC2", "\xE2\x82", "\xC2\xC2"})
        EXPECT_EQ(find_invalid_utf8(bad), 0U) << bad;
    for (auto const* good : {"\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF", "\xE0\xA0\x80",
                             "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
        EXPECT_FALSE(find_invalid_utf8(good)) << good;
    EXPECT_EQ(find_invalid_utf8("a\xF0\x9F\x8C"), 1U);
    for (std::size_t before = 0; before < 20; ++before)
        EXPECT_EQ(find_invalid_utf8(std::string(before, 'a') + "\xFF" + std::string(20, 'a')),
                  before);
}

}  // namespace
}  // namespace curtail
