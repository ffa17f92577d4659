// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/encoder.hpp"

#include <queue>

#include "base/core/text.hpp"

namespace curtail::data {
namespace {

// Up to this many bytes, scanning all pairs after each merge is fastest.
constexpr std::size_t short_piece = 64;
constexpr std::size_t cache_limit = std::size_t{1} << 17;

// Merges the pair with the smallest merged id first, and the leftmost of equal ones, as tiktoken
// does.
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

// The same in O(n log n): the parts form a linked list, the possible merges a heap. A heap entry
// is stale once one of its tokens has changed.
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
            gone[right] = true;
            merge(entry.at, right, static_cast<Token>(entry.merged));
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
    void merge(std::size_t at, std::size_t right, Token merged)
    {
        parts_[at] = merged;
        next_[at] = next_[right];
        if (next_[right] < parts_.size()) before_[next_[right]] = at;
        if (before_[at] < parts_.size()) offer(before_[at]);
        offer(at);
    }
    // Adds the merge of `at` with its right neighbour to the heap, if that merge exists.
    void offer(std::size_t at)
    {
        if (next_[at] >= parts_.size()) return;
        auto const merged = pairs_.find(parts_[at], parts_[next_[at]]);
        if (merged != PairTable::none) heap_.push({merged, at});
    }
    PairTable const& pairs_;
    std::vector<Token>& parts_;
    std::vector<std::size_t> next_;    // parts_.size() or more at the end
    std::vector<std::size_t> before_;  // wraps around to a huge number at the front
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
    auto const cached = cache_.find(piece);
    if (cached != cache_.end()) {
        tokens.insert(tokens.end(), cached->second.begin(), cached->second.end());
        return;
    }
    merge(piece, tokens);
    if (cache_.size() >= cache_limit) cache_.clear();
    cache_.emplace(piece, parts_);
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
