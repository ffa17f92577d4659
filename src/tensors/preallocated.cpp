// SPDX-License-Identifier: Apache-2.0
#include "tensors/preallocated.hpp"

#include <fcntl.h>

#include <cerrno>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"
#include "tensors/create.hpp"

namespace curtail::tensors {
namespace {

constexpr std::int64_t metadata_bytes = std::int64_t{1} << 20;

// Every tensor is aligned, however small, and none shares a block with others or with metadata.
Handle aligned_access()
{
    auto access = access_properties(1, block_bytes);
    H5Pset_meta_block_size(access.get(), static_cast<hsize_t>(metadata_bytes));
    H5Pset_small_data_block_size(access.get(), 0);
    return access;
}

// Makes HDF5 allocate the space of a dataset.
bool allocate(hid_t dataset, Dtype dtype)
{
    Handle const file_space(H5Dget_space(dataset), H5Sclose);
    Handle const memory_space(H5Screate(H5S_SCALAR), H5Sclose);
    std::vector<hsize_t> const first(max_rank, 0);
    auto const dimensions = H5Sget_simple_extent_ndims(file_space.get());
    if (dimensions > 0 && H5Sselect_elements(file_space.get(), H5S_SELECT_SET, 1, first.data()) < 0)
        return false;
    double const zero = 0;
    return H5Dwrite(dataset, file_type(dtype), memory_space.get(), file_space.get(), H5P_DEFAULT,
                    &zero) >= 0;
}

// Creates the headers of all datasets before it allocates space, so that no header comes to lie
// between two datasets.
bool fill(hid_t file, std::span<TensorInfo const> tensors, json::Object const& attributes)
{
    for (auto const& [name, value] : attributes.members())
        if (!write_attribute(file, name, value)) return false;
    DatasetMaker maker(file);
    std::vector<Handle> datasets;
    for (auto const& info : tensors) {
        datasets.push_back(maker.make(info, true));
        if (!datasets.back()) return false;
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!allocate(datasets[i].get(), tensors[i].dtype)) return false;
    return true;
}

// Fails if the disk has too little space. HDF5's own message would name addresses and descriptors.
Result<void> check_space(std::filesystem::path const& path, std::span<TensorInfo const> tensors)
{
    auto const folder = path.has_parent_path() ? path.parent_path() : ".";
    Fd const file(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!file) return {};  // unsupported here, or an error that creating the file reports
    std::int64_t bytes = metadata_bytes;
    for (auto const& info : tensors)
        bytes += in_whole_blocks(info.elements() * static_cast<std::int64_t>(size_of(info.dtype)));
    int const error = posix_fallocate(file.get(), 0, bytes);
    if (error == 0 || error == EOPNOTSUPP || error == EINVAL) return {};
    std::string remedy;
    if (error == EFBIG) remedy = "raise the limit (ulimit -f)";
    if (error == ENOSPC || error == EDQUOT) remedy = "free some space in " + folder.string();
    return fail(ExitCode::io, "cannot create " + path.string(), errno_text(error), remedy);
}

Result<void> allocate_disk_space(std::filesystem::path const& path)
{
    auto const refuse = [&](int error) {
        return fail(ExitCode::io, "cannot allocate " + path.string(), errno_text(error));
    };
    Fd const file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return refuse(errno);
    std::error_code unknown;
    auto const size = static_cast<std::int64_t>(std::filesystem::file_size(path, unknown));
    if (unknown) return refuse(unknown.value());
    int const error = posix_fallocate(file.get(), 0, in_whole_blocks(size));
    if (error != 0) return refuse(error);
    return {};
}

}  // namespace

Result<void> create_preallocated(std::filesystem::path const& path,
                                 std::span<TensorInfo const> tensors,
                                 json::Object const& attributes)
{
    if (auto space = check_space(path, tensors); !space) return space;
    return replace_file(path, [&](std::filesystem::path const& temporary) -> Result<void> {
        {
            Session const session;
            auto const access = aligned_access();
            auto const creation = creation_properties(H5P_FILE_CREATE);
            Handle file(H5Fcreate(temporary.c_str(), H5F_ACC_EXCL, creation.get(), access.get()),
                        H5Fclose);
            if (!file)
                return fail(ExitCode::cannot_create, "cannot create " + path.string(),
                            take_hdf5_error());
            if (!fill(file.get(), tensors, attributes) || !file.reset())
                return fail(ExitCode::io, "cannot create " + path.string(), take_hdf5_error(),
                            "check space and permissions of its folder");
        }
        return allocate_disk_space(temporary);
    });
}

}  // namespace curtail::tensors
