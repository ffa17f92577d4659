// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"

// Signs of life.
namespace curtail::rounds {

Encoded encode(SiteStatus const& status)
{
    return fields::finish_with_self(json::Object{{"format", record_format},
                                                 {"member", status.member.value},
                                                 {"tip", status.tip.value},
                                                 {"time", to_unix_ms(status.time)}});
}

Result<SiteStatus> decode_status(std::string_view bytes, std::string const& name)
{
    auto object = fields::open_with_self(bytes, name);
    if (!object) return tl::unexpected(object.error());
    json::Value const value(std::move(*object));
    json::ObjectReader r(value, name, ExitCode::protocol);
    SiteStatus status;
    fields::format(r);
    status.member = fields::member(r, "member");
    status.tip = {fields::count(r, "tip", 1)};
    status.time = fields::time(r, "time");
    if (auto error = r.finish()) return tl::unexpected(*error);
    fields::require_name(r, name, status_name(member_parts(status.member).process.site));
    if (auto error = r.finish()) return tl::unexpected(*error);
    return status;
}

}  // namespace curtail::rounds
