// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/digest.hpp"
#include "core/json.hpp"
#include "rounds/record.hpp"

/// Writing and reading of fields that several records share. Private to record_*.cpp.
namespace curtail::rounds::fields {

/// Not every JSON reader represents greater integers exactly.
inline constexpr std::int64_t integer_limit = std::int64_t{1} << 53;

[[nodiscard]] json::Value of(PartRef const& part);
[[nodiscard]] json::Value of(std::vector<PartRef> const& parts);

/// Canonical bytes; with_self adds the digest of the bytes without `self` and `sig`.
[[nodiscard]] Encoded finish(json::Object const& record);
[[nodiscard]] Encoded finish_with_self(json::Object record);

/// Checks size, JSON and canonical form. Errors name the object `name`.
[[nodiscard]] Result<json::Object> open(std::string_view bytes, std::string const& name);
/// Also checks `self` and `sig`, and removes both.
[[nodiscard]] Result<json::Object> open_with_self(std::string_view bytes, std::string const& name);

/// Requires least <= n < integer_limit.
[[nodiscard]] std::int64_t count(json::ObjectReader& r, std::string const& key,
                                 std::int64_t least = 0);
[[nodiscard]] Digest digest(json::ObjectReader& r, std::string const& key);
[[nodiscard]] Ranges ranges(json::ObjectReader& r, std::string const& key);
[[nodiscard]] MemberId member(json::ObjectReader& r, std::string const& key);
[[nodiscard]] double real(json::ObjectReader& r, std::string const& key);
[[nodiscard]] Time time(json::ObjectReader& r, std::string const& key);
[[nodiscard]] PartRef part(json::ObjectReader& r);
[[nodiscard]] std::vector<PartRef> parts(json::ObjectReader& r, std::string const& key);
/// Requires record_format.
void format(json::ObjectReader& r);
/// A field of the format that this version does not use.
void only_null(json::ObjectReader& r, std::string const& key);
/// Requires that the record is stored under its own name.
void require_name(json::ObjectReader& r, std::string const& name, std::string const& right);

}  // namespace curtail::rounds::fields
