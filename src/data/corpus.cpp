// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <set>

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_file_bytes = std::int64_t{1} << 36;

/// Where the first document of `text`, which is longer than `limit`, ends.
std::size_t find_cut(std::string_view text, std::size_t limit)
{
    auto const window = text.substr(0, limit);
    if (auto const blank = window.rfind("\n\n"); blank != std::string_view::npos) return blank + 2;
    if (auto const line = window.rfind('\n'); line != std::string_view::npos) return line + 1;
    std::size_t cut = limit;
    while (cut > 1 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    return cut;
}

tl::unexpected<Error> cannot_read(fs::path const& path, std::string why, std::string remedy = {})
{
    return fail(ExitCode::no_input, "cannot read text " + path.string(), std::move(why),
                std::move(remedy));
}

/// Files and folders by what they are, whatever the names and links that lead to them.
class Seen {
  public:
    /// Whether `path` is met for the first time.
    [[nodiscard]] Result<bool> add(fs::path const& path)
    {
        struct stat status {};
        if (stat(path.c_str(), &status) != 0) return cannot_read(path, errno_text(errno));
        return seen_.insert({status.st_dev, status.st_ino}).second;
    }

  private:
    std::set<std::pair<dev_t, ino_t>> seen_;
};

/// The `.txt` files below `folder`, with those of linked folders. A folder that is met again, as in
/// a circle of links, adds nothing.
Result<void> gather(fs::path const& folder, Seen& folders, std::vector<fs::path>& files)
{
    auto const fresh = folders.add(folder);
    if (!fresh) return tl::unexpected(fresh.error());
    if (!*fresh) return {};
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        entries.push_back(at->path());
    if (error) return cannot_read(folder, errno_text(error.value()));
    // By which of its names a folder is met first must not depend on the order of a disk.
    std::sort(entries.begin(), entries.end(),
              [](auto const& a, auto const& b) { return a.native() < b.native(); });
    for (auto const& entry : entries) {
        auto const type = fs::status(entry, error).type();
        // Perhaps a folder of texts on a disk that is not mounted: what was named must not be less
        // without a word.
        if (type == fs::file_type::none) return cannot_read(entry, errno_text(error.value()));
        if (type == fs::file_type::not_found)
            return cannot_read(entry, "it is a link to nothing", "remove it, or mend the link");
        if (type == fs::file_type::directory) {
            if (auto below = gather(entry, folders, files); !below) return below;
        } else if (entry.extension() == ".txt") {
            if (type != fs::file_type::regular)
                return cannot_read(entry, "it is no plain file", "remove or rename it");
            files.push_back(entry);
        }
    }
    return {};
}

Result<std::vector<fs::path>> files_of(fs::path const& source)
{
    char const* const remedy = "name a UTF-8 file or a folder of .txt files";
    std::error_code error;
    auto const status = fs::status(source, error);
    if (!fs::exists(status))
        return cannot_read(source, error ? errno_text(error.value()) : "it does not exist", remedy);
    if (!fs::is_directory(status)) return std::vector{source};
    std::vector<fs::path> files;
    Seen folders;
    if (auto gathered = gather(source, folders, files); !gathered)
        return tl::unexpected(gathered.error());
    if (files.empty()) return cannot_read(source, "the folder has no .txt file", remedy);
    std::sort(files.begin(), files.end(),
              [](auto const& a, auto const& b) { return a.native() < b.native(); });
    return files;
}

Result<void> take_file(fs::path const& file, Corpus& corpus, Sha256& hash)
{
    auto const text = read_file(file, max_file_bytes);
    if (!text) return tl::unexpected(text.error());
    if (auto const at = find_invalid_utf8(*text))
        return fail(ExitCode::data, "cannot read text " + file.string(),
                    "not UTF-8 at byte " + std::to_string(*at),
                    "convert it, for instance with iconv -f LATIN1 -t UTF-8");
    hash.update(sha256(*text).hex());
    corpus.bytes += static_cast<std::int64_t>(text->size());
    for (auto& document : cut_documents(*text)) corpus.documents.push_back(std::move(document));
    return {};
}

class SplitMix64 {
  public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t bound)
    {
        return static_cast<std::uint64_t>(static_cast<unsigned __int128>(next()) * bound >> 64);
    }

  private:
    std::uint64_t next()
    {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
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
    Corpus corpus;
    Sha256 hash;
    Seen taken;
    for (auto const& source : sources) {
        auto const files = files_of(source);
        if (!files) return tl::unexpected(files.error());
        for (auto const& file : *files) {
            // A second copy could be held out while the first is trained on.
            auto const fresh = taken.add(file);
            if (!fresh) return tl::unexpected(fresh.error());
            if (!*fresh) continue;
            if (auto done = take_file(file, corpus, hash); !done)
                return tl::unexpected(done.error());
        }
    }
    if (corpus.documents.empty())
        return fail(ExitCode::no_input, "cannot read text",
                    sources.empty() ? "no file is named" : "it is empty",
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

Result<Division> divide(std::size_t documents, double share, std::uint64_t seed)
{
    if (!(share >= 0 && share < 1))
        return fail(ExitCode::usage, "cannot hold out a share of " + std::to_string(share),
                    "it must be at least 0 and below 1");
    auto held = static_cast<std::size_t>(std::llround(static_cast<double>(documents) * share));
    if (share > 0) held = std::max<std::size_t>(held, 1);
    if (held >= documents)
        return fail(ExitCode::data, "cannot hold out documents",
                    "there are " + std::to_string(documents) +
                        " documents, and some must be left to train on",
                    "take more text");
    auto order = shuffled(documents, seed);
    Division division;
    division.held_out.assign(order.end() - static_cast<std::ptrdiff_t>(held), order.end());
    order.resize(documents - held);
    division.training = std::move(order);
    return division;
}

}  // namespace curtail::data
