// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/json.hpp"

namespace curtail::report {

/// A value in the report's document, which must outlive the view. What the document does not have,
/// and what has another type, reads as null.
class View {
  public:
    View() = default;
    View(json::Value const& value) : value_(&value) {}
    /// Returns the member `key` of an object.
    View operator[](std::string_view key) const
    {
        auto const* object = value_ == nullptr ? nullptr : value_->as_object();
        auto const* member = object == nullptr ? nullptr : object->find(key);
        return member == nullptr ? View() : View(*member);
    }
    /// Returns an element of a list.
    View operator[](std::size_t i) const
    {
        auto const* list = value_ == nullptr ? nullptr : value_->as_array();
        return list == nullptr || i >= list->size() ? View() : View((*list)[i]);
    }
    /// Tells whether there is a value other than null.
    explicit operator bool() const { return value_ != nullptr && !value_->is_null(); }
    /// Tells whether the document has the value null here, and not nothing.
    [[nodiscard]] bool is_null() const { return value_ != nullptr && value_->is_null(); }
    /// Returns an integer or a real number.
    [[nodiscard]] std::optional<double> number() const
    {
        return value_ == nullptr ? std::nullopt : value_->as_number();
    }
    [[nodiscard]] double number_or(double otherwise) const { return number().value_or(otherwise); }
    [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(number_or(0)); }
    [[nodiscard]] bool is_true() const
    {
        return value_ != nullptr && value_->as_bool() != nullptr && *value_->as_bool();
    }
    /// Returns the text, which is empty if there is none.
    [[nodiscard]] std::string text() const
    {
        return value_ == nullptr || value_->as_text() == nullptr ? "" : *value_->as_text();
    }
    [[nodiscard]] json::Value value() const { return value_ == nullptr ? json::Value() : *value_; }
    /// Returns the elements of a list.
    [[nodiscard]] std::vector<View> list() const
    {
        auto const* list = value_ == nullptr ? nullptr : value_->as_array();
        return list == nullptr ? std::vector<View>()
                               : std::vector<View>(list->begin(), list->end());
    }
    /// Returns the members of an object.
    [[nodiscard]] std::vector<std::pair<std::string, View>> members() const
    {
        auto const* object = value_ == nullptr ? nullptr : value_->as_object();
        if (object == nullptr) return {};
        return {object->members().begin(), object->members().end()};
    }

  private:
    json::Value const* value_{nullptr};
};

}  // namespace curtail::report
