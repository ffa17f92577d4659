// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/signature.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <stdexcept>

#include "base/core/digest.hpp"
#include "base/core/text.hpp"

namespace curtail::s3 {
namespace {

std::string hmac(std::string_view key, std::string_view text)
{
    std::string result(EVP_MAX_MD_SIZE, '\0');
    unsigned int size = 0;
    auto const* const done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                  reinterpret_cast<unsigned char const*>(text.data()), text.size(),
                                  reinterpret_cast<unsigned char*>(result.data()), &size);
    if (done == nullptr) throw std::runtime_error("OpenSSL cannot compute an HMAC");
    result.resize(size);
    return result;
}

std::string canonical_query(std::vector<std::pair<std::string, std::string>> const& query)
{
    std::vector<std::string> pairs;
    pairs.reserve(query.size());
    for (auto const& [name, value] : query)
        pairs.push_back(encode(name, false) + "=" + encode(value, false));
    std::sort(pairs.begin(), pairs.end());
    return fmt::format("{}", fmt::join(pairs, "&"));
}

// The date of the scope, YYYYMMDD, and the time of the request, YYYYMMDDThhmmssZ.
std::pair<std::string, std::string> stamps(Time now)
{
    auto const day = std::chrono::floor<std::chrono::days>(now);
    std::chrono::year_month_day const date{day};
    std::chrono::hh_mm_ss const time{std::chrono::floor<std::chrono::seconds>(now - day)};
    auto const stamp =
        fmt::format("{:04}{:02}{:02}", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    return {stamp, fmt::format("{}T{:02}{:02}{:02}Z", stamp, time.hours().count(),
                               time.minutes().count(), time.seconds().count())};
}

// Sorted by name, as the signature requires.
std::vector<http::HeaderField> headers_to_sign(SignatureInput const& input,
                                               Credentials const& credentials,
                                               std::string const& time)
{
    auto headers = input.headers;
    for (auto& header : headers) header.name = lower_case(header.name);
    headers.push_back({"host", input.host});
    headers.push_back({"x-amz-content-sha256", input.body_sha256});
    headers.push_back({"x-amz-date", time});
    if (!credentials.token.empty())
        headers.push_back({"x-amz-security-token", credentials.token.reveal()});
    std::ranges::sort(headers, {}, &http::HeaderField::name);
    return headers;
}

std::string signing_key(Credentials const& credentials, std::string const& day,
                        std::string const& region)
{
    auto start = std::string("AWS4") + credentials.key.reveal();
    auto key = hmac(hmac(hmac(hmac(start, day), region), "s3"), "aws4_request");
    wipe(start);
    return key;
}

}  // namespace

std::string encode(std::string_view text, bool keep_slashes)
{
    constexpr std::string_view unreserved =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    std::string out;
    for (char const c : text) {
        if (unreserved.find(c) != std::string_view::npos || (keep_slashes && c == '/')) out += c;
        else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

SignedRequest sign(SignatureInput const& input, Credentials const& credentials,
                   std::string const& region, Time now)
{
    auto const [day, time] = stamps(now);
    auto headers = headers_to_sign(input, credentials, time);
    std::string lines;
    std::string names;
    for (auto const& [name, value] : headers) {
        lines += name + ":" + std::string(trim(value)) + "\n";
        names += (names.empty() ? "" : ";") + name;
    }
    auto const path = encode(input.path, true);
    auto const query = canonical_query(input.query);
    auto const canonical = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", http::name_of(input.method), path,
                                       query, lines, names, input.body_sha256);
    auto const scope = fmt::format("{}/{}/s3/aws4_request", day, region);
    auto const to_sign =
        fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, sha256(canonical).hex());
    auto key = signing_key(credentials, day, region);
    auto const mac = hmac(key, to_sign);
    wipe(key);
    auto const signature = hex({reinterpret_cast<unsigned char const*>(mac.data()), mac.size()});
    std::erase_if(headers, [](auto const& header) { return header.name == "host"; });
    headers.push_back(
        {"authorization",
         fmt::format("AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={},Signature={}",
                     credentials.key_id, scope, names, signature)});
    return {path + (query.empty() ? "" : "?" + query), std::move(headers)};
}

}  // namespace curtail::s3
