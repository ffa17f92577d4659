// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"

/// Named tensors in HDF5 files: weights, deltas, snapshots, token shards. Format:
/// docs/formats-tensors.md. Every function may be called from any thread: calls into HDF5 take
/// turns.
namespace curtail::tensors {

/// Element types of a file, little-endian.
enum class Dtype { float32, float64, int32, int64, uint16, uint8 };
[[nodiscard]] std::size_t size_of(Dtype dtype);  ///< bytes of one element
[[nodiscard]] char const* name_of(Dtype dtype);  ///< "float32", ...
inline constexpr int max_rank = 4;

template <class T>
[[nodiscard]] constexpr Dtype dtype_of()
{
    if constexpr (std::is_same_v<T, float>) return Dtype::float32;
    else if constexpr (std::is_same_v<T, double>) return Dtype::float64;
    else if constexpr (std::is_same_v<T, std::int32_t>) return Dtype::int32;
    else if constexpr (std::is_same_v<T, std::int64_t>) return Dtype::int64;
    else if constexpr (std::is_same_v<T, std::uint16_t>) return Dtype::uint16;
    else {
        static_assert(std::is_same_v<T, std::uint8_t>, "no such element type in a tensor file");
        return Dtype::uint8;
    }
}

using Shape = std::vector<std::int64_t>;  ///< empty: a scalar

struct TensorInfo {
    std::string name;  ///< may hold `/`: groups of the file, as in `weights/lm_head.weight`
    Dtype dtype{};
    Shape shape;
    [[nodiscard]] std::int64_t elements() const;
    [[nodiscard]] std::int64_t bytes() const;
    friend bool operator==(TensorInfo const&, TensorInfo const&) = default;
};

/// Gathers tensors and attributes, then writes them. Equal content gives equal bytes, whatever the
/// order of the calls. The elements are not copied: they must stay alive and unchanged until
/// encode() or write() has returned.
class TensorWriter {
  public:
    /// `bytes` are the elements, row by row. Throws on a bad or repeated name, more than 4
    /// dimensions or a wrong number of bytes.
    void add(std::string name, Dtype dtype, Shape shape, std::span<std::byte const> bytes);
    template <class T>
    void add(std::string name, Shape shape, std::span<T const> values)
    {
        add(std::move(name), dtype_of<T>(), std::move(shape), std::as_bytes(values));
    }
    /// An integer, number or text on the file's root. Throws on another kind.
    void attribute(std::string name, json::Value value);

    /// The file as bytes in memory.
    [[nodiscard]] Result<std::string> encode() const;
    /// Replaces `path` as one act (core/files.hpp).
    [[nodiscard]] Result<void> write(std::filesystem::path const& path) const;

  private:
    struct Entry {
        TensorInfo info;
        std::span<std::byte const> bytes;
    };
    friend struct FileWriter;
    [[nodiscard]] std::string digest() const;  ///< of the content, in hex
    std::vector<Entry> entries_;               ///< sorted by name
    json::Object attributes_;
};

/// What a reader accepts. A file with anything else than groups, plain tensors and hard links is
/// always refused: soft, external and user-defined links, external or virtual storage, references,
/// variable-length and compound types.
struct ReadLimits {
    std::int64_t objects{10'000};               ///< tensors and groups
    std::int64_t bytes{std::int64_t{1} << 40};  ///< all tensors together
    bool compressed{false};  ///< chunked storage with the filters deflate and shuffle is allowed
};

/// An open tensor file. Failures have code `data`, a missing file `no_input`.
class TensorReader {
  public:
    /// Opens and checks a file; the digest of its content too, if it carries one (files of
    /// TensorWriter do).
    [[nodiscard]] static Result<TensorReader> open(std::filesystem::path const& path,
                                                   ReadLimits const& limits = {});
    /// The same for bytes in memory. `source` names them in errors. The content's digest is not
    /// looked at: whoever received bytes has compared their own digest before (never open what was
    /// not verified).
    [[nodiscard]] static Result<TensorReader> from_bytes(std::string bytes,
                                                         std::string const& source,
                                                         ReadLimits const& limits = {});
    ~TensorReader();
    TensorReader(TensorReader&&) noexcept;
    TensorReader& operator=(TensorReader&&) noexcept;

    [[nodiscard]] std::vector<TensorInfo> const& list() const;  ///< sorted by name
    [[nodiscard]] TensorInfo const* find(std::string_view name) const;
    [[nodiscard]] Result<TensorInfo> info(
        std::string_view name) const;  ///< a missing tensor is an error that names the nearest
    [[nodiscard]] json::Object const& attributes() const;
    /// All elements into `out`. Type and number of bytes must be the tensor's own: nothing is
    /// converted.
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
    [[nodiscard]] Result<void> expect_dtype(TensorInfo const& info, Dtype wanted) const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace curtail::tensors
