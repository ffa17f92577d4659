// SPDX-License-Identifier: Apache-2.0
#include "run/journal/stream_writer.hpp"

#include <algorithm>

#include "base/core/text.hpp"
#include "run/journal/divergence.hpp"
#include "run/journal/heads.hpp"
#include "run/journal/lost_pieces.hpp"

namespace curtail::journal {
namespace {

std::string what(StreamObjects const& objects)
{
    return "cannot publish in " + objects.id().text();
}

// After a crash of the machine, a file may have some NUL bytes instead of its last lines. More is
// damage by another program, and would be stored for ever.
constexpr std::int64_t most_nul_bytes{content_limit / 4};

bool is_hole(std::string_view content)
{
    return std::ranges::count(content, '\0') > most_nul_bytes;
}

}  // namespace

StreamWriter::StreamWriter(StreamObjects objects, std::filesystem::path file, WriterOptions options)
    : objects_(std::move(objects)), file_(std::move(file)), options_(std::move(options))
{
}

Result<Pass> StreamWriter::publish(CallLimits const& call)
{
    auto const file = LocalFile::open(file_);
    if (!file) return tl::unexpected(file.error());
    if (file->size() == 0 || is_up_to_date(*file)) return Pass{};
    auto done = publish_lines(*file, call);
    remember();
    return done;
}

// Asks only the local files, so that a quiet site causes no request.
bool StreamWriter::is_up_to_date(LocalFile const& file)
{
    if (!has_read_note_) {
        has_read_note_ = true;
        auto const text = read_file_if_exists(head_file(file_), 2 * header_limit);
        if (text && *text) noted_ = decode_tip(objects_.id(), **text);
        if (noted_) known_ = noted_->header.number;
    }
    if (!noted_ || noted_->header.range.to != file.size()) return false;
    return has_bytes_of(file, *noted_).value_or(false);
}

Result<Pass> StreamWriter::publish_lines(LocalFile const& file, CallLimits const& call)
{
    constexpr int most_collisions = 4;
    Pass pass;
    if (auto whole = restore_pieces(call); !whole) return tl::unexpected(whole.error());
    for (int collisions = 0; !call.is_over();) {
        if (auto found = find_start(file, call); !found) return tl::unexpected(found.error());
        auto const unread = file.read({start_.from, start_.from + content_limit});
        if (!unread) return tl::unexpected(unread.error());
        auto const cut = next_cut(*unread);
        if (cut == 0) return pass;
        if (is_hole(std::string_view(*unread).substr(0, cut)))
            return fail(ExitCode::data, what(objects_),
                        file_.string() + " has more than " + std::to_string(most_nul_bytes) +
                            " NUL bytes after byte " + std::to_string(start_.from),
                        "stop the programs that write it, and remove these bytes");
        auto const end = start_.from + static_cast<std::int64_t>(cut);
        auto const rest = file.read({end, end + content_limit});
        if (!rest) return tl::unexpected(rest.error());
        auto const created =
            create(std::string_view(*unread).substr(0, cut), next_cut(*rest) > 0, call);
        if (!created) return tl::unexpected(created.error());
        pass.pieces += *created ? 1 : 0;
        collisions += *created ? 0 : 1;
        if (collisions == most_collisions)
            return fail(ExitCode::temporary, what(objects_),
                        "other processes publish in this stream at the same time", "try again");
    }
    pass.complete = false;
    return pass;
}

Result<bool> StreamWriter::is_start_valid(LocalFile const& file) const
{
    if (!end_ || start_.new_continuation) return false;
    return end_->good ? has_bytes_of(file, *end_->good) : true;
}

// Otherwise the stream would go on after an older piece, and would lack lines for ever.
Result<void> StreamWriter::restore_pieces(CallLimits const& call)
{
    if (known_.value == 0) return {};
    auto const exists = objects_.exists(known_, call);
    if (!exists) return tl::unexpected(exists.error());
    if (*exists) return {};
    auto const done = restore_lost_pieces(objects_, file_, call);
    if (!done) return tl::unexpected(done.error());
    end_.reset();
    known_ = done->restored.empty() ? PieceNumber{} : done->restored.back();
    return {};
}

// Finds the end of the stream unless it is known, and the place in the file after which the stream
// goes on.
Result<void> StreamWriter::find_start(LocalFile const& file, CallLimits const& call)
{
    auto const valid = is_start_valid(file);
    if (!valid) return tl::unexpected(valid.error());
    if (*valid) return {};
    end_.reset();
    auto const exists = [&](PieceNumber piece) { return objects_.exists(piece, call); };
    auto const number = find_newest(exists, known_);
    if (!number) return tl::unexpected(number.error());
    auto end = read_end_of(objects_, *number, call);
    if (!end) return tl::unexpected(end.error());
    auto start = choose_start(file, *end, call);
    if (!start) return tl::unexpected(start.error());
    known_ = *number;
    end_ = *end;
    start_ = *start;
    return {};
}

Result<Start> StreamWriter::choose_start(LocalFile const& file, StreamEnd const& end,
                                         CallLimits const& call) const
{
    if (!end.good) return Start{};
    auto const same = has_bytes_of(file, *end.good);
    if (!same) return tl::unexpected(same.error());
    if (*same) return Start{end.good->header.range.to, end.good->header.number != end.number};
    auto const common = common_end(objects_, file, *end.good, call);
    if (!common) return tl::unexpected(common.error());
    if (*common > 0) return Start{*common, true};
    auto const superseded = is_superseded(objects_, file, *end.good, call);
    if (!superseded) return tl::unexpected(superseded.error());
    if (*superseded)
        return fail(
            ExitCode::protocol, what(objects_),
            "another folder has continued this stream since " + file_.string() + " was published",
            "let only one folder poll and train the site; to publish from here again, move " +
                file_.string() + " away");
    if (options_.now() - end.good->header.time < options_.takeover_after)
        return fail(ExitCode::temporary, what(objects_),
                    "another folder published in this stream a short time ago",
                    "let only one folder poll and train the site");
    return Start{0, true};
}

Result<bool> StreamWriter::create(std::string_view content, bool more, CallLimits const& call)
{
    auto const header = next_header(*end_, start_, content, more, options_.clock, options_.now());
    auto const bytes = encode(objects_.id(), header, content);
    auto const digest = sha256(bytes);
    auto const outcome = objects_.create(header.number, bytes, call);
    if (!outcome) return tl::unexpected(outcome.error());
    if (*outcome != store::CreateOutcome::created) {
        auto const stored = objects_.read(header.number, call);
        if (!stored) return tl::unexpected(stored.error());
        if (!*stored)
            return fail(ExitCode::temporary, what(objects_),
                        "the store did not say whether it created piece " +
                            std::to_string(header.number.value),
                        "the next attempt finds out");
        if ((*stored)->digest != digest) {
            end_.reset();
            known_ = header.number;
            return false;
        }
    }
    Tip const tip{header, digest};
    // Without its header, nobody can make the piece again; that is no reason to stop.
    (void)keep_header(file_, objects_.id(), tip);
    end_ = StreamEnd{header.number, digest, tip};
    start_ = {header.range.to, false};
    known_ = header.number;
    return true;
}

void StreamWriter::remember()
{
    auto const tip = end_ ? end_->good : std::nullopt;
    if (!tip || tip == noted_ || start_.new_continuation) return;
    // Without this file, the next process searches for the newest piece.
    if (write_file(head_file(file_), encode_tip(objects_.id(), *tip))) noted_ = tip;
}

}  // namespace curtail::journal
