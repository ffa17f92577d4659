// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

// Memory of many megabytes for values that are written once. With pages of 4 KiB, the kernel needs
// longer to provide such memory than the processor to copy the values.
namespace curtail {

/// Asks the kernel for huge pages in `memory`, which nothing has been written to yet. Without huge
/// pages, the memory works as well, only more slowly.
void prefer_huge_pages(std::span<std::byte> memory);

/// Lets the kernel take the pages of `memory` back when it needs some, until they are written to
/// again. Nothing may be read before that, as the bytes then have any values.
void let_kernel_reclaim(std::span<std::byte> memory);

/// Empties `values` and reserves memory for `size` of them, in huge pages if the memory is new.
template <class T>
void reserve_large(std::vector<T>& values, std::size_t size)
{
    values.clear();
    if (values.capacity() >= size) return;
    values.reserve(size);
    prefer_huge_pages(std::as_writable_bytes(std::span(values.data(), size)));
}

/// Returns `size` zeros, in huge pages if possible.
template <class T>
[[nodiscard]] std::vector<T> large_vector(std::size_t size)
{
    std::vector<T> values;
    reserve_large(values, size);
    values.resize(size);
    return values;
}

/// Memory that is aligned for direct I/O (base/core/direct_io.hpp), in huge pages if it is large
/// enough and the system has them. Copies share it.
class AlignedMemory {
  public:
    AlignedMemory() = default;
    /// The bytes are not initialized. Throws std::bad_alloc if there is not enough memory.
    explicit AlignedMemory(std::size_t bytes);
    /// Uses other memory of this size, which must be aligned too. It keeps its content.
    AlignedMemory(std::shared_ptr<std::byte> memory, std::size_t bytes)
        : memory_(std::move(memory)), size_(bytes)
    {
    }
    /// Returns zeros, so the memory has all its pages.
    [[nodiscard]] static AlignedMemory zeros(std::size_t bytes);
    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

  private:
    std::shared_ptr<std::byte> memory_;
    std::size_t size_{0};
};

}  // namespace curtail
