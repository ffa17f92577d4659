// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/files.hpp"

namespace curtail::snapshot {

/// Memory for direct I/O: aligned to a block of the file (tensors::block_bytes), in huge pages
/// where the system has them, and zero at first.
class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    /// Throws std::bad_alloc if there is not enough memory.
    explicit AlignedBuffer(std::size_t bytes);
    /// Uses other memory of this size, which must be aligned too. It keeps its content.
    AlignedBuffer(std::shared_ptr<std::byte> memory, std::size_t bytes)
        : memory_(std::move(memory)), size_(bytes)
    {
    }
    [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

  private:
    std::shared_ptr<std::byte> memory_;
    std::size_t size_{0};
};

/// A file whose bytes are overwritten in place, past the page cache where the file system allows
/// it.
class DirectFile {
  public:
    /// Opens an existing regular file.
    [[nodiscard]] static Result<DirectFile> open(std::filesystem::path const& path);
    /// Writes `bytes` from the position `offset` on. The address of `bytes`, its size and `offset`
    /// must be multiples of tensors::block_bytes. Fails with `io`.
    [[nodiscard]] Result<void> write(std::span<std::byte const> bytes, std::int64_t offset) const;
    /// Returns once everything that was written would survive a loss of power. Fails with `io`.
    [[nodiscard]] Result<void> sync() const;

  private:
    DirectFile(Fd file, std::filesystem::path path) : file_(std::move(file)), path_(std::move(path))
    {
    }
    Fd file_;
    std::filesystem::path path_;
};

}  // namespace curtail::snapshot
