// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/core/ids.hpp"
#include "base/core/json.hpp"
#include "base/core/text.hpp"

namespace curtail::json {
namespace {

template <class T>
std::optional<T> value_as(Value const& value)
{
    if constexpr (std::is_same_v<T, double>) return value.as_number();
    auto const* const found = std::get_if<T>(&value.variant());
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

}  // namespace

ObjectReader::ObjectReader(Value const& value, std::string where, ExitCode code)
    : object_(value.as_object()), where_(std::move(where)), code_(code)
{
    if (object_ == nullptr)
        error_ =
            Error{code_, where_, std::string("must be an object, found ") + value.type_name(), {}};
    else requested_.reserve(object_->members().size());
}

std::string ObjectReader::place(std::string const& key) const
{
    return where_ + ": " + prefix_ + key;
}

void ObjectReader::reject(Error error)
{
    if (!error_) error_ = std::move(error);
}

void ObjectReader::wrong_type(std::string const& key, Value const& found, char const* wanted)
{
    reject(
        {code_, place(key), std::string("must be ") + wanted + ", found " + found.type_name(), {}});
}

Value const* ObjectReader::take(std::string const& key, bool required, char const* wanted)
{
    requested_.push_back(key);
    auto const* found = object_ == nullptr ? nullptr : object_->find(key);
    if (found == nullptr && required)
        reject({code_, place(key), "is missing", std::string("add it (") + wanted + ")"});
    return found;
}

template <class T>
std::optional<T> ObjectReader::read(std::string const& key, bool required, char const* wanted)
{
    auto const* found = take(key, required, wanted);
    if (found == nullptr) return std::nullopt;
    if (auto value = value_as<T>(*found)) return value;
    wrong_type(key, *found, wanted);
    return std::nullopt;
}

template <class T>
std::optional<T> ObjectReader::read_optional(std::string const& key, char const* wanted)
{
    auto const* found = object_ == nullptr ? nullptr : object_->find(key);
    if (found == nullptr || !found->is_null()) return read<T>(key, false, wanted);
    requested_.push_back(key);
    return std::nullopt;
}

std::string ObjectReader::text(std::string const& key, std::optional<std::string> fallback)
{
    auto found = read<std::string>(key, !fallback, "text");
    return std::move(found).value_or(std::move(fallback).value_or(""));
}

std::int64_t ObjectReader::integer(std::string const& key, std::optional<std::int64_t> fallback)
{
    return read<std::int64_t>(key, !fallback, "an integer").value_or(fallback.value_or(0));
}

double ObjectReader::number(std::string const& key, std::optional<double> fallback)
{
    return read<double>(key, !fallback, "a number").value_or(fallback.value_or(0));
}

bool ObjectReader::boolean(std::string const& key, std::optional<bool> fallback)
{
    return read<bool>(key, !fallback, "true or false").value_or(fallback.value_or(false));
}

std::optional<std::string> ObjectReader::optional_text(std::string const& key)
{
    return read_optional<std::string>(key, "text");
}

std::optional<std::int64_t> ObjectReader::optional_integer(std::string const& key)
{
    return read_optional<std::int64_t>(key, "an integer");
}

std::optional<double> ObjectReader::optional_number(std::string const& key)
{
    return read_optional<double>(key, "a number");
}

std::optional<Time> ObjectReader::optional_time(std::string const& key)
{
    auto const found = optional_text(key);
    if (!found) return std::nullopt;
    auto const time = parse_time(*found);
    require(time.has_value(), key, "must be a time");
    return time ? std::optional(*time) : std::nullopt;
}

std::size_t ObjectReader::one_of(std::string const& key, std::vector<std::string> const& words,
                                 std::optional<std::size_t> fallback)
{
    auto const word = text(key, fallback ? std::optional(words.at(*fallback)) : std::nullopt);
    auto const it = std::find(words.begin(), words.end(), word);
    if (it != words.end()) return static_cast<std::size_t>(it - words.begin());
    auto const shown = is_plain_name(word) ? "\"" + word + "\"" : shell_quoted(word);
    reject({code_, place(key), "unknown value " + shown, suggest_name(word, words)});
    return fallback.value_or(0);
}

Value const* ObjectReader::any(std::string const& key, bool required)
{
    return take(key, required, "a value");
}

Array const& ObjectReader::list(std::string const& key, bool required)
{
    static Array const empty;
    auto const* found = take(key, required, "a list");
    if (found == nullptr) return empty;
    if (auto const* value = found->as_array()) return *value;
    wrong_type(key, *found, "a list");
    return empty;
}

void ObjectReader::object(std::string const& key, std::function<void(ObjectReader&)> const& read,
                          bool required)
{
    auto const* found = take(key, required, "an object");
    if (found == nullptr) return;
    if (found->as_object() == nullptr) return wrong_type(key, *found, "an object");
    read_inner(key, *found, read);
}

void ObjectReader::each(std::string const& key, std::function<void(ObjectReader&)> const& read,
                        bool required)
{
    std::size_t index = 0;
    for (auto const& element : list(key, required)) {
        auto const name = key + "[" + std::to_string(index++) + "]";
        if (element.as_object() == nullptr) return wrong_type(name, element, "an object");
        read_inner(name, element, read);
    }
}

void ObjectReader::read_inner(std::string const& name, Value const& value,
                              std::function<void(ObjectReader&)> const& read)
{
    ObjectReader inner(value, where_, code_);
    inner.prefix_ = prefix_ + name + ".";
    read(inner);
    if (auto error = inner.finish()) reject(std::move(*error));
}

void ObjectReader::require(bool good, std::string_view key, std::string_view rule)
{
    if (!good) reject({code_, place(std::string(key)), std::string(rule), {}});
}

std::optional<Error> ObjectReader::finish()
{
    // Unknown keys come first: a mistyped key is usually the reason why another one is missing.
    if (object_ != nullptr) {
        for (auto const& [key, value] : object_->members()) {
            if (std::find(requested_.begin(), requested_.end(), key) != requested_.end()) continue;
            auto const shown = is_plain_name(key) ? key : shell_quoted(key);
            return Error{code_, place(shown), "unknown key", suggest_name(key, requested_)};
        }
    }
    return error_;
}

}  // namespace curtail::json
