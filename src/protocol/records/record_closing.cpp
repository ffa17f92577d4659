// SPDX-License-Identifier: Apache-2.0
#include "protocol/records/names.hpp"
#include "protocol/records/record_fields.hpp"

// Closings.
namespace curtail::protocol {

EncodedRecord encode(Closing const& c)
{
    json::Value commit;
    if (c.commit)
        commit =
            json::Object{{"number", c.commit->number.value}, {"sha256", c.commit->sha256.hex()}};
    auto encoded = fields::finish_with_self(json::Object{{"format", record_format},
                                                         {"run", c.run.value},
                                                         {"site", c.site.value},
                                                         {"n", c.number},
                                                         {"commit", std::move(commit)},
                                                         {"heads", fields::array_of(c.heads)},
                                                         {"time", to_unix_ms(c.time)}});
    auto const read = decode_closing(encoded.bytes, closing_name(c.site, c.number));
    return fields::valid(fields::if_valid(std::move(encoded), read));
}

Result<Closing> decode_closing(std::string_view bytes, std::string const& name)
{
    return fields::decode<Closing>(bytes, name, [&](json::ObjectReader& r, Closing& c) {
        c.run = {fields::plain_name(r, "run")};
        c.site = {fields::plain_name(r, "site")};
        c.number = fields::count(r, "n", 1);
        fields::require_name(r, name, closing_name(c.site, c.number));
        if (!fields::is_null(r, "commit"))
            r.object("commit", [&](json::ObjectReader& o) {
                c.commit = {{fields::count(o, "number", 1)}, fields::digest(o, "sha256")};
            });
        r.each("heads", [&](json::ObjectReader& o) { fields::head(o, c.heads); });
        c.time = fields::time(r, "time");
    });
}

}  // namespace curtail::protocol
