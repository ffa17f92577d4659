// SPDX-License-Identifier: Apache-2.0
#include "run/journal/divergence.hpp"

#include <algorithm>

namespace curtail::journal {
namespace {

Result<Piece> read_existing(StreamObjects const& objects, PieceNumber number,
                            CallLimits const& call)
{
    auto stored = objects.read(number, call);
    if (!stored) return tl::unexpected(stored.error());
    if (!*stored)
        return fail(
            ExitCode::temporary,
            "cannot read piece " + std::to_string(number.value) + " of " + objects.id().text(),
            "the store does not find it, but later pieces exist", "try again");
    return std::move((*stored)->piece);
}

// The offset up to which the file agrees with the piece; empty if they have no line in common.
Result<std::optional<std::int64_t>> agreement_in(LocalFile const& file, Piece const& piece)
{
    auto const local = file.read(piece.tip.header.range);
    if (!local) return tl::unexpected(local.error());
    auto const common = static_cast<std::int64_t>(common_lines(*local, piece.content));
    if (common == 0) return std::optional<std::int64_t>{};
    return std::optional(piece.tip.header.range.from + common);
}

// The last piece of the continuation of `tip` whose bytes the file has. Once the file differs, it
// differs in all later pieces, so this bisects. Returns `first` - 1 if there is none.
Result<PieceNumber> last_matching(StreamObjects const& objects, LocalFile const& file,
                                  Tip const& tip, CallLimits const& call)
{
    auto matching = tip.header.first.value - 1;
    auto other = tip.header.number.value + 1;
    while (matching + 1 < other) {
        auto const middle = matching + (other - matching) / 2;
        auto const piece = read_existing(objects, {middle}, call);
        if (!piece) return tl::unexpected(piece.error());
        auto const same = has_bytes_of(file, piece->tip);
        if (!same) return tl::unexpected(same.error());
        (*same ? matching : other) = middle;
    }
    return PieceNumber{matching};
}

// The offset up to which the file agrees with the continuation of `tip`; empty if it has no line of
// it.
Result<std::optional<std::int64_t>> agreement_with(StreamObjects const& objects,
                                                   LocalFile const& file, Tip const& tip,
                                                   CallLimits const& call)
{
    auto const last = last_matching(objects, file, tip, call);
    if (!last) return tl::unexpected(last.error());
    if (*last == tip.header.number) return std::optional(tip.header.range.to);
    auto const next = read_existing(objects, last->next(), call);
    if (!next) return tl::unexpected(next.error());
    auto more = agreement_in(file, *next);
    if (!more || *more || *last < tip.header.first) return more;
    return std::optional(next->tip.header.range.from);
}

// The first piece of the newest local file: that of the last continuation that begins with the
// file's first byte, up to `tip`.
Result<Piece> root_of(StreamObjects const& objects, Tip tip, CallLimits const& call)
{
    for (;;) {
        auto first = read_existing(objects, tip.header.first, call);
        if (!first || first->tip.header.range.from == 0 || first->tip.header.number.value == 1)
            return first;
        auto before = read_existing(objects, {first->tip.header.number.value - 1}, call);
        if (!before) return before;
        tip = before->tip;
    }
}

}  // namespace

Result<StreamEnd> read_end_of(StreamObjects const& objects, PieceNumber newest,
                              CallLimits const& call)
{
    constexpr std::int64_t most = 8;
    StreamEnd end{newest, std::nullopt, std::nullopt};
    std::optional<Error> damage;
    for (auto number = newest.value; number > 0; --number) {
        auto stored = objects.read({number}, call);
        if (!stored) return tl::unexpected(stored.error());
        if (!*stored)
            return fail(ExitCode::temporary, "cannot read the end of " + objects.id().text(),
                        "the store showed a piece and then did not find it", "try again");
        if (number == newest.value) end.digest = (*stored)->digest;
        if ((*stored)->piece) {
            end.good = (*stored)->piece->tip;
            return end;
        }
        damage = (*stored)->piece.error();
        if (newest.value - number + 1 == most) break;
    }
    if (damage) return tl::unexpected(*damage);
    return end;
}

Result<bool> has_bytes_of(LocalFile const& file, Tip const& tip)
{
    auto const& range = tip.header.range;
    if (range.to > file.size()) return false;
    return file.read(range).map(
        [&](std::string const& bytes) { return sha256(bytes) == tip.header.content; });
}

Result<std::int64_t> common_end(StreamObjects const& objects, LocalFile const& file, Tip const& tip,
                                CallLimits const& call)
{
    auto at = tip;
    for (;;) {
        auto const agreed = agreement_with(objects, file, at, call);
        if (!agreed) return tl::unexpected(agreed.error());
        if (*agreed) return **agreed;
        auto const first = read_existing(objects, at.header.first, call);
        if (!first) return tl::unexpected(first.error());
        auto const& header = first->tip.header;
        if (header.range.from == 0 || header.number.value == 1) return 0;
        // The file has nothing of this continuation. It may have the begin, which the pieces before
        // contain.
        auto before = read_existing(objects, {header.number.value - 1}, call);
        if (!before) return tl::unexpected(before.error());
        at = before->tip;
    }
}

Result<bool> is_superseded(StreamObjects const& objects, LocalFile const& file, Tip const& tip,
                           CallLimits const& call)
{
    auto root = root_of(objects, tip, call);
    while (root && root->tip.header.number.value > 1) {
        auto const before = read_existing(objects, {root->tip.header.number.value - 1}, call);
        if (!before) return tl::unexpected(before.error());
        root = root_of(objects, before->tip, call);
        if (!root) break;
        auto const agreed = agreement_in(file, *root);
        if (!agreed) return tl::unexpected(agreed.error());
        if (*agreed) return true;
    }
    if (!root) return tl::unexpected(root.error());
    return false;
}

}  // namespace curtail::journal
