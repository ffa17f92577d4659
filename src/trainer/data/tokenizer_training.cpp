// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/tokenizer_training.hpp"

#include <optional>
#include <queue>

#include "base/core/text.hpp"

namespace curtail::data {
namespace {

using Pair = std::uint32_t;  // left token in the upper half, right one in the lower
Pair pair_of(Token left, Token right) { return static_cast<Pair>(left) << 16 | right; }
std::size_t left_of(Pair pair) { return pair >> 16; }
std::size_t right_of(Pair pair) { return pair & 0xFFFF; }

// One distinct piece of the text, as tokens so far, and how often it occurs.
struct Word {
    std::vector<Token> parts;
    std::int64_t count{0};
};

// The words that have a pair. `words` may list a word twice, or one that no longer has the pair.
struct Occurrences {
    std::int64_t count{0};
    std::vector<std::uint32_t> words;
};

struct Candidate {
    std::int64_t count;
    Pair pair;
    // The most frequent on top, and the smallest pair among equals.
    bool operator<(Candidate const& other) const
    {
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

class Trainer {
  public:
    explicit Trainer(std::vector<Word> words) : words_(std::move(words)) {}

    // The pairs in the order in which they become tokens 256, 257, ...; fewer than `merges` if the
    // text runs out of pairs.
    std::vector<Pair> run(std::int64_t merges, ProgressCallback const& progress)
    {
        for (std::uint32_t w = 0; w < words_.size(); ++w)
            for (std::size_t i = 0; i + 1 < words_[w].parts.size(); ++i)
                change(pair_of(words_[w].parts[i], words_[w].parts[i + 1]), +1, w);
        for (auto const& [pair, found] : pairs_) heap_.push({found.count, pair});
        std::vector<Pair> chosen;
        while (static_cast<std::int64_t>(chosen.size()) < merges) {
            auto const pair = take_most_frequent();
            if (!pair) break;
            merge(*pair, static_cast<Token>(256 + chosen.size()));
            chosen.push_back(*pair);
            if (progress) progress(static_cast<double>(chosen.size()), static_cast<double>(merges));
        }
        return chosen;
    }

  private:
    // The most frequent pair whose token is not too long; empty if none remains.
    std::optional<Pair> take_most_frequent()
    {
        while (!heap_.empty()) {
            auto const top = heap_.top();
            heap_.pop();
            auto const found = pairs_.find(top.pair);
            if (found == pairs_.end() || found->second.count <= 0) continue;
            // Once a pair is in the heap, its count only falls. A stale entry is therefore too
            // high: push it again with its present count.
            if (found->second.count != top.count) heap_.push({found->second.count, top.pair});
            else if (bytes_[left_of(top.pair)] + bytes_[right_of(top.pair)] <= max_token_bytes)
                return top.pair;
        }
        return std::nullopt;
    }

    void change(Pair pair, int sign, std::uint32_t word)
    {
        auto& found = pairs_[pair];
        found.count += sign * words_[word].count;
        if (sign > 0 && (found.words.empty() || found.words.back() != word))
            found.words.push_back(word);
    }

    void merge(Pair pair, Token merged)
    {
        bytes_.push_back(bytes_[left_of(pair)] + bytes_[right_of(pair)]);
        auto const where = std::move(pairs_[pair].words);
        for (auto const word : where) merge_in(word, pair, merged);
        pairs_.erase(pair);
        for (auto const created : new_pairs_)
            if (auto const found = pairs_.find(created);
                found != pairs_.end() && found->second.count > 0)
                heap_.push({found->second.count, created});
        new_pairs_.clear();
    }

    void merge_in(std::uint32_t word, Pair pair, Token merged)
    {
        auto& parts = words_[word].parts;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (i + 1 == parts.size() || pair_of(parts[i], parts[i + 1]) != pair) {
                parts[kept++] = parts[i];
                continue;
            }
            if (kept > 0)
                replace(pair_of(parts[kept - 1], parts[i]), pair_of(parts[kept - 1], merged), word);
            if (i + 2 < parts.size())
                replace(pair_of(parts[i + 1], parts[i + 2]), pair_of(merged, parts[i + 2]), word);
            parts[kept++] = merged;
            ++i;
        }
        parts.resize(kept);
    }

    // One occurrence of `from` in `word` becomes one of `to`.
    void replace(Pair from, Pair to, std::uint32_t word)
    {
        change(from, -1, word);
        if (!pairs_.count(to)) new_pairs_.push_back(to);
        change(to, +1, word);
    }

    std::vector<Word> words_;
    std::unordered_map<Pair, Occurrences> pairs_;
    std::priority_queue<Candidate> heap_;
    std::vector<Pair> new_pairs_;                                        // of the current merge
    std::vector<std::size_t> bytes_ = std::vector<std::size_t>(256, 1);  // of each token so far
};

// Returns how often each piece of two bytes or more occurs; others have no pairs.
Result<std::vector<Word>> count_pieces(std::span<std::string const> documents)
{
    Splitter const splitter;
    std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> counts;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        if (auto const at = find_invalid_utf8(documents[d]))
            return fail(
                ExitCode::data, "cannot train a tokenizer",
                "document " + std::to_string(d) + " is not UTF-8 at byte " + std::to_string(*at));
        splitter.each(documents[d], [&](std::string_view piece) {
            auto const known = counts.find(piece);
            if (known == counts.end()) counts.emplace(piece, 1);
            else ++known->second;
        });
    }
    std::vector<Word> words;
    words.reserve(counts.size());
    for (auto const& [piece, count] : counts) {
        if (piece.size() < 2) continue;
        Word word{{}, count};
        for (char const c : piece) word.parts.push_back(static_cast<unsigned char>(c));
        words.push_back(std::move(word));
    }
    return words;
}

// Two chains of merges can lead to the same bytes. Encoding then only produces the later token, so
// the earlier rank stays empty, as in tiktoken's table of bytes.
std::vector<std::string> bytes_of(std::vector<Pair> const& merges)
{
    std::vector<std::string> all;
    all.reserve(256 + merges.size());
    for (int byte = 0; byte < 256; ++byte) all.emplace_back(1, static_cast<char>(byte));
    for (Pair const pair : merges) all.push_back(all[left_of(pair)] + all[right_of(pair)]);
    std::unordered_map<std::string, std::size_t> last;
    for (std::size_t i = 0; i < all.size(); ++i) last[all[i]] = i;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (last[all[i]] != i) all[i].clear();
    return all;
}

}  // namespace

Result<Tokenizer> train_tokenizer(std::span<std::string const> documents,
                                  std::int64_t vocabulary_size, ProgressCallback const& progress)
{
    if (vocabulary_size < min_vocabulary_size || vocabulary_size > max_vocabulary_size)
        return fail(ExitCode::usage,
                    "cannot train a tokenizer of " + std::to_string(vocabulary_size) + " tokens",
                    "a vocabulary has " + std::to_string(min_vocabulary_size) + " to " +
                        std::to_string(max_vocabulary_size));
    auto words = count_pieces(documents);
    if (!words) return tl::unexpected(words.error());
    auto const needed = vocabulary_size - min_vocabulary_size;
    auto const merges = Trainer(std::move(*words)).run(needed, progress);
    if (static_cast<std::int64_t>(merges.size()) < needed)
        return fail(
            ExitCode::data,
            "cannot train a tokenizer of " + std::to_string(vocabulary_size) + " tokens",
            "the text yields only " +
                std::to_string(min_vocabulary_size + static_cast<std::int64_t>(merges.size())),
            "use more text or a smaller vocabulary");
    return Tokenizer::from_ranks(bytes_of(merges), "trained");
}

}  // namespace curtail::data
