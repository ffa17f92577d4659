// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "tensors/tensor_info.hpp"

namespace curtail::tensors {

/// Collects tensors and attributes, then writes them into a file. Equal contents give bit-identical
/// files, whatever the order of the calls. Does not copy the elements: they must stay valid and
/// unchanged until encode() or write() has returned.
class TensorWriter {
  public:
    /// Adds a tensor. `bytes` are its elements in row-major order. Throws std::invalid_argument if
    /// the name is invalid or already used, the shape is invalid, or the number of bytes does not
    /// fit the shape.
    void add(std::string name, Dtype dtype, Shape shape, std::span<std::byte const> bytes);
    template <class T>
    void add(std::string name, Shape shape, std::span<T const> values)
    {
        add(std::move(name), dtype_of<T>(), std::move(shape), std::as_bytes(values));
    }
    /// Adds an attribute of the file's root: an integer, a floating-point number or a string.
    /// Throws std::invalid_argument for any other type or an invalid name.
    void attribute(std::string name, json::Value value);

    /// Returns the contents of the file.
    [[nodiscard]] Result<std::string> encode() const;
    /// Writes the file `path`, and replaces an existing one atomically (core/files.hpp).
    [[nodiscard]] Result<void> write(std::filesystem::path const& path) const;

  private:
    struct Entry {
        TensorInfo info;
        std::span<std::byte const> bytes;
    };
    friend struct FileWriter;
    [[nodiscard]] std::string digest() const;  ///< value of content_attribute (tensors/hdf5.hpp)
    [[nodiscard]] std::size_t file_size_estimate() const;
    std::vector<Entry> entries_;  ///< sorted by name
    json::Object attributes_;
};

}  // namespace curtail::tensors
