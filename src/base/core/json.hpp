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

#include "base/core/result.hpp"
#include "base/core/time.hpp"

// JSON documents as plain C++ values. RapidJSON parses and prints the documents. Only json.cpp
// includes RapidJSON.

namespace curtail::json {

class Value;
struct Member;
using Array = std::vector<Value>;

/// A JSON object. Its members keep the order in which they were inserted.
class Object {
  public:
    Object() = default;
    /// Moves the values out of `members`.
    Object(std::initializer_list<Member> members);
    /// Makes an object from `members`. The caller must ensure that their names are distinct. This
    /// function does not check the names.
    [[nodiscard]] static Object of_distinct(std::vector<std::pair<std::string, Value>> members);
    /// Returns a null pointer if there is no such member.
    [[nodiscard]] Value const* find(std::string_view key) const;
    // Each of these five functions returns the value of `key` if such a member exists and has the
    // type in the function's name. If not, the result is empty. number_at() accepts an integer too.
    [[nodiscard]] std::string text_at(std::string_view key) const;
    [[nodiscard]] std::optional<std::int64_t> integer_at(std::string_view key) const;
    [[nodiscard]] std::optional<double> number_at(std::string_view key) const;
    [[nodiscard]] std::optional<bool> bool_at(std::string_view key) const;
    [[nodiscard]] std::optional<Time> time_at(std::string_view key) const;  ///< see parse_time()
    Object& set(std::string key, Value value);  ///< adds a member, or replaces its value
    void erase(std::string_view key);           ///< does nothing if there is no such member
    [[nodiscard]] std::vector<std::pair<std::string, Value>> const& members() const;
    [[nodiscard]] bool empty() const;
    friend bool operator==(Object const&, Object const&);

  private:
    std::vector<std::pair<std::string, Value>> members_;
};

/// A JSON value: null, bool, integer, real number, text, array or object. parse() turns an integer
/// outside the range of int64 into a real number. Each as_...() function returns a null pointer or
/// an empty optional if the value has another type.
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
    /// Returns the value as a double if it is an integer or a real number. Returns an empty
    /// optional for any other type.
    [[nodiscard]] std::optional<double> as_number() const;
    [[nodiscard]] std::string const* as_text() const { return std::get_if<std::string>(&v_); }
    [[nodiscard]] Array const* as_array() const { return std::get_if<Array>(&v_); }
    [[nodiscard]] Object const* as_object() const { return std::get_if<Object>(&v_); }
    [[nodiscard]] Object* as_object() { return std::get_if<Object>(&v_); }
    [[nodiscard]] Variant const& variant() const { return v_; }
    /// Returns the name of the type for messages: "null", "true or false", "integer", "number",
    /// "text", "list" or "object".
    [[nodiscard]] char const* type_name() const;
    friend bool operator==(Value const&, Value const&) = default;

  private:
    Variant v_;
};

/// A member in the list from which an Object is made.
struct Member {
    template <class T>
    Member(std::string name, T&& v) : key(std::move(name)), value(std::forward<T>(v))
    {
    }
    std::string key;
    mutable Value value;  ///< the elements of an initializer list are constant
};

inline std::vector<std::pair<std::string, Value>> const& Object::members() const
{
    return members_;
}
inline bool Object::empty() const { return members_.empty(); }

/// The largest document that parse() accepts.
struct Limits {
    std::size_t bytes{std::size_t{256} * 1024};
    int depth{32};  ///< levels of nested arrays and objects
};
/// Limits for records, and for other small files and responses.
inline constexpr Limits record_limits{std::size_t{256} * 1024, 32};
/// Limits for larger responses of servers.
inline constexpr Limits response_limits{std::size_t{8} * 1024 * 1024, 32};
/// Limits for all other documents.
inline constexpr Limits document_limits{std::size_t{64} * 1024 * 1024, 32};

/// Which texts count as JSON.
enum class Dialect {
    strict,  ///< RFC 8259, without a byte order mark
    /// For files that people write. Allows trailing commas, and comments: // and /* */. Ignores a
    /// byte order mark at the beginning.
    comments
};

/// Parses one document. Fails with `data` if `text` is not valid in `dialect`, or exceeds `limits`.
/// Duplicate keys, NaN, NUL bytes, invalid UTF-8 and unpaired surrogates make a document invalid.
/// The message names `source`. It gives the line and column of the error, unless `text` exceeds
/// `limits.bytes`.
[[nodiscard]] Result<Value> parse(std::string_view text, std::string const& source,
                                  Dialect dialect = Dialect::strict,
                                  Limits limits = document_limits);
/// Parses a file. Fails like read_file() (base/core/files.hpp) or parse().
[[nodiscard]] Result<Value> parse_file(std::filesystem::path const& path,
                                       Dialect dialect = Dialect::comments,
                                       Limits limits = document_limits);

/// Parses a configuration file like parse_file(). Fails with `config` if it is not valid JSON.
[[nodiscard]] Result<Value> parse_settings(std::filesystem::path const& path);

/// Parses a file like parse_file(). Returns an empty optional if the file does not exist.
[[nodiscard]] Result<std::optional<Value>> parse_file_if_exists(std::filesystem::path const& path,
                                                                Dialect dialect = Dialect::strict,
                                                                Limits limits = document_limits);

/// Returns a time as text, see format_time(), or null.
[[nodiscard]] Value time_or_null(std::optional<Time> const& time);
/// Returns the member `value` of an identifier or a quantity, or null.
template <class T>
[[nodiscard]] Value value_or_null(std::optional<T> const& of)
{
    return of ? Value(of->value) : Value();
}

