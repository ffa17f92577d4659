// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <string>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail::store {

/// The name of one object: a path relative to the store's root.
///
/// Every name has one of the forms below. So a name from a record cannot lead out of the store: it
/// contains no `..` and no leading slash. It also contains no control character and has at most 256
/// bytes. docs/formats-store.md explains each form.
///
///     runs/<run>/run.json
///     runs/<run>/probe/<site>.<8 hex>-<attempt>
///     runs/<run>/commits/<8 digits>.json
///     runs/<run>/contrib/<member>/<seq>.json
///     runs/<run>/deltas/<base round>/<member>/<seq>/<part>.h5
///     runs/<run>/models/<round>/<member>-<attempt>/<part>.h5
///     runs/<run>/merge/<round>/<k>.json
///     runs/<run>/status/<site>.json
///     runs/<run>/closing/<site>/<n>.json
///     runs/<run>/journal/<site>/<stream>/<8 digits>.jsonl
///     runs/<run>/mpi/<member>.json
///     runs/<run>/mpi/<member>/<member>.json
///     runs/<run>/mpi/check/<member>.json
///     runs/<run>/mpi/check/<member>/<member>.json
///
/// The placeholders, as regular expressions:
///
///     run, site                            [A-Za-z0-9][A-Za-z0-9_-]{0,31}
///     member                               <site>[.][0-9a-f]{8}[.][0-9]{1,8}
///     part (such as w0)                    [a-z][a-z0-9_]{0,31}
///     stream                               poller|signals|trainer|metrics
///     8 hex                                [0-9a-f]{8}
///     8 digits                             [0-9]{8}
///     round, base round, seq, k, n, attempt   [0-9]{1,18}
class ObjectName {
  public:
    /// Checks that `text` has one of the forms. Fails with `protocol` if it has none.
    [[nodiscard]] static Result<ObjectName> parse(std::string_view text);

    [[nodiscard]] std::string const& text() const { return text_; }
    [[nodiscard]] std::string_view folder() const;  ///< the part before the last slash
    [[nodiscard]] std::string_view file() const;    ///< the part after the last slash
    friend auto operator<=>(ObjectName const&, ObjectName const&) = default;

  private:
    explicit ObjectName(std::string_view text) : text_(text) {}
    std::string text_;
};

/// The name of a folder of a store, such as `runs/demo/models`: the beginning of the names of all
/// objects in it. The first segment is `runs`. Each other segment consists of letters, digits, '.',
/// '_' and '-', and begins with a letter or digit. So the name cannot lead out of the store.
class ObjectFolder {
  public:
    /// Fails with `protocol` if `text` is no such name.
    [[nodiscard]] static Result<ObjectFolder> parse(std::string_view text);

    [[nodiscard]] std::string const& text() const { return text_; }  ///< without a slash at the end
    friend auto operator<=>(ObjectFolder const&, ObjectFolder const&) = default;

  private:
    explicit ObjectFolder(std::string_view text) : text_(text) {}
    std::string text_;
};

}  // namespace curtail::store
