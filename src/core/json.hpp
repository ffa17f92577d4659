// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.hpp"

/// JSON as plain values. RapidJSON parses and prints them; no other library includes RapidJSON.
namespace curtail::json {

class Value;
using Array = std::vector<Value>;

/// Members in the order of insertion.
class Object {
  public:
    Object() = default;
    Object(std::initializer_list<std::pair<std::string, Value>> members);
    /// Takes members with distinct names, without checking that they are distinct.
    [[nodiscard]] static Object of_distinct(std::vector<std::pair<std::string, Value>> members);
    [[nodiscard]] Value const* find(std::string_view key) const;
    Object& set(std::string key, Value value);  ///< replaces an existing member
    void erase(std::string_view key);
    [[nodiscard]] std::vector<std::pair<std::string, Value>> const& members() const;
    [[nodiscard]] bool empty() const;
    friend bool operator==(Object const&, Object const&);

  private:
    std::vector<std::pair<std::string, Value>> members_;
};

/// null, bool, integer, real, text, array or object. Integers outside int64 become reals.
class Value {
  public:
    using Variant =
        std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>;
    Value() : v_(nullptr) {}
    Value(std::nullptr_t) : v_(nullptr) {}
    Value(bool b) : v_(b) {}
    template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>) Value(I i)
        : v_(static_cast<std::int64_t>(i))
    {
    }
    Value(double d) : v_(d) {}
    Value(char const* s) : v_(std::string(s)) {}
    Value(std::string_view s) : v_(std::string(s)) {}
    Value(std::string s) : v_(std::move(s)) {}
    Value(Array a) : v_(std::move(a)) {}
    Value(Object o) : v_(std::move(o)) {}
    template <class T>
    Value(std::optional<T> const& o) : v_(nullptr)
    {
        if (o) *this = Value(*o);
    }

    [[nodiscard]] bool is_null() const { return std::holds_alternative<std::nullptr_t>(v_); }
    [[nodiscard]] bool const* as_bool() const { return std::get_if<bool>(&v_); }
    [[nodiscard]] std::int64_t const* as_integer() const { return std::get_if<std::int64_t>(&v_); }
    [[nodiscard]] std::optional<double> as_number() const;  ///< of an integer or a real
    [[nodiscard]] std::string const* as_text() const { return std::get_if<std::string>(&v_); }
    [[nodiscard]] Array const* as_array() const { return std::get_if<Array>(&v_); }
    [[nodiscard]] Object const* as_object() const { return std::get_if<Object>(&v_); }
    [[nodiscard]] Variant const& variant() const { return v_; }
    /// For people: "null", "true or false", "integer", "number", "text", "list" or "object".
    [[nodiscard]] char const* type_name() const;
    friend bool operator==(Value const&, Value const&) = default;

  private:
    Variant v_;
};

inline std::vector<std::pair<std::string, Value>> const& Object::members() const
{
    return members_;
}
inline bool Object::empty() const { return members_.empty(); }

struct Limits {
    std::size_t bytes{std::size_t{256} * 1024};
    int depth{32};
};
inline constexpr Limits record_limits{std::size_t{256} * 1024, 32};
inline constexpr Limits response_limits{std::size_t{8} * 1024 * 1024, 32};
inline constexpr Limits document_limits{std::size_t{64} * 1024 * 1024, 32};

enum class Dialect {
    strict,   ///< RFC 8259
    comments  ///< for files that people write: allows // and /* */ comments and trailing commas
};

/// Parses one document. Rejects invalid UTF-8, unpaired surrogates, NUL bytes, duplicate keys, NaN,
/// and more depth or bytes than `limits`. Errors name `source`, line and column; code `data`.
[[nodiscard]] Result<Value> parse(std::string_view text, std::string const& source,
                                  Dialect dialect = Dialect::strict,
                                  Limits limits = document_limits);
/// Parses a file; code `no_input` if it cannot be read.
[[nodiscard]] Result<Value> parse_file(std::filesystem::path const& path,
                                       Dialect dialect = Dialect::comments,
                                       Limits limits = document_limits);

