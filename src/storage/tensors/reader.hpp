// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/core/json.hpp"
#include "base/core/result.hpp"
#include "storage/tensors/tensor_info.hpp"

namespace curtail::tensors {

/// The limits for a file that a reader accepts. Whatever the limits are, a file may contain only
/// groups, tensors and hard links. A reader refuses all other links, external or virtual storage,
/// references, and variable-length or compound types (docs/formats-tensors.md).
struct FileLimits {
    std::int64_t objects{10'000};               ///< greatest number of tensors and groups in a file
    std::int64_t bytes{std::int64_t{1} << 40};  ///< greatest size of all tensors together, in bytes
    /// Whether to accept chunked storage with the filters deflate and shuffle.
    bool compressed{false};
};

/// An open tensor file. open() fails with `no_input` if the file is missing. Every other error of
/// this class is `data`.
class TensorReader {
  public:
    /// Opens and checks the file `path`. If the file stores a digest of its contents, also checks
    /// this digest. TensorWriter always stores one.
    [[nodiscard]] static Result<TensorReader> open(std::filesystem::path const& path,
                                                   FileLimits const& limits = {});
    /// Opens and checks a file whose contents are `bytes`. `source` names it in error messages.
    /// Does not check the digest that the file stores. Before this call, compare the SHA-256 of
    /// `bytes` with the digest that is recorded outside the file.
    [[nodiscard]] static Result<TensorReader> from_bytes(std::string bytes,
                                                         std::string const& source,
                                                         FileLimits const& limits = {});
    /// The same without a copy of `bytes`, which must outlive the reader.
    [[nodiscard]] static Result<TensorReader> from_view(std::span<std::byte const> bytes,
                                                        std::string const& source,
                                                        FileLimits const& limits = {});
    ~TensorReader();
    TensorReader(TensorReader&&) noexcept;
    TensorReader& operator=(TensorReader&&) noexcept;

    [[nodiscard]] std::vector<TensorInfo> const& list() const;  ///< sorted by name
    /// Returns a description of the tensor, or null if the file does not have it.
    [[nodiscard]] TensorInfo const* find(std::string_view name) const;
    /// Describes the tensor. If the file does not have it, the error message names the tensor with
    /// the nearest name.
    [[nodiscard]] Result<TensorInfo> info(std::string_view name) const;
    /// Returns the position of a tensor's first element in the file, in bytes. Returns an empty
    /// optional if the file has no such tensor, or if its elements are not stored in one piece.
    [[nodiscard]] std::optional<std::int64_t> offset(std::string_view name) const;
    /// Returns the attributes of the file's root, without the digest.
    [[nodiscard]] json::Object const& attributes() const;
    /// Reads all elements of a tensor into `out`. Converts nothing: fails with `data` unless
    /// `dtype` and the size of `out` are those of the tensor.
    [[nodiscard]] Result<void> read_into(std::string_view name, Dtype dtype,
                                         std::span<std::byte> out) const;
    /// Reads all elements of a tensor. Fails with `data` unless T is the type of its elements.
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
    [[nodiscard]] static Result<TensorReader> load_bytes(std::unique_ptr<Impl> impl,
                                                         FileLimits const& limits);
    [[nodiscard]] Result<void> expect_dtype(TensorInfo const& info, Dtype expected) const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace curtail::tensors
