// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/credentials_json.hpp"

#include "base/core/json.hpp"

namespace curtail::s3 {

Result<Credentials> credentials_from_json(std::string& text, std::string const& token_key,
                                          std::string const& source)
{
    auto const refuse = [&](char const* why) {
        return fail(ExitCode::data, "cannot read credentials from " + source, why,
                    "it must answer with JSON that has AccessKeyId and SecretAccessKey");
    };
    auto const parsed = json::parse(text, source, json::Dialect::strict, json::record_limits);
    wipe(text);
    // The parser's message may show a part of the text.
    if (!parsed) return refuse("the answer is not JSON");
    auto const* object = parsed->as_object();
    if (object == nullptr) return refuse("the answer is not a JSON object");
    Credentials credentials{.key_id = object->text_at("AccessKeyId"),
                            .key = Secret(object->text_at("SecretAccessKey")),
                            .token = Secret(object->text_at(token_key)),
                            .expiration = object->time_at("Expiration")};
    if (credentials.key_id.empty() || credentials.key.empty())
        return refuse("AccessKeyId or SecretAccessKey is missing");
    auto const* expiration = object->find("Expiration");
    if (expiration != nullptr && !expiration->is_null() && !credentials.expiration)
        return refuse("Expiration is not a time with a time zone");
    return credentials;
}

}  // namespace curtail::s3
