// SPDX-License-Identifier: Apache-2.0
#include "run/journal/lost_pieces.hpp"

#include <optional>

#include "base/core/text.hpp"
#include "run/journal/local_file.hpp"

namespace curtail::journal {
namespace {

// Reads the headers of a writer. If a number comes once more, the stream has begun anew there:
// what was noted from this number on belongs to a stream that no longer exists.
Result<std::vector<Tip>> read_headers(std::filesystem::path const& file, StreamId const& id)
{
    auto const text = read_file_if_exists(headers_file(file), log_limit);
    if (!text) return tl::unexpected(text.error());
    std::vector<Tip> tips;
    if (!*text) return tips;
    auto const lines = split(**text, '\n');
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        // A crash may have left a part of an entry.
        auto const tip =
            decode_tip(id, std::string(lines[i]) + "\n" + std::string(lines[i + 1]) + "\n");
        if (!tip) continue;
        while (!tips.empty() && tips.back().header.number >= tip->header.number) tips.pop_back();
        tips.push_back(*tip);
        ++i;
    }
    return tips;
}

Result<bool> is_stored_as(StreamObjects const& objects, Tip const& tip, CallLimits const& call)
{
    auto const piece = objects.read(tip.header.number, call);
    if (!piece) return tl::unexpected(piece.error());
    return *piece && (*piece)->digest == tip.digest;
}

// Returns false if the piece cannot be made again, or if another one has its number.
Result<bool> restore(StreamObjects const& objects, LocalFile const& file, Tip const& tip,
                     CallLimits const& call)
{
    auto const content = file.read(tip.header.range);
    if (!content) return tl::unexpected(content.error());
    auto const bytes = encode(objects.id(), tip.header, *content);
    if (sha256(bytes) != tip.digest) return false;
    auto const outcome = objects.create(tip.header.number, bytes, call);
    if (!outcome) return tl::unexpected(outcome.error());
    if (*outcome == store::CreateOutcome::created) return true;
    return is_stored_as(objects, tip, call);
}

}  // namespace

std::filesystem::path headers_file(std::filesystem::path const& file)
{
    return file.parent_path() / (file.stem().string() + ".pieces");
}

Result<void> keep_header(std::filesystem::path const& file, StreamId const& id, Tip const& tip)
{
    auto text = encode_tip(id, tip);
    text.pop_back();  // append_line() ends the line
    return append_line(headers_file(file), text, false);
}

Result<LostPieces> restore_lost_pieces(StreamObjects const& objects,
                                       std::filesystem::path const& file, CallLimits const& call)
{
    auto missing = read_headers(file, objects.id());
    if (!missing) return tl::unexpected(missing.error());
    auto const numbers = objects.listed(call);
    if (!numbers) return tl::unexpected(numbers.error());
    std::optional<Tip> newest;  // that the store has
    std::erase_if(*missing, [&](Tip const& tip) {
        bool const is_stored = numbers->contains(tip.header.number);
        if (is_stored) newest = tip;
        return is_stored;
    });
    LostPieces done;
    if (missing->empty() || !newest) return done;
    auto const same = is_stored_as(objects, *newest, call);
    if (!same) return tl::unexpected(same.error());
    if (!*same) return done;
    auto const local = LocalFile::open(file);
    if (!local) return tl::unexpected(local.error());
    for (auto const& tip : *missing) {
        auto const restored = restore(objects, *local, tip, call);
        if (!restored) return tl::unexpected(restored.error());
        (*restored ? done.restored : done.lost).push_back(tip.header.number);
    }
    return done;
}

}  // namespace curtail::journal
