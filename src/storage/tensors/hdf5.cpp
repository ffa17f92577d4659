// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/hdf5.hpp"

#include <fmt/format.h>

#include <array>

#include "base/core/text.hpp"

namespace curtail::tensors {
namespace {

std::mutex& library_lock()
{
    // Must be the first call into HDF5. A damaged file that fails to open stays open inside the
    // library, whose exit handler would then print errors. All our handles close themselves, so
    // the exit handler has no other work.
    [[maybe_unused]] static herr_t const without_exit_handler = H5dont_atexit();
    static std::mutex lock;
    return lock;
}

// Callbacks of the core driver's file image, which is a span of the caller of use_memory().
struct Image {
    static void* reach(std::size_t size, H5FD_file_image_op_t, void* data) noexcept
    {
        auto const& bytes = *static_cast<std::span<std::byte const> const*>(data);
        return size <= bytes.size() ? const_cast<std::byte*>(bytes.data()) : nullptr;
    }
    static void* copy_nothing(void* to, void const*, std::size_t, H5FD_file_image_op_t,
                              void*) noexcept
    {
        return to;
    }
    // HDF5 writes nothing into a file that is open for reading.
    static void* refuse_resize(void*, std::size_t, H5FD_file_image_op_t, void*) noexcept
    {
        return nullptr;
    }
    static herr_t release(void*, H5FD_file_image_op_t, void*) noexcept { return 0; }
    static void* share_owner(void* data) noexcept { return data; }
    static herr_t release_owner(void*) noexcept { return 0; }
};

}  // namespace

std::string use_memory(Handle const& access, std::span<std::byte const> const& bytes)
{
    auto* const image = const_cast<std::byte*>(bytes.data());
    H5FD_file_image_callbacks_t callbacks{&Image::reach,
                                          &Image::copy_nothing,
                                          &Image::refuse_resize,
                                          &Image::release,
                                          &Image::share_owner,
                                          &Image::release_owner,
                                          const_cast<std::span<std::byte const>*>(&bytes)};
    // With an increment of one byte the image ends where the file ends.
    std::size_t const step = 1;
    if (H5Pset_fapl_core(access.get(), step, false) < 0 ||
        H5Pset_file_image_callbacks(access.get(), &callbacks) < 0 ||
        H5Pset_file_image(access.get(), image, bytes.size()) < 0)
        return {};
    return fmt::format("tensors-{}", callbacks.udata);
}

LibraryLock::LibraryLock() : lock_(library_lock())
{
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
}

LibraryLock::~LibraryLock()
{
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

std::string take_hdf5_error()
{
    std::string text;
    auto const keep_last = [](unsigned, H5E_error2_t const* error, void* out) -> herr_t {
        if (error->desc != nullptr) *static_cast<std::string*>(out) = printable(error->desc);
        return 0;
    };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_last, &text);
    H5Eclear2(H5E_DEFAULT);
    return text.empty() ? "HDF5 reports no reason" : "HDF5: " + text;
}

hid_t file_type(Dtype dtype)
{
    // Not constants: each expands to a call that initializes the library.
    std::array<hid_t, 6> const types{H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I32LE,
                                     H5T_STD_I64LE,  H5T_STD_U16LE,  H5T_STD_U8LE};
    return types.at(static_cast<std::size_t>(dtype));
}

}  // namespace curtail::tensors
