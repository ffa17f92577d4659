// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "tensors/tensor_info.hpp"

/// HDF5 helpers that writer and reader share. Private to this library.
namespace curtail::tensors {

/// An HDF5 identifier, closed on destruction. Use only inside a Session.
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
    /// Closes now. False if HDF5 failed, for example because the disk is full.
    bool reset()
    {
        if (id_ < 0) return true;
        return close_(std::exchange(id_, H5I_INVALID_HID)) >= 0;
    }

  private:
    hid_t id_{H5I_INVALID_HID};
    Close close_{nullptr};
};

/// Exclusive use of HDF5, which is not thread-safe: holds the process-wide lock and keeps HDF5 from
/// printing errors and loading plug-ins.
class Session {
  public:
    Session();
    ~Session();
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;

  private:
    std::unique_lock<std::mutex> lock_;
    H5E_auto2_t print_{nullptr};
    void* print_data_{nullptr};
};

/// The root cause on HDF5's error stack, as HDF5 words it. Clears the stack.
[[nodiscard]] std::string take_hdf5_error();
[[nodiscard]] hid_t file_type(Dtype dtype);  ///< predefined: do not close it

/// Root attribute: SHA-256 over all tensors in order of name, each as `name dtype [d0,d1,...]\n`
/// and its bytes.
inline constexpr char const* content_attribute = "content_sha256";
[[nodiscard]] std::string content_line(TensorInfo const& info);

/// Makes the core driver of `access` read `bytes` in place, or grow it on writing, without copies.
/// `bytes` must outlive the file. Returns the unique name to open the file by (HDF5 takes two open
/// files of one name for the same file), or an empty name on failure.
[[nodiscard]] std::string use_memory(Handle const& access, std::string& bytes);

}  // namespace curtail::tensors
