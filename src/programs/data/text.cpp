// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "commands.hpp"
#include "trainer/data/encoder.hpp"

namespace curtail::programs::data {
namespace {

using curtail::data::Token;
using curtail::data::Tokenizer;

Option tokenizer_option()
{
    return required(
        text_option("tokenizer", "PATH",
                    "Tokenizer file in tiktoken's format, or a folder written by prepare"));
}

Result<Tokenizer> open_tokenizer(Arguments const& arguments)
{
    std::filesystem::path path = arguments.text("tokenizer");
    if (std::filesystem::is_directory(path)) path /= curtail::data::tokenizer_file;
    return Tokenizer::read(path);
}

// The arguments joined by spaces, or standard input if there are none.
Result<std::string> input_of(Arguments const& arguments, char const* positional)
{
    if (!arguments.has(positional)) return read_descriptor(STDIN_FILENO, "standard input");
    return fmt::format("{}", fmt::join(arguments.values_of(positional), " "));
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

// Tokens separated by whitespace or commas; a JSON list is fine too.
Result<std::vector<Token>> parse_tokens(std::string text)
{
    constexpr std::string_view separators = "\r\n\t,[]";
    for (char& c : text)
        if (separators.find(c) != std::string_view::npos) c = ' ';
    std::vector<Token> tokens;
    for (auto const word : split(text, ' ')) {
        if (word.empty()) continue;
        auto const token = parse_number<Token>(word);
        if (!token)
            return fail(ExitCode::data, "cannot decode \"" + printable(word.substr(0, 40)) + "\"",
                        "it is not a token", "tokens are integers from 0 to 65535");
        tokens.push_back(*token);
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
        .map([&](std::string const& text) { console.print_exactly(text); });
}

}  // namespace

Command encode_command()
{
    return {"encode",
            "Convert text to tokens",
            {tokenizer_option()},
            {{"TEXT", "Text to encode [standard input]", false, true}},
            encode,
            true,
            "curtail-data encode --tokenizer results/demo/data 'Hello, world'"};
}

Command decode_command()
{
    return {"decode",
            "Convert tokens to text",
            {tokenizer_option()},
            {{"TOKEN", "Token ids to decode [standard input]", false, true}},
            decode,
            false,
            "curtail-data decode --tokenizer results/demo/data 39 265 271"};
}

}  // namespace curtail::programs::data
