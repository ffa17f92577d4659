// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/meeting.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "protocol/records/names.hpp"

namespace curtail::bridge {
namespace {

constexpr std::size_t longest_host = 64;

template <class Record>
Result<Record> decode(std::string_view text, char const* what,
                      std::function<void(json::ObjectReader&, Record&)> const& read)
{
    auto const json = json::parse(text, what, json::Dialect::strict, json::record_limits);
    if (!json) return fail(ExitCode::protocol, json.error().what, json.error().why);
    json::ObjectReader r(*json, what, ExitCode::protocol);
    Record record;
    read(r, record);
    record.host = printable(r.text("host").substr(0, longest_host));
    record.token = r.text("token");
    bool const is_token = record.token.size() == 64 &&
                          record.token.find_first_not_of("0123456789abcdef") == std::string::npos;
    r.require(is_token, "token", "must be 64 hex digits");
    record.time = r.optional_time("time").value_or(Time{});
    if (auto error = r.finish()) return tl::unexpected(*error);
    return record;
}

}  // namespace

bool is_newer(MemberId const& one, MemberId const& other)
{
    // One commit may admit several members.
    auto const age = [](MemberId const& member) {
        return std::pair(protocol::member_parts(member).admitted, member);
    };
    return age(one) > age(other);
}

std::string announcement_name(MemberId const& member)
{
    return fmt::format("{}.json", member.value);
}

std::string invitation_name(MemberId const& older, MemberId const& newer)
{
    return fmt::format("{}/{}.json", older.value, newer.value);
}

std::string encode(Announcement const& announcement)
{
    return json::canonical(json::Object{{"host", announcement.host},
                                        {"token", announcement.token},
                                        {"time", format_time(announcement.time)}});
}

std::string encode(Invitation const& invitation)
{
    return json::canonical(json::Object{{"server", invitation.address.server},
                                        {"port", invitation.address.port},
                                        {"host", invitation.host},
                                        {"token", invitation.token},
                                        {"time", format_time(invitation.time)}});
}

Result<Announcement> decode_announcement(std::string_view text)
{
    return decode<Announcement>(text, "the announcement of a member",
                                [](json::ObjectReader&, Announcement&) {});
}

Result<Invitation> decode_invitation(std::string_view text)
{
    return decode<Invitation>(text, "the invitation of a member",
                              [](json::ObjectReader& r, Invitation& invitation) {
                                  invitation.address.server = r.text("server");
                                  invitation.address.port = r.text("port");
                              });
}

std::string make_token()
{
    std::array<unsigned char, 32> bytes{};
    std::size_t have = 0;
    while (have < bytes.size()) {
        auto const n = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
        if (n > 0) have += static_cast<std::size_t>(n);
        else if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    return hex(bytes);
}

}  // namespace curtail::bridge
