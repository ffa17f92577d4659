// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "commands.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "data/encoder.hpp"

namespace curtail::apps::data {
namespace {

using curtail::data::Token;
using curtail::data::Tokenizer;

Option tokenizer_option()
{
    return {"tokenizer", Kind::text, "PATH", "", "Rank file, or a folder made by prepare", true};
}

Result<Tokenizer> open_tokenizer(Arguments const& arguments)
{
    std::filesystem::path path = arguments.text("tokenizer");
    if (std::filesystem::is_directory(path)) path /= curtail::data::tokenizer_file;
    return Tokenizer::read(path);
}

/// The words of the command line, or standard input if there are none.
Result<std::string> input_of(Arguments const& arguments, char const* positional)
{
    if (!arguments.has(positional)) return read_file("/dev/stdin");
    return fmt::format("{}", fmt::join(arguments.all(positional), " "));
}

Result<void> encode(Arguments const& arguments, Console const& console)
{
    auto const tokenizer = open_tokenizer(arguments);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    auto const text = input_of(arguments, "TEXT");
    if (!text) return tl::unexpected(text.error());
    return curtail::data::Encoder(*tokenizer)
        .encode(*text)
        .map([&](std::vector<Token> const& tokens) {
            console.print(console.json ? fmt::format("[{}]\n", fmt::join(tokens, ","))
                                       : fmt::format("{}\n", fmt::join(tokens, " ")));
        });
}

Result<std::vector<Token>> parse_tokens(std::string text)
{
    std::vector<Token> tokens;
    for (char& c : text)
        if (c == '\n' || c == '\t' || c == ',' || c == '[' || c == ']') c = ' ';
    for (auto const word : split(text, ' ')) {
        if (word.empty()) continue;
        Token token{};
        auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), token);
        if (error != std::errc{} || end != word.data() + word.size())
            return fail(ExitCode::data, "cannot decode \"" + printable(word.substr(0, 40)) + "\"",
                        "it is no token", "tokens are numbers from 0 to 65535");
        tokens.push_back(token);
    }
    return tokens;
}

Result<void> decode(Arguments const& arguments, Console const& console)
{
    auto const tokenizer = open_tokenizer(arguments);
    if (!tokenizer) return tl::unexpected(tokenizer.error());
    return input_of(arguments, "TOKEN")
        .and_then([](std::string const& text) { return parse_tokens(text); })
        .and_then([&](std::vector<Token> const& tokens) { return tokenizer->decode(tokens); })
        .map([&](std::string const& text) { console.print(text); });
}

}  // namespace

Command encode_command()
{
    return {"encode",
            "Text -> tokens",
            {tokenizer_option()},
            {{"TEXT", "Words; standard input if there are none", false, true}},
            encode,
            true};
}

Command decode_command()
{
    return {"decode",
            "Tokens -> text",
            {tokenizer_option()},
            {{"TOKEN", "Numbers; standard input if there are none", false, true}},
            decode};
}

}  // namespace curtail::apps::data
