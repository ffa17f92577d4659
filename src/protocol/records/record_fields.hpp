// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/core/digest.hpp"
#include "base/core/json.hpp"
#include "protocol/records/record.hpp"

// Writes and reads the fields that several records share. Private to record_*.cpp.
//
// A function with a parameter `key` reads the field `key` of the object that `r` reads. part()
// reads the fields of a PartRef from this object; they must state this part. If a field is missing
// or invalid, the function records an error in the reader and returns a default value.
namespace curtail::protocol::fields {

/// Returns the JSON of a payload, without or within a list that has no other entry.
[[nodiscard]] json::Object of(PartRef const& part);
[[nodiscard]] json::Value list_of(PartRef const& part);

/// Returns the JSON of journal heads. Those of a commit also name the site.
[[nodiscard]] json::Array array_of(JournalHeads const& heads);
[[nodiscard]] json::Array array_of(std::map<SiteId, JournalHeads> const& heads);
/// Reads one entry of such an array and adds it. Records an error unless the entries are in order.
void head(json::ObjectReader& r, JournalHeads& heads);
void head(json::ObjectReader& r, std::map<SiteId, JournalHeads>& heads);

/// Returns the record in canonical form, and the digest of these bytes.
[[nodiscard]] EncodedRecord finish(json::Object record);
/// Adds the field `self`, then does the same as finish(). `self` is the digest of the canonical
/// form without this field.
[[nodiscard]] EncodedRecord finish_with_self(json::Object record);

/// Parses a record. Fails with `protocol` if `bytes` is longer than `limit`, is not a JSON object,
/// contains a real number, or is not in canonical form. `name` names the record in error messages.
[[nodiscard]] Result<json::Object> open(std::string_view bytes, std::string const& name,
                                        std::size_t limit = record_bytes_limit);
/// Does the same as open(), then removes the field `self`. Fails with `protocol` if `self` is not
/// the digest of the rest. Fails with `data` if the record has another format.
[[nodiscard]] Result<json::Object> open_with_self(std::string_view bytes, std::string const& name,
                                                  std::size_t limit = record_bytes_limit);

/// Reads a record that has the fields `format` and `self`. Opens it as open_with_self() does, then
/// calls `read` with a reader and the record. Fails with the reader's error.
template <class Record, class Read>
[[nodiscard]] Result<Record> decode(std::string_view bytes, std::string const& name,
                                    std::size_t limit, Read const& read);
template <class Record, class Read>
[[nodiscard]] Result<Record> decode(std::string_view bytes, std::string const& name,
                                    Read const& read);

/// Reads an integer from `least` to `most`. Some JSON readers round integers over max_integer.
[[nodiscard]] std::int64_t count(json::ObjectReader& r, std::string const& key,
                                 std::int64_t least = 0, std::int64_t most = max_integer);
[[nodiscard]] Digest digest(json::ObjectReader& r, std::string const& key);
[[nodiscard]] Ranges ranges(json::ObjectReader& r, std::string const& key);
[[nodiscard]] MemberId member(json::ObjectReader& r, std::string const& key);
/// Reads a finite number >= 0 in the form of exact().
[[nodiscard]] double real(json::ObjectReader& r, std::string const& key);
/// Does the same for a number in `range`.
[[nodiscard]] double real(json::ObjectReader& r, std::string const& key, Range const& range);
/// Reads a time in milliseconds since 1970.
[[nodiscard]] Time time(json::ObjectReader& r, std::string const& key);
[[nodiscard]] PartRef part(json::ObjectReader& r, std::string_view right);
/// Reads the field `parts`: a list with this part only.
[[nodiscard]] PartRef only_part(json::ObjectReader& r, std::string_view right);
/// Reads the field `format`, which must be record_format.
void format(json::ObjectReader& r);
/// Reads a name: a site or a run.
[[nodiscard]] std::string plain_name(json::ObjectReader& r, std::string const& key);
/// Reads a text for people, of at most text_limit bytes.
[[nodiscard]] std::string text(json::ObjectReader& r, std::string const& key);
/// Returns true if the field `key` is null. Records an error if it is missing.
[[nodiscard]] bool is_null(json::ObjectReader& r, std::string const& key);

/// Returns the fields that state the terms.
[[nodiscard]] json::Object of(Terms const& terms);
/// Whether terms must be consistent with each other, or may belong to others that are not known.
enum class Together { consistent, unknown };
/// Reads the fields that of(Terms) writes. They are fields of `r` itself.
[[nodiscard]] Terms terms(json::ObjectReader& r, Together together = Together::consistent);

/// A field whose values differ in two records, also inside objects: those have names `key.inner`.
/// Null: there is no such field.
struct Difference {
    std::string key;
    json::Value left;
    json::Value right;
};
[[nodiscard]] std::vector<Difference> differences(json::Object const& left,
                                                  json::Object const& right,
                                                  std::string const& prefix = "");
/// Writes a number, a flag or a short text for people; of another value, `other`.
[[nodiscard]] std::string to_text(json::Value const& value);
/// Records an error unless `name` equals `right`. The record is stored under `name`; its content
/// demands the name `right`.
void require_name(json::ObjectReader& r, std::string const& name, std::string const& right);

/// Returns `encoded` if a reader accepts it, as `read` tells.
template <class Record>
Result<EncodedRecord> if_valid(EncodedRecord encoded, Result<Record> const& read)
{
    if (!read) return tl::unexpected(read.error());
    return encoded;
}

/// Returns the record. Throws std::logic_error if no reader accepts it.
[[nodiscard]] EncodedRecord valid(Result<EncodedRecord> encoded);

template <class Record, class Read>
Result<Record> decode(std::string_view bytes, std::string const& name, std::size_t limit,
                      Read const& read)
{
    auto object = open_with_self(bytes, name, limit);
    if (!object) return tl::unexpected(object.error());
    json::Value const value(std::move(*object));
    json::ObjectReader r(value, name, ExitCode::protocol);
    Record record;
    format(r);
    read(r, record);
    if (auto error = r.finish()) return tl::unexpected(*error);
    return record;
}

template <class Record, class Read>
Result<Record> decode(std::string_view bytes, std::string const& name, Read const& read)
{
    return decode<Record>(bytes, name, record_bytes_limit, read);
}

}  // namespace curtail::protocol::fields
