// SPDX-License-Identifier: Apache-2.0
#include <queue>

#include "core/text.hpp"
#include "data/tokenizer.hpp"

namespace curtail::data {
namespace {

/// Up to this many bytes it is quickest to look at all pairs after each merge.
constexpr std::size_t short_piece = 64;
constexpr std::size_t known_limit = std::size_t{1} << 17;

/// The pair of smallest merged id first, of equal ones the leftmost, as tiktoken merges.
void merge_short(PairTable const& pairs, std::vector<Token>& parts)
{
    for (;;) {
        std::uint32_t best = PairTable::none;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i)
            if (auto const merged = pairs.find(parts[i], parts[i + 1]); merged < best) {
                best = merged;
                at = i;
            }
        if (best == PairTable::none) return;
        parts[at] = static_cast<Token>(best);
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

/// The same in n log n steps: parts as a linked list, possible merges in a heap. An entry whose
/// tokens have changed is out of date.
class LongMerge {
  public:
    LongMerge(PairTable const& pairs, std::vector<Token>& parts)
        : pairs_(pairs), parts_(parts), next_(parts.size()), before_(parts.size())
    {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            next_[i] = i + 1;
            before_[i] = i - 1;
        }
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) offer(i);
    }

    void run()
    {
        std::vector<bool> gone(parts_.size());
        while (!heap_.empty()) {
            auto const entry = heap_.top();
            heap_.pop();
            if (gone[entry.at] || next_[entry.at] >= parts_.size()) continue;
            auto const right = next_[entry.at];
            if (pairs_.find(parts_[entry.at], parts_[right]) != entry.merged) continue;
            parts_[entry.at] = static_cast<Token>(entry.merged);
            gone[right] = true;
            next_[entry.at] = next_[right];
            if (next_[right] < parts_.size()) before_[next_[right]] = entry.at;
            if (before_[entry.at] < parts_.size()) offer(before_[entry.at]);
            offer(entry.at);
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < parts_.size(); i = next_[i]) parts_[kept++] = parts_[i];
        parts_.resize(kept);
    }

  private:
    struct Entry {
        std::uint32_t merged;
        std::size_t at;
        bool operator<(Entry const& other) const
        {
            return merged != other.merged ? merged > other.merged : at > other.at;
        }
    };
    void offer(std::size_t at)
    {
        if (next_[at] >= parts_.size()) return;
        auto const merged = pairs_.find(parts_[at], parts_[next_[at]]);
        if (merged != PairTable::none) heap_.push({merged, at});
    }
    PairTable const& pairs_;
    std::vector<Token>& parts_;
    std::vector<std::size_t> next_;    ///< parts_.size() or more: none
    std::vector<std::size_t> before_;  ///< wraps round to a huge number at the front
    std::priority_queue<Entry> heap_;
};

}  // namespace

void Encoder::merge(std::string_view piece, std::vector<Token>& tokens)
{
    parts_.clear();
    for (char const& c : piece)
        parts_.push_back(tokenizer_.ids_.find(std::string_view(&c, 1))->second);
    if (parts_.size() <= short_piece) merge_short(tokenizer_.pairs_, parts_);
    else LongMerge(tokenizer_.pairs_, parts_).run();
    tokens.insert(tokens.end(), parts_.begin(), parts_.end());
}

void Encoder::append_piece(std::string_view piece, std::vector<Token>& tokens)
{
    if (auto const whole = tokenizer_.ids_.find(piece); whole != tokenizer_.ids_.end()) {
        tokens.push_back(whole->second);
        return;
    }
    if (piece.size() > short_piece) return merge(piece, tokens);
    auto const known = known_.find(piece);
    if (known != known_.end()) {
        tokens.insert(tokens.end(), known->second.begin(), known->second.end());
        return;
    }
    merge(piece, tokens);
    if (known_.size() >= known_limit) known_.clear();
    known_.emplace(piece, parts_);
}

Result<void> Encoder::append(std::string_view text, std::vector<Token>& tokens)
{
    if (auto const at = find_invalid_utf8(text))
        return fail(ExitCode::data, "cannot encode text",
                    "not UTF-8 at byte " + std::to_string(*at));
    splitter_.each(text, [&](std::string_view piece) { append_piece(piece, tokens); });
    return {};
}

Result<std::vector<Token>> Encoder::encode(std::string_view text)
{
    std::vector<Token> tokens;
    if (auto done = append(text, tokens); !done) return tl::unexpected(done.error());
    return tokens;
}

}  // namespace curtail::data
