// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "tensors/tensor_info.hpp"

namespace curtail::tensors {

/// Collects tensors and attributes, then writes them. Equal content gives equal bytes, in whatever
/// order it was added. The elements are not copied: they must stay valid and unchanged until
/// encode() or write() has returned.
class TensorWriter {
  public:
    /// `bytes` are the elements in row-major order. Throws on a bad or duplicate name, more than
    /// max_rank dimensions or a wrong number of bytes.
    void add(std::string name, Dtype dtype, Shape shape, std::span<std::byte const> bytes);
    template <class T>
    void add(std::string name, Shape shape, std::span<T const> values)
    {
        add(std::move(name), dtype_of<T>(), std::move(shape), std::as_bytes(values));
    }
    /// An integer, number or text on the file's root. Throws on any other type.
    void attribute(std::string name, json::Value value);

    /// The file as bytes in memory.
    [[nodiscard]] Result<std::string> encode() const;
    /// Replaces `path` atomically (core/files.hpp).
    [[nodiscard]] Result<void> write(std::filesystem::path const& path) const;

  private:
    struct Entry {
        TensorInfo info;
        std::span<std::byte const> bytes;
    };
    friend struct FileWriter;
    [[nodiscard]] std::string digest() const;  ///< of the content, in hex
    [[nodiscard]] std::size_t file_size_estimate() const;
    std::vector<Entry> entries_;  ///< sorted by name
    json::Object attributes_;
};

}  // namespace curtail::tensors
