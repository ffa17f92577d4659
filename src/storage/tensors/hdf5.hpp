// SPDX-License-Identifier: Apache-2.0
#pragma once

// HDF5 helpers of the reader of tensor files. Private to this library.

#include <hdf5.h>

#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "storage/tensors/tensor_info.hpp"

namespace curtail::tensors {

/// An HDF5 identifier that is closed on destruction. Create, use and destroy it only while a
/// LibraryLock exists.
class Handle {
  public:
    using Close = herr_t (*)(hid_t);
    Handle() = default;
    Handle(hid_t id, Close close) : id_(id), close_(close) {}
    ~Handle() { reset(); }
    Handle(Handle&& other) noexcept
        : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_)
    {
    }
    Handle& operator=(Handle&& other) noexcept
    {
        if (this != &other) {
            reset();
            id_ = std::exchange(other.id_, H5I_INVALID_HID);
            close_ = other.close_;
        }
        return *this;
    }
    [[nodiscard]] hid_t get() const { return id_; }
    explicit operator bool() const { return id_ >= 0; }
    /// Closes the identifier now.
    void reset()
    {
        if (id_ >= 0) close_(std::exchange(id_, H5I_INVALID_HID));
    }

  private:
    hid_t id_{H5I_INVALID_HID};
    Close close_{nullptr};
};

/// Exclusive use of HDF5, which is not thread-safe. While the object exists, it holds a
/// process-wide lock, and HDF5 neither prints errors nor loads plug-ins.
class LibraryLock {
  public:
    LibraryLock();
    ~LibraryLock();
    LibraryLock(LibraryLock const&) = delete;
    LibraryLock& operator=(LibraryLock const&) = delete;

  private:
    std::unique_lock<std::mutex> lock_;
    H5E_auto2_t print_{nullptr};
    void* print_data_{nullptr};
};

/// Returns HDF5's own text for the root cause on its error stack, and clears the stack.
[[nodiscard]] std::string take_hdf5_error();
/// Returns the HDF5 type with which files store `dtype`. It is predefined: do not close it.
[[nodiscard]] hid_t file_type(Dtype dtype);

/// Sets the file access properties `access` so that HDF5 reads `bytes` itself, not a copy, as the
/// file. The span `bytes` and its memory must outlive the file.
///
/// Returns the name under which to open the file, or an empty string on failure. The name is
/// unique, because HDF5 treats two open files with one name as the same file.
[[nodiscard]] std::string use_memory(Handle const& access, std::span<std::byte const> const& bytes);

}  // namespace curtail::tensors
