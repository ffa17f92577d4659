// SPDX-License-Identifier: Apache-2.0
#include "tensors/hdf5.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include "core/text.hpp"

namespace curtail::tensors {
namespace {

std::mutex& library_lock()
{
    // Must be the first call of all. A damaged file that cannot be opened stays open inside the
    // library, which would say at exit that it cannot close itself; every handle of ours closes
    // itself, and nothing else is left to do then.
    [[maybe_unused]] static herr_t const without_exit_handler = H5dont_atexit();
    static std::mutex lock;
    return lock;
}

/// Callbacks of the core driver's image, over a std::string that belongs to somebody else.
struct Image {
    static void* reach(std::size_t size, H5FD_file_image_op_t, void* data) noexcept
    {
        auto& bytes = *static_cast<std::string*>(data);
        return size <= bytes.size() ? bytes.data() : nullptr;
    }
    static void* copy_nothing(void* to, void const*, std::size_t, H5FD_file_image_op_t,
                              void*) noexcept
    {
        return to;
    }
    static void* resize(void*, std::size_t size, H5FD_file_image_op_t, void* data) noexcept
    {
        try {
            auto& bytes = *static_cast<std::string*>(data);
            bytes.resize(size);
            return bytes.data();
        } catch (std::exception const&) {
            return nullptr;
        }
    }
    static herr_t release(void*, H5FD_file_image_op_t, void*) noexcept { return 0; }
    static void* share_owner(void* data) noexcept { return data; }
    static herr_t release_owner(void*) noexcept { return 0; }
};

}  // namespace

std::string use_memory(Handle const& access, std::string& bytes)
{
    // Growing byte by byte makes the image end where the file ends; a string with room reserved
    // grows for nothing.
    std::size_t const step = 1;
    H5FD_file_image_callbacks_t callbacks{
        &Image::reach,       &Image::copy_nothing,  &Image::resize, &Image::release,
        &Image::share_owner, &Image::release_owner, &bytes};
    if (H5Pset_fapl_core(access.get(), step, false) < 0 ||
        H5Pset_file_image_callbacks(access.get(), &callbacks) < 0)
        return {};
    if (!bytes.empty() && H5Pset_file_image(access.get(), bytes.data(), bytes.size()) < 0)
        return {};
    return fmt::format("tensors-{}", static_cast<void const*>(&bytes));
}

Session::Session() : lock_(library_lock())
{
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
}

Session::~Session()
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
    return text.empty() ? "HDF5 gives no reason" : "HDF5: " + text;
}

hid_t file_type(Dtype dtype)
{
    switch (dtype) {
        case Dtype::float32:
            return H5T_IEEE_F32LE;
        case Dtype::float64:
            return H5T_IEEE_F64LE;
        case Dtype::int32:
            return H5T_STD_I32LE;
        case Dtype::int64:
            return H5T_STD_I64LE;
        case Dtype::uint16:
            return H5T_STD_U16LE;
        case Dtype::uint8:
            return H5T_STD_U8LE;
    }
    __builtin_unreachable();
}

std::size_t size_of(Dtype dtype)
{
    switch (dtype) {
        case Dtype::float32:
        case Dtype::int32:
            return 4;
        case Dtype::float64:
        case Dtype::int64:
            return 8;
        case Dtype::uint16:
            return 2;
        case Dtype::uint8:
            return 1;
    }
    __builtin_unreachable();
}

char const* name_of(Dtype dtype)
{
    static constexpr char const* names[] = {"float32", "float64", "int32",
                                            "int64",   "uint16",  "uint8"};
    return names[static_cast<std::size_t>(dtype)];
}

std::int64_t TensorInfo::elements() const
{
    std::int64_t product = 1;
    for (auto const dimension : shape) product *= dimension;
    return product;
}

std::int64_t TensorInfo::bytes() const
{
    return elements() * static_cast<std::int64_t>(size_of(dtype));
}

bool is_tensor_name(std::string_view name)
{
    if (name.size() > 255) return false;
    for (auto const part : split(name, '/')) {
        if (part.empty() || part == "." || part == "..") return false;
        if (!std::all_of(part.begin(), part.end(), [](char c) { return c > ' ' && c < '\x7f'; }))
            return false;
    }
    return true;
}

std::string content_line(TensorInfo const& info)
{
    return fmt::format("{} {} [{}]\n", info.name, name_of(info.dtype), fmt::join(info.shape, ","));
}

}  // namespace curtail::tensors
