// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <queue>

#include "core/text.hpp"
#include "data/tokenizer.hpp"

namespace curtail::data {
namespace {

using Pair = std::uint32_t;  ///< left token in the upper half, right one in the lower
Pair pair_of(Token left, Token right) { return static_cast<Pair>(left) << 16 | right; }

/// One distinct piece of the text, as tokens that get fewer, and how often it occurs.
struct Word {
    std::vector<Token> parts;
    std::int64_t count{0};
};

/// Where a pair stands. `words` may name a word twice, or one from which the pair has gone.
struct Occurrences {
    std::int64_t count{0};
    std::vector<std::uint32_t> words;
};

struct Candidate {
    std::int64_t count;
    Pair pair;
    /// Most frequent on top; of equal ones the smallest pair.
    bool operator<(Candidate const& other) const
    {
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

class Trainer {
  public:
    explicit Trainer(std::vector<Word> words) : words_(std::move(words)) {}

    /// The pairs in the order in which they become tokens 256, 257, ...; fewer than `merges` if
    /// none is left.
    std::vector<Pair> run(std::int64_t merges, Report const& report)
    {
        for (std::uint32_t w = 0; w < words_.size(); ++w)
            for (std::size_t i = 0; i + 1 < words_[w].parts.size(); ++i)
                change(pair_of(words_[w].parts[i], words_[w].parts[i + 1]), +1, w);
        for (auto const& [pair, found] : pairs_) heap_.push({found.count, pair});
        std::vector<Pair> chosen;
        while (static_cast<std::int64_t>(chosen.size()) < merges && !heap_.empty()) {
            auto const top = heap_.top();
            heap_.pop();
            auto const found = pairs_.find(top.pair);
            // Counts only fall after a pair's birth, so an entry is out of date by being too high:
            // put it back where it belongs.
            if (found == pairs_.end() || found->second.count <= 0) continue;
            if (found->second.count != top.count) {
                heap_.push({found->second.count, top.pair});
                continue;
            }
            auto const bytes = bytes_[top.pair >> 16] + bytes_[top.pair & 0xFFFF];
            if (bytes > max_token_bytes) continue;
            bytes_.push_back(bytes);
            merge(top.pair, static_cast<Token>(256 + chosen.size()));
            chosen.push_back(top.pair);
            if (report) report(static_cast<double>(chosen.size()), static_cast<double>(merges));
        }
        return chosen;
    }

  private:
    void change(Pair pair, int sign, std::uint32_t word)
    {
        auto& found = pairs_[pair];
        found.count += sign * words_[word].count;
        if (sign > 0 && (found.words.empty() || found.words.back() != word))
            found.words.push_back(word);
    }

    void merge(Pair pair, Token merged)
    {
        auto const where = std::move(pairs_[pair].words);
        for (auto const word : where) merge_in(word, pair, merged);
        pairs_.erase(pair);
        for (auto const born : born_)
            if (auto const found = pairs_.find(born);
                found != pairs_.end() && found->second.count > 0)
                heap_.push({found->second.count, born});
        born_.clear();
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
            Token const left = parts[i];
            Token const right = parts[i + 1];
            if (kept > 0) {
                change(pair_of(parts[kept - 1], left), -1, word);
                bear(pair_of(parts[kept - 1], merged), word);
            }
            if (i + 2 < parts.size()) {
                change(pair_of(right, parts[i + 2]), -1, word);
                bear(pair_of(merged, parts[i + 2]), word);
            }
            parts[kept++] = merged;
            ++i;
        }
        parts.resize(kept);
    }

    void bear(Pair pair, std::uint32_t word)
    {
        if (!pairs_.count(pair)) born_.push_back(pair);
        change(pair, +1, word);
    }

    std::vector<Word> words_;
    std::unordered_map<Pair, Occurrences> pairs_;
    std::priority_queue<Candidate> heap_;
    std::vector<Pair> born_;
    std::vector<std::size_t> bytes_ = std::vector<std::size_t>(256, 1);  ///< of each token so far
};

Result<std::vector<Word>> count_pieces(std::span<std::string const> documents)
{
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts;
    Splitter const splitter;
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

/// Two chains of merges can lead to the same bytes. Then only the later token is ever produced, and
/// the earlier rank stays empty, as it does when such a vocabulary goes through tiktoken's table of
/// bytes.
std::vector<std::string> bytes_of(std::vector<Pair> const& merges)
{
    std::vector<std::string> all;
    all.reserve(256 + merges.size());
    for (int byte = 0; byte < 256; ++byte) all.emplace_back(1, static_cast<char>(byte));
    for (Pair const pair : merges) all.push_back(all[pair >> 16] + all[pair & 0xFFFF]);
    std::unordered_map<std::string, std::size_t> last;
    for (std::size_t i = 0; i < all.size(); ++i) last[all[i]] = i;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (last[all[i]] != i) all[i].clear();
    return all;
}

}  // namespace

Result<Tokenizer> train_tokenizer(std::span<std::string const> documents, std::int64_t vocabulary,
                                  Report const& report)
{
    if (vocabulary < min_vocabulary || vocabulary > max_vocabulary)
        return fail(ExitCode::usage,
                    "cannot train a tokenizer of " + std::to_string(vocabulary) + " tokens",
                    "a vocabulary has " + std::to_string(min_vocabulary) + " to " +
                        std::to_string(max_vocabulary));
    auto words = count_pieces(documents);
    if (!words) return tl::unexpected(words.error());
    auto const wanted = vocabulary - min_vocabulary;
    auto const merges = Trainer(std::move(*words)).run(wanted, report);
    if (static_cast<std::int64_t>(merges.size()) < wanted)
        return fail(ExitCode::data,
                    "cannot train a tokenizer of " + std::to_string(vocabulary) + " tokens",
                    "the text gives only " +
                        std::to_string(min_vocabulary + static_cast<std::int64_t>(merges.size())),
                    "take more text or a smaller vocabulary");
    return Tokenizer::from_ranks(bytes_of(merges), "trained");
}

}  // namespace curtail::data
