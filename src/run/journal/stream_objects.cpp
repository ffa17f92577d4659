// SPDX-License-Identifier: Apache-2.0
#include "run/journal/stream_objects.hpp"

#include "base/core/text.hpp"

namespace curtail::journal {

Result<std::optional<Time>> StreamObjects::stored_at(PieceNumber number,
                                                     CallLimits const& call) const
{
    auto const name = piece_name(id_, number);
    if (!name) return tl::unexpected(name.error());
    return store_->stat(*name, call).map([](auto const& info) {
        return info ? std::optional(info->modified) : std::nullopt;
    });
}

Result<bool> StreamObjects::exists(PieceNumber number, CallLimits const& call) const
{
    return stored_at(number, call).map([](auto const& time) { return time.has_value(); });
}

Result<std::optional<std::string>> StreamObjects::bytes(PieceNumber number,
                                                        CallLimits const& call) const
{
    auto const name = piece_name(id_, number);
    if (!name) return tl::unexpected(name.error());
    auto const content = store_->get(*name, Bytes{header_limit + content_limit}, call);
    if (!content) return tl::unexpected(content.error());
    if (!*content) return std::optional<std::string>{};
    return std::optional(std::string(store::text_of(**content)));
}

Result<std::optional<StoredPiece>> StreamObjects::read_once(PieceNumber number,
                                                            CallLimits const& call) const
{
    auto const content = bytes(number, call);
    if (!content && content.error().code == ExitCode::data) {
        auto error = content.error();
        error.code = ExitCode::protocol;
        return std::optional(StoredPiece{std::nullopt, tl::unexpected(error)});
    }
    if (!content) return tl::unexpected(content.error());
    if (!*content) return std::optional<StoredPiece>{};
    return std::optional(StoredPiece{sha256(**content), decode(id_, number, **content)});
}

Result<std::optional<StoredPiece>> StreamObjects::read(PieceNumber number,
                                                       CallLimits const& call) const
{
    constexpr int tries = 3;  // a transfer may damage bytes
    for (int i = 1;; ++i) {
        auto stored = read_once(number, call);
        bool const is_damaged = stored && *stored && !(*stored)->piece;
        if (!is_damaged || i == tries || call.is_over()) return stored;
    }
}

Result<std::set<PieceNumber>> StreamObjects::listed(CallLimits const& call) const
{
    auto const first = piece_name(id_, {1});
    if (!first) return tl::unexpected(first.error());
    auto const folder = store::ObjectFolder::parse(first->folder());
    if (!folder) return tl::unexpected(folder.error());
    std::set<PieceNumber> numbers;
    auto const add = [&](store::ListedObject const& object) {
        auto const name = store::ObjectName::parse(object.name);
        if (name && name->folder() == folder->text())
            numbers.insert({leading_integer(name->file()).value_or(0)});
        return true;
    };
    if (auto done = store_->list(*folder, "", add, call); !done)
        return tl::unexpected(done.error());
    return numbers;
}

Result<store::CreateOutcome> StreamObjects::create(PieceNumber number, std::string_view bytes,
                                                   CallLimits const& call) const
{
    auto const name = piece_name(id_, number);
    if (!name) return tl::unexpected(name.error());
    return store_->create(*name, store::bytes_of(bytes), call);
}

}  // namespace curtail::journal
