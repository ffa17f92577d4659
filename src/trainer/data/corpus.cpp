// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/corpus.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/core/files.hpp"
#include "base/core/foreign_text.hpp"
#include "base/core/text.hpp"
#include "trainer/data/text_files.hpp"

namespace curtail::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_file_bytes = std::int64_t{1} << 36;

// Returns true if a line ends with the character `i`. Lines end with LF, CR LF, or CR.
bool ends_line(std::string_view text, std::size_t i)
{
    return text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
}

// The length of the first document of a `text` longer than `limit`.
std::size_t find_cut(std::string_view text, std::size_t limit)
{
    constexpr std::string_view white_space = " \t\r\v\f";
    std::optional<std::size_t> last_line;
    std::optional<std::size_t> blank_line;  // the end of a line that has white space alone so far
    for (std::size_t i = limit; i-- > 0;) {
        if (ends_line(text, i)) {
            if (blank_line) return *blank_line + 1;
            if (!last_line) last_line = i;
            blank_line = i;
        } else if (white_space.find(text[i]) == std::string_view::npos) blank_line.reset();
    }
    if (last_line) return *last_line + 1;
    std::size_t cut = limit;
    while (cut > 1 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    return cut;
}

Result<void> take_file(fs::path const& file, Corpus& corpus, Sha256& hash)
{
    auto const text = read_file(file, max_file_bytes);
    if (!text) return tl::unexpected(text.error());
    if (auto foreign = foreign_encoding(*text))
        return fail(ExitCode::data, "cannot read text " + file.string(), std::move(foreign->why),
                    std::move(foreign->remedy));
    hash.update(sha256(*text).hex());
    auto const content = without_byte_order_mark(*text);
    corpus.bytes += static_cast<std::int64_t>(content.size());
    auto const documents = cut_documents(content);
    corpus.documents.insert(corpus.documents.end(), documents.begin(), documents.end());
    return {};
}

std::string empty_text(std::span<fs::path const> sources)
{
    std::string names;
    for (auto const& source : sources) names += (names.empty() ? "" : ", ") + source.string();
    return "there is no text in " + names;
}

class SplitMix64 {
  public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t bound)
    {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        z ^= z >> 31;
        return static_cast<std::uint64_t>(static_cast<unsigned __int128>(z) * bound >> 64);
    }

  private:
    std::uint64_t state_;
};

}  // namespace

std::vector<std::string> cut_documents(std::string_view text, std::size_t limit)
{
    std::vector<std::string> documents;
    while (!text.empty()) {
        std::size_t const size = text.size() <= limit ? text.size() : find_cut(text, limit);
        documents.emplace_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return documents;
}

Result<Corpus> read_corpus(std::span<fs::path const> sources)
{
    auto const files = find_text_files(sources);
    if (!files) return tl::unexpected(files.error());
    Corpus corpus;
    Sha256 hash;
    corpus.left_out_files = files->left_out;
    for (auto const& file : files->paths)
        if (auto done = take_file(file, corpus, hash); !done) return tl::unexpected(done.error());
    if (corpus.documents.empty())
        return fail(ExitCode::no_input, "cannot read text",
                    sources.empty() ? "no file is named" : empty_text(sources),
                    "name a UTF-8 file or a folder of .txt files");
    corpus.digest = hash.finish();
    return corpus;
}

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed)
{
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    SplitMix64 random(seed);
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

Result<TrainingSplit> split_documents(std::size_t documents, double share, std::uint64_t seed)
{
    if (!(share >= 0 && share < 1))
        return fail(ExitCode::usage, "cannot hold out a share of " + std::to_string(share),
                    "it must be at least 0 and below 1");
    auto held = static_cast<std::size_t>(std::llround(static_cast<double>(documents) * share));
    if (share > 0) held = std::max<std::size_t>(held, 1);
    if (held >= documents)
        return fail(ExitCode::data, "cannot hold out documents",
                    "none of the " + std::to_string(documents) + " would be left for training",
                    "use more text");
    auto order = shuffled(documents, seed);
    TrainingSplit split;
    split.held_out.assign(order.end() - static_cast<std::ptrdiff_t>(held), order.end());
    order.resize(documents - held);
    split.training = std::move(order);
    return split;
}

}  // namespace curtail::data