/// The same, but a missing file gives an empty optional instead of an error.
[[nodiscard]] Result<std::optional<Value>> parse_file_if_exists(std::filesystem::path const& path,
                                                                Dialect dialect = Dialect::strict,
                                                                Limits limits = document_limits);

[[nodiscard]] std::string to_string(Value const& value);  ///< one line
[[nodiscard]] std::string to_pretty(Value const& value);  ///< indented, for people
/// Sorts keys bytewise, adds no spaces and allows only integers: equal content gives equal bytes.
/// Throws on a real number.
[[nodiscard]] std::string canonical(Value const& value);
/// One line that is safe inside <script>: `<`, `>`, `&`, U+2028 and U+2029 appear as \uXXXX.
[[nodiscard]] std::string to_script(Value const& value);

/// Reads one object against a strict schema. Request every allowed key, then call finish(): it
/// returns the first error (a missing key, a wrong type, a broken rule) or an unknown key with the
/// nearest known name. After an error, getters return defaults.
///
///     ObjectReader r(value, "inputs/runs/demo.json", ExitCode::config);
///     Config c{.rounds = r.integer("rounds"), .rate = r.number("rate_hz", 1.0)};
///     if (auto error = r.finish()) return tl::unexpected(*error);
class ObjectReader {
  public:
    /// `where` names the file (and place) in errors, which have code `code`.
    ObjectReader(Value const& value, std::string where, ExitCode code = ExitCode::data);

    std::string text(std::string const& key, std::optional<std::string> fallback = {});
    std::int64_t integer(std::string const& key, std::optional<std::int64_t> fallback = {});
    double number(std::string const& key, std::optional<double> fallback = {});
    bool boolean(std::string const& key, std::optional<bool> fallback = {});
    std::optional<std::string> optional_text(std::string const& key);  ///< empty if absent or null
    std::optional<std::int64_t> optional_integer(std::string const& key);
    std::optional<double> optional_number(std::string const& key);
    /// The index of the value in a fixed set of words.
    std::size_t one_of(std::string const& key, std::vector<std::string> const& words,
                       std::optional<std::size_t> fallback = {});
    Value const* any(std::string const& key, bool required = false);  ///< nullptr if absent
    Array const& list(std::string const& key, bool required = true);
    /// Calls `read` with a reader for a nested object, then finishes that reader. Does nothing if
    /// the key is absent and not required.
    void object(std::string const& key, std::function<void(ObjectReader&)> const& read,
                bool required = true);
    /// The same for each element of a list of objects.
    void each(std::string const& key, std::function<void(ObjectReader&)> const& read,
              bool required = true);

    void require(bool good, std::string const& key,
                 std::string const& rule);  ///< e.g. require(c.n > 0, "n", "must be positive")
    void reject(Error error);               ///< an error of the caller
    [[nodiscard]] std::string place(
        std::string const& key) const;  ///< "inputs/runs/demo.json: sites.key"
    [[nodiscard]] bool good() const { return !error_; }
    [[nodiscard]] std::optional<Error> finish();

  private:
    Value const* take(std::string const& key, bool required, char const* wanted);
    void wrong_type(std::string const& key, Value const& found, char const* wanted);
    void adopt(std::optional<Error> const& error);

    Object const* object_{nullptr};
    std::string where_;
    std::string prefix_;
    ExitCode code_;
    std::vector<std::string> requested_;
    std::optional<Error> error_;
};

/// Reads the record in `path`: a strict JSON file with one object, from which `read` makes the
/// result. An empty optional if the file does not exist.
template <class Read>
[[nodiscard]] auto read_record(std::filesystem::path const& path, Read const& read,
                               Limits limits = record_limits)
    -> Result<std::optional<std::invoke_result_t<Read const&, ObjectReader&>>>
{
    using Record = std::optional<std::invoke_result_t<Read const&, ObjectReader&>>;
    auto const value = parse_file_if_exists(path, Dialect::strict, limits);
    if (!value) return tl::unexpected(value.error());
    if (!*value) return Record{};
    ObjectReader reader(**value, path.string());
    Record record(read(reader));
    if (auto error = reader.finish()) return tl::unexpected(*error);
    return record;
}

}  // namespace curtail::json
