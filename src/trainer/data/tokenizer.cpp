// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/tokenizer.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/core/base64.hpp"
#include "base/core/files.hpp"
#include "base/core/foreign_text.hpp"
#include "base/core/text.hpp"

namespace curtail::data {
namespace {

// Parses `text` and stores its token. Returns what is wrong with the line; empty if it is good.
std::string add_rank(std::string_view text, std::vector<std::string>& ranks)
{
    auto const space = std::min(text.find_first_of(" \t"), text.size());
    auto bytes = from_base64(text.substr(0, space));
    auto const number = parse_number<std::int64_t>(trim(text.substr(space)));
    if (!bytes || bytes->empty() || !number) return "is not a token and its rank";
    if (*number < 0 || *number >= max_vocabulary_size)
        return "has a rank outside 0 to " + std::to_string(max_vocabulary_size - 1);
    auto const rank = static_cast<std::size_t>(*number);
    if (rank >= ranks.size()) ranks.resize(rank + 1);
    if (!ranks[rank].empty()) return "repeats rank " + std::to_string(rank);
    ranks[rank] = std::move(*bytes);
    return {};
}

}  // namespace

// Fills ids_ and checks the tokens.
Result<void> Tokenizer::index_tokens(std::string const& source)
{
    auto const bad = [&](std::string why) {
        return fail(ExitCode::data, "cannot use tokenizer " + source, std::move(why));
    };
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
        auto const& bytes = ranks_[i];
        if (bytes.empty()) continue;
        if (bytes.size() > max_token_bytes)
            return bad("rank " + std::to_string(i) + " has more than " +
                       std::to_string(max_token_bytes) + " bytes");
        if (!ids_.emplace(bytes, static_cast<Token>(i)).second)
            return bad("rank " + std::to_string(i) + " repeats the bytes of another");
    }
    for (int byte = 0; byte < 256; ++byte)
        if (char const c = static_cast<char>(byte); !ids_.count(std::string_view(&c, 1)))
            return bad("it has no token for byte " + std::to_string(byte));
    return {};
}

// Fills pairs_ with all ways to split a token into two tokens.
void Tokenizer::index_pairs()
{
    std::size_t splits = 0;
    for (auto const& [bytes, id] : ids_) splits += bytes.size() - 1;
    pairs_ = PairTable(splits);
    for (auto const& [bytes, id] : ids_)
        for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
            auto const left = ids_.find(bytes.substr(0, cut));
            auto const right = ids_.find(bytes.substr(cut));
            if (left != ids_.end() && right != ids_.end())
                pairs_.insert(left->second, right->second, id);
        }
}

Result<Tokenizer> Tokenizer::from_ranks(std::vector<std::string> ranks, std::string const& source)
{
    while (!ranks.empty() && ranks.back().empty()) ranks.pop_back();
    constexpr auto limit = max_vocabulary_size - static_cast<std::int64_t>(special_tokens.size());
    if (std::ssize(ranks) > limit)
        return fail(ExitCode::data, "cannot use tokenizer " + source,
                    "it has " + std::to_string(ranks.size()) + " ranks, the limit is " +
                        std::to_string(limit));
    Tokenizer made;
    made.ranks_ = std::move(ranks);
    if (auto indexed = made.index_tokens(source); !indexed) return tl::unexpected(indexed.error());
    made.index_pairs();
    made.digest_ = sha256(made.to_tiktoken());
    return made;
}

Result<Tokenizer> Tokenizer::parse(std::string_view text, std::string const& source)
{
    auto const bad = [&](std::string why, std::string remedy) {
        return fail(ExitCode::data, "cannot read tokenizer " + source, std::move(why),
                    std::move(remedy));
    };
    for (auto foreign : {wide_text(text), foreign_line_ends(text)})
        if (foreign) return bad(std::move(foreign->why), std::move(foreign->remedy));
    std::vector<std::string> ranks;
    std::size_t number = 0;
    for (auto const raw : split(without_byte_order_mark(text), '\n')) {
        ++number;
        auto const line = trim(raw);  // as tiktoken does
        if (line.empty()) continue;
        if (auto const why = add_rank(line, ranks); !why.empty())
            return bad("line " + std::to_string(number) + " " + why,
                       "a line is: base64 of the token's bytes, a space, its rank");
    }
    return from_ranks(std::move(ranks), source);
}

Result<Tokenizer> Tokenizer::read(std::filesystem::path const& file)
{
    return read_file(file, max_tokenizer_bytes).and_then([&](std::string const& text) {
        return parse(text, file.string());
    });
}

std::string Tokenizer::to_tiktoken() const
{
    std::string out;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (!ranks_[i].empty()) out += to_base64(ranks_[i]) + " " + std::to_string(i) + "\n";
    return out;
}

std::int64_t Tokenizer::vocabulary_size() const
{
    return static_cast<std::int64_t>(ranks_.size() + special_tokens.size());
}

bool Tokenizer::has(std::size_t id) const
{
    if (id < ranks_.size()) return !ranks_[id].empty();
    return id - ranks_.size() < special_tokens.size();
}

Token Tokenizer::special(std::size_t index) const
{
    if (index >= special_tokens.size())
        throw std::out_of_range("special token " + std::to_string(index) + " does not exist");
    return static_cast<Token>(ranks_.size() + index);
}

Result<std::string> Tokenizer::decode(std::span<Token const> tokens) const
{
    std::string text;
    for (Token const token : tokens) {
        if (!has(token))
            return fail(
                ExitCode::data, "cannot decode token " + std::to_string(token),
                "the vocabulary does not have it (size " + std::to_string(vocabulary_size()) + ")",
                "use the tokenizer that encoded the text");
        text += token < ranks_.size() ? ranks_[token] : special_tokens[token - ranks_.size()];
    }
    return text;
}

}  // namespace curtail::data
