// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "tensors/tensor_file.hpp"

/// What writer and reader share of HDF5. Private to this room.
namespace curtail::tensors {

/// An HDF5 identifier; closed when it goes. Use only while a Session lives.
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
    /// Closes now; false if HDF5 could not (a full disk shows here).
    bool reset()
    {
        if (id_ < 0) return true;
        return close_(std::exchange(id_, H5I_INVALID_HID)) >= 0;
    }

  private:
    hid_t id_{H5I_INVALID_HID};
    Close close_{nullptr};
};

/// A turn at the library, which is not safe for threads: holds the process-wide lock, keeps HDF5
/// from printing its errors and from loading plug-ins.
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

/// The root cause on HDF5's error stack, in its words; clears the stack.
[[nodiscard]] std::string take_hdf5_error();
[[nodiscard]] hid_t file_type(Dtype dtype);  ///< predefined, not to be closed
/// `name` can be a path in a file: components of printable ASCII, none empty, `.` or `..`; at most
/// 255 bytes.
[[nodiscard]] bool is_tensor_name(std::string_view name);

/// Root attribute: SHA-256 over all tensors in order of name, each as `name dtype [d0,d1,...]\n`
/// and its bytes.
inline constexpr char const* content_attribute = "content_sha256";
[[nodiscard]] std::string content_line(TensorInfo const& info);

/// Makes the core driver of `access` work on `bytes` itself, without copies: it reads what is
/// there, or grows it as it writes. `bytes` must outlive the file. Answers the name to open it by
/// (HDF5 takes two open files of one name for the same); empty: failed.
[[nodiscard]] std::string use_memory(Handle const& access, std::string& bytes);

/// What a file holds, after every check of ReadLimits.
struct FileContent {
    std::vector<TensorInfo> tensors;  ///< sorted by name
    json::Object attributes;          ///< without the digest
    std::string digest;               ///< content_attribute; empty: the file has none
};
/// Walks an open file of `file_bytes` bytes; the failure says what speaks against it.
[[nodiscard]] tl::expected<FileContent, std::string> scan_file(hid_t file, std::int64_t file_bytes,
                                                               ReadLimits const& limits);

}  // namespace curtail::tensors