/// Returns null if `text` is empty.
[[nodiscard]] Value text_or_null(std::string text);

/// Makes an array of `element(item)` for each of `items`.
template <class Items, class Element>
[[nodiscard]] Array array_of(Items const& items, Element const& element)
{
    Array out;
    for (auto const& item : items) out.emplace_back(element(item));
    return out;
}

/// Prints a value on one line. NaN and infinite numbers become null. The result of this and the
/// other functions is valid UTF-8: a text becomes valid_utf8() of it.
[[nodiscard]] std::string to_string(Value const& value);
/// Prints a value on several indented lines, for people, as printable_json(). The last line ends
/// with a newline.
[[nodiscard]] std::string to_pretty(Value const& value);
/// Returns whether a value is a real number or contains one.
[[nodiscard]] bool has_real(Value const& value);
/// Prints a value so that equal content gives equal bytes: keys are sorted bytewise, and there are
/// no spaces. Throws std::logic_error if has_real() returns true for the value.
[[nodiscard]] std::string canonical(Value const& value);
/// Prints a value on one line that is safe inside <script>: `<`, `>`, `&`, U+2028 and U+2029 appear
/// as \uXXXX.
[[nodiscard]] std::string to_script(Value const& value);

/// Reads one object, and rejects unknown keys. For every allowed key, call a function that reads
/// the key. Then call finish().
///
/// finish() returns at most one error. If the object has an unknown key, the error suggests the
/// nearest known key. Otherwise, finish() returns the first error that was found: a missing key, a
/// wrong type or a broken rule.
///
/// A function that finds an error returns its parameter `fallback`. Without a `fallback`, the
/// function returns zero, an empty value or a null pointer.
///
///     ObjectReader r(value, "inputs/runs/demo.json", ExitCode::config);
///     Config c{.rounds = r.integer("rounds"), .rate = r.number("rate_hz", 1.0)};
///     if (auto error = r.finish()) return tl::unexpected(*error);
class ObjectReader {
  public:
    /// Reads `value`, which must outlive the reader. Error messages name `where`, which is a file
    /// or a place in it. Errors have the code `code`.
    ObjectReader(Value const& value, std::string where, ExitCode code = ExitCode::data);

    // Each of these four functions returns the value of `key`. The value must have the type in the
    // name of the function; number() accepts an integer too. Without `fallback`, the key is
    // required.
    std::string text(std::string const& key, std::optional<std::string> fallback = {});
    std::int64_t integer(std::string const& key, std::optional<std::int64_t> fallback = {});
    double number(std::string const& key, std::optional<double> fallback = {});
    bool boolean(std::string const& key, std::optional<bool> fallback = {});
    // Each of these four functions returns an empty optional if the key is absent or its value is
    // null. For optional_time(), see parse_time().
    std::optional<std::string> optional_text(std::string const& key);
    std::optional<std::int64_t> optional_integer(std::string const& key);
    std::optional<double> optional_number(std::string const& key);
    std::optional<Time> optional_time(std::string const& key);
    /// Returns the index in `words` of the text at `key`. `fallback` is an index too; without it,
    /// the key is required.
    std::size_t one_of(std::string const& key, std::vector<std::string> const& words,
                       std::optional<std::size_t> fallback = {});
    /// Returns the value of `key`. The value may have any type. Returns a null pointer if the key
    /// is absent.
    Value const* any(std::string const& key, bool required = false);
    /// Returns the list at `key`. Returns an empty list if the key is absent.
    Array const& list(std::string const& key, bool required = true);
    /// Calls `read` with a reader for the nested object at `key`. Then calls finish() of that
    /// reader, and records any error. Does nothing if the key is absent and not required.
    void object(std::string const& key, std::function<void(ObjectReader&)> const& read,
                bool required = true);
    /// Does the same as object() for each element of the list at `key`. The elements must be
    /// objects.
    void each(std::string const& key, std::function<void(ObjectReader&)> const& read,
              bool required = true);

    /// Records an error if `good` is false. Example: `require(c.n > 0, "n", "must be positive")`.
    void require(bool good, std::string_view key, std::string_view rule);
    void reject(Error error);  ///< records an error that the caller found
    /// Returns the text that names a key in messages, such as "inputs/runs/demo.json: data.folder".
    [[nodiscard]] std::string place(std::string const& key) const;
    [[nodiscard]] bool error_free() const { return !error_; }
    /// Returns the error, as the comment of this class describes. Returns an empty optional if
    /// there is no error.
    [[nodiscard]] std::optional<Error> finish();

  private:
    Value const* take(std::string const& key, bool required, char const* wanted);
    void wrong_type(std::string const& key, Value const& found, char const* wanted);
    /// Returns the value of `key`. Returns an empty optional if it is absent or of another type.
    template <class T>
    std::optional<T> read(std::string const& key, bool required, char const* wanted);
    /// Reads the value of `key` like read(). A value that is null counts as absent.
    template <class T>
    std::optional<T> read_optional(std::string const& key, char const* wanted);
    void read_inner(std::string const& name, Value const& value,
                    std::function<void(ObjectReader&)> const& read);

    Object const* object_{nullptr};
    std::string where_;
    std::string prefix_;
    ExitCode code_;
    std::vector<std::string> requested_;
    std::optional<Error> error_;
};

/// Reads the file `path`, which must contain one object in strict JSON. Calls `read` with a reader
/// for the object, and returns the result of `read`. Returns an empty optional if the file does not
/// exist. Fails like parse_file_if_exists(), or with the error of ObjectReader::finish().
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
