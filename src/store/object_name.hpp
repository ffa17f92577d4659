// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace curtail::store {

/// The name of one object, relative to the store's root.
///
/// Only names of the fixed forms below exist. So no name from a record can lead out of the store:
/// it has no `..`, no leading slash, no control character and a bounded length.
///
///     runs/<run>/run.json
///     runs/<run>/probe/<site>.<8 hex>-<attempt>
///     runs/<run>/commits/<8 digits>.json
///     runs/<run>/contrib/<member>/<seq>.json
///     runs/<run>/deltas/<base round>/<member>/<seq>/<part>.h5
///     runs/<run>/models/<round>/<member>-<attempt>/<part>.h5
///     runs/<run>/merge/<round>/<k>.json
///     runs/<run>/status/<site>.json
///
/// run, site: [A-Za-z0-9][A-Za-z0-9_-]{0,31}; member: <site>.<8 hex>.<1 to 8 digits>; part:
/// [a-z][a-z0-9_]{0,31}; round, seq, k, attempt: 1 to 18 digits.
class ObjectName {
  public:
    /// `protocol` if the text has none of the forms.
    [[nodiscard]] static Result<ObjectName> parse(std::string_view text);

    [[nodiscard]] std::string const& text() const { return text_; }
    [[nodiscard]] std::string_view folder() const;  ///< up to the last slash, without it
    [[nodiscard]] std::string_view file() const;    ///< after the last slash
    friend auto operator<=>(ObjectName const&, ObjectName const&) = default;

  private:
    explicit ObjectName(std::string_view text) : text_(text) {}
    std::string text_;
};

}  // namespace curtail::store
