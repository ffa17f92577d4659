// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "tensors/tensor_info.hpp"

namespace curtail::tensors {

/// What a reader accepts. It always refuses a file with anything other than groups, plain tensors
/// and hard links: soft, external or user-defined links, external or virtual storage, references,
/// variable-length or compound types.
struct ReadLimits {
    std::int64_t objects{10'000};               ///< tensors and groups
    std::int64_t bytes{std::int64_t{1} << 40};  ///< all tensors together
    bool compressed{false};  ///< accept chunked storage with the filters deflate and shuffle
};

/// An open tensor file. Failures have code `data`; a missing file has `no_input`.
class TensorReader {
  public:
    /// Opens and checks a file. If the file carries a content digest (TensorWriter adds one),
    /// compares that too.
    [[nodiscard]] static Result<TensorReader> open(std::filesystem::path const& path,
                                                   ReadLimits const& limits = {});
    /// The same for bytes in memory. `source` names them in errors. Does not compare the content
    /// digest: verify received bytes against their own digest before you open them.
    [[nodiscard]] static Result<TensorReader> from_bytes(std::string bytes,
                                                         std::string const& source,
                                                         ReadLimits const& limits = {});
    ~TensorReader();
    TensorReader(TensorReader&&) noexcept;
    TensorReader& operator=(TensorReader&&) noexcept;

    [[nodiscard]] std::vector<TensorInfo> const& list() const;  ///< sorted by name
    [[nodiscard]] TensorInfo const* find(std::string_view name) const;
    /// The error for a missing tensor names the nearest one.
    [[nodiscard]] Result<TensorInfo> info(std::string_view name) const;
    [[nodiscard]] json::Object const& attributes() const;
    /// Reads all elements into `out`. `dtype` and the size of `out` must be the tensor's own:
    /// nothing is converted.
    [[nodiscard]] Result<void> read_into(std::string_view name, Dtype dtype,
                                         std::span<std::byte> out) const;
    template <class T>
    [[nodiscard]] Result<std::vector<T>> read(std::string_view name) const
    {
        auto const found = info(name);
        if (!found) return tl::unexpected(found.error());
        if (auto good = expect_dtype(*found, dtype_of<T>()); !good)
            return tl::unexpected(good.error());
        std::vector<T> values(static_cast<std::size_t>(found->elements()));
        if (auto done = read_into(name, dtype_of<T>(), std::as_writable_bytes(std::span(values)));
            !done)
            return tl::unexpected(done.error());
        return values;
    }

  private:
    struct Impl;
    explicit TensorReader(std::unique_ptr<Impl> impl);
    [[nodiscard]] Result<void> expect_dtype(TensorInfo const& info, Dtype expected) const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace curtail::tensors
