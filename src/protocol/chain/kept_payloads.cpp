// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/kept_payloads.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/core/direct_io.hpp"
#include "base/core/files.hpp"
#include "base/core/new_files.hpp"
#include "base/core/text.hpp"
#include "protocol/upkeep/payload_name.hpp"

namespace curtail::chain {
namespace {

Result<void> write_pieces(std::filesystem::path const& path, Pieces const& bytes)
{
    auto const failed = [&](int error) {
        return fail(ExitCode::io, "cannot write " + path.string(), std::strerror(error));
    };
    Fd const fd = open_new(path, O_WRONLY, 0666);
    if (!fd) return failed(errno);
    if (int const error = write_pieces(fd.get(), bytes)) return failed(error);
    return {};
}

// The round that would begin with the payload; 0 if its name does not tell.
Round round_of(protocol::PartRef const& part)
{
    return upkeep::model_round(part.name).value_or(Round{});
}

}  // namespace

std::filesystem::path KeptPayloads::path_of(protocol::PartRef const& part) const
{
    return folder_ / (std::to_string(round_of(part).value) + "-" + part.part + "-" +
                      part.sha256.hex() + ".h5");
}

Result<void> KeptPayloads::keep(protocol::PartRef const& part, Pieces const& bytes)
{
    std::lock_guard const lock(mutex_);
    auto const path = path_of(part);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return {};
    if (auto made = make_folder(folder_); !made) return made;
    return replace_file(path,
                        [&](auto const& temporary) { return write_pieces(temporary, bytes); });
}

void KeptPayloads::keep_only(std::vector<protocol::PartRef> const& parts)
{
    std::lock_guard const lock(mutex_);
    std::error_code ignored;
    if (!std::filesystem::exists(path_of(parts.front()), ignored)) return;
    std::set<std::filesystem::path> kept;
    for (auto const& part : parts) kept.insert(path_of(part));
    std::vector<std::filesystem::path> others;
    for (auto const& entry : std::filesystem::directory_iterator(folder_, ignored)) {
        // The round in the name of a copy; 0 for another name.
        Round const round{leading_integer(entry.path().filename().string()).value_or(0)};
        bool const file = entry.is_regular_file(ignored);
        if (file && !kept.contains(entry.path()) && round <= round_of(parts.front()))
            others.push_back(entry.path());
    }
    for (auto const& path : others) std::filesystem::remove(path, ignored);
}

Fd KeptPayloads::open(protocol::PartRef const& part) const
{
    return Fd(::open(path_of(part).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

std::optional<std::string> KeptPayloads::find(protocol::PartRef const& part)
{
    std::lock_guard const lock(mutex_);
    auto content = read_file(path_of(part), part.bytes);
    bool const whole = content && static_cast<std::int64_t>(content->size()) == part.bytes &&
                       sha256(*content) == part.sha256;
    return whole ? std::optional(std::move(*content)) : std::nullopt;
}

}  // namespace curtail::chain
