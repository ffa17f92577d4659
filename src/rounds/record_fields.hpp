// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/digest.hpp"
#include "core/json.hpp"
#include "rounds/record.hpp"

/// Fields that several records share, written and read. For the record_*.cpp of this room.
namespace curtail::rounds::fields {

inline constexpr std::int64_t integer_limit =
    std::int64_t{1} << 53;  ///< greater ones are not integers to every JSON reader

[[nodiscard]] json::Value of(PartRef const& part);
[[nodiscard]] json::Value of(std::vector<PartRef> const& parts);

/// Canonical bytes; with_self adds the digest over the bytes without `self` and `sig`.
[[nodiscard]] Encoded finish(json::Object const& record);
[[nodiscard]] Encoded finish_with_self(json::Object record);

/// Size, JSON, canonical form. `name` is the object's, for errors.
[[nodiscard]] Result<json::Object> open(std::string_view bytes, std::string const& name);
/// The same, and `self` and `sig`, which it takes out.
[[nodiscard]] Result<json::Object> open_with_self(std::string_view bytes, std::string const& name);

[[nodiscard]] std::int64_t count(json::ObjectReader& r, std::string const& key,
                                 std::int64_t least = 0);  ///< least <= n < 2^53
[[nodiscard]] Digest digest(json::ObjectReader& r, std::string const& key);
[[nodiscard]] Ranges ranges(json::ObjectReader& r, std::string const& key);
[[nodiscard]] MemberId member(json::ObjectReader& r, std::string const& key);
[[nodiscard]] double real(json::ObjectReader& r, std::string const& key);
[[nodiscard]] Time time(json::ObjectReader& r, std::string const& key);
[[nodiscard]] PartRef part(json::ObjectReader& r);
[[nodiscard]] std::vector<PartRef> parts(json::ObjectReader& r, std::string const& key);
void format(json::ObjectReader& r);  ///< must be record_format
void only_null(json::ObjectReader& r,
               std::string const& key);  ///< a field of the format that this version leaves empty
void require_name(json::ObjectReader& r, std::string const& name,
                  std::string const& right);  ///< a record stands under its own name

}  // namespace curtail::rounds::fields
