// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>

#include "base/core/json.hpp"
#include "storage/tensors/tensor_info.hpp"

namespace curtail::tensors {

/// Collects tensors and attributes, then encodes a file of them. Equal contents give bit-identical
/// files, whatever the order of the calls. Does not copy the elements: they must stay valid and
/// unchanged until encode() has returned.
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

    /// Returns the contents of the file. Throws std::invalid_argument if a tensor has the name of
    /// another one's group, or an attribute has more than 64 KiB.
    [[nodiscard]] std::string encode() const;

  private:
    struct Entry {
        TensorInfo info;
        std::span<std::byte const> bytes;
    };
    std::map<std::string, Entry> entries_;
    std::map<std::string, json::Value> attributes_;
};

}  // namespace curtail::tensors
