// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"

// Signs of life.
namespace curtail::protocol {

EncodedRecord encode(SiteStatus const& status)
{
    auto encoded = fields::finish_with_self(json::Object{{"format", record_format},
                                                         {"member", status.member.value},
                                                         {"tip", status.tip.value},
                                                         {"time", to_unix_ms(status.time)}});
    auto const read =
        decode_status(encoded.bytes, status_name(member_parts(status.member).process.site));
    return fields::valid(fields::if_valid(std::move(encoded), read));
}

Result<SiteStatus> decode_status(std::string_view bytes, std::string const& name)
{
    return fields::decode<SiteStatus>(bytes, name, [&](json::ObjectReader& r, SiteStatus& status) {
        status.member = fields::member(r, "member");
        status.tip = {fields::count(r, "tip", 1)};
        status.time = fields::time(r, "time");
        if (r.error_free())
            fields::require_name(r, name, status_name(member_parts(status.member).process.site));
    });
}

}  // namespace curtail::protocol
