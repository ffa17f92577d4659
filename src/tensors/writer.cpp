// SPDX-License-Identifier: Apache-2.0
#include "tensors/writer.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <stdexcept>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "tensors/hdf5.hpp"

namespace curtail::tensors {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor files copy elements from memory");

// Tensors start at multiples of this, so that vector instructions work on a mapped or copied file.
constexpr hsize_t alignment = 64;
// Up to this many links and attributes stay inside the (checksummed) object headers.
constexpr unsigned max_compact = 1'000;

Handle object_properties(hid_t property_class)
{
    Handle list(H5Pcreate(property_class), H5Pclose);
    H5Pset_obj_track_times(list.get(), false);
    H5Pset_attr_phase_change(list.get(), max_compact, 0);
    if (property_class != H5P_DATASET_CREATE) {
        H5Pset_link_phase_change(list.get(), max_compact, 0);
        return list;
    }
    H5Pset_layout(list.get(), H5D_CONTIGUOUS);
    H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER);
    return list;
}

// The format of HDF5 1.8: checksummed headers, no open-file flags in the superblock.
Handle access_properties()
{
    Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(list.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    H5Pset_alignment(list.get(), alignment, alignment);
    H5Pset_file_locking(list.get(), false, true);
    return list;
}

bool write_attribute(hid_t file, std::string const& name, hid_t type, void const* value)
{
    Handle const space(H5Screate(H5S_SCALAR), H5Sclose);
    Handle const attribute(
        H5Acreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return attribute && H5Awrite(attribute.get(), type, value) >= 0;
}

bool write_text_attribute(hid_t file, std::string const& name, std::string const& text)
{
    Handle const type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), std::max<std::size_t>(1, text.size()));
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return write_attribute(file, name, type.get(), text.c_str());
}

bool write_attribute(hid_t file, std::string const& name, json::Value const& value)
{
    if (auto const* text = value.as_text()) return write_text_attribute(file, name, *text);
    if (auto const* integer = value.as_integer())
        return write_attribute(file, name, H5T_STD_I64LE, integer);
    double const number = *value.as_number();
    return write_attribute(file, name, H5T_IEEE_F64LE, &number);
}

}  // namespace

void TensorWriter::add(std::string name, Dtype dtype, Shape shape, std::span<std::byte const> bytes)
{
    if (!is_tensor_name(name)) throw std::invalid_argument("bad tensor name \"" + name + "\"");
    if (!is_valid_shape(shape, dtype))
        throw std::invalid_argument("tensor " + name + " has a bad shape");
    TensorInfo info{std::move(name), dtype, std::move(shape)};
    if (static_cast<std::int64_t>(bytes.size()) != info.bytes())
        throw std::invalid_argument("tensor " + info.name + " has " + std::to_string(bytes.size()) +
                                    " bytes, its shape needs " + std::to_string(info.bytes()));
    auto const at = std::lower_bound(
        entries_.begin(), entries_.end(), info.name,
        [](Entry const& entry, std::string const& key) { return entry.info.name < key; });
    if (at != entries_.end() && at->info.name == info.name)
        throw std::invalid_argument("tensor " + info.name + " was already added");
    entries_.insert(at, Entry{std::move(info), bytes});
}

void TensorWriter::attribute(std::string name, json::Value value)
{
    if (!is_tensor_name(name) || name == content_attribute)
        throw std::invalid_argument("bad attribute name \"" + name + "\"");
    if (value.as_text() == nullptr && !value.as_number())
        throw std::invalid_argument("attribute " + name + " is a " + value.type_name());
    attributes_.set(std::move(name), std::move(value));
}

// Writes the contents of a TensorWriter into an open file.
struct FileWriter {
    TensorWriter const& content;
    std::string const& digest;
    hid_t file;
    std::set<std::string, std::less<>> groups{};

    bool make_groups_above(std::string const& name)
    {
        auto const properties = object_properties(H5P_GROUP_CREATE);
        for (auto slash = name.find('/'); slash != std::string::npos;
             slash = name.find('/', slash + 1)) {
            auto const group = name.substr(0, slash);
            if (!groups.insert(group).second) continue;
            Handle const made(
                H5Gcreate2(file, group.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                H5Gclose);
            if (!made) return false;
        }
        return true;
    }

    bool write_tensor(TensorInfo const& info, std::span<std::byte const> bytes)
    {
        if (!make_groups_above(info.name)) return false;
        std::vector<hsize_t> const extent(info.shape.begin(), info.shape.end());
        Handle const space(extent.empty() ? H5Screate(H5S_SCALAR)
                                          : H5Screate_simple(static_cast<int>(extent.size()),
                                                             extent.data(), nullptr),
                           H5Sclose);
        auto const properties = object_properties(H5P_DATASET_CREATE);
        Handle const dataset(H5Dcreate2(file, info.name.c_str(), file_type(info.dtype), space.get(),
                                        H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                             H5Dclose);
        if (!dataset) return false;
        return bytes.empty() || H5Dwrite(dataset.get(), file_type(info.dtype), H5S_ALL, H5S_ALL,
                                         H5P_DEFAULT, bytes.data()) >= 0;
    }

    bool write_all()
    {
        for (auto const& entry : content.entries_)
            if (!write_tensor(entry.info, entry.bytes)) return false;
        auto members = content.attributes_.members();
        std::sort(members.begin(), members.end(),
                  [](auto const& a, auto const& b) { return a.first < b.first; });
        for (auto const& [name, value] : members)
            if (!write_attribute(file, name, value)) return false;
        return write_text_attribute(file, content_attribute, digest);
    }
};

std::string TensorWriter::digest() const
{
    Sha256 hash;
    for (auto const& entry : entries_) {
        hash.update(content_line(entry.info));
        hash.update(entry.bytes);
    }
    return hash.finish().hex();
}

std::size_t TensorWriter::file_size_estimate() const
{
    std::size_t total = std::size_t{4} << 20;
    for (auto const& entry : entries_) total += entry.bytes.size();
    return total;
}

Result<std::string> TensorWriter::encode() const
{
    auto const content_digest = digest();  // the slowest step, so outside the Session
    Session const session;
    std::string bytes;
    bytes.reserve(file_size_estimate());
    auto const access = access_properties();
    auto const name = use_memory(access, bytes);
    auto const creation = object_properties(H5P_FILE_CREATE);
    Handle file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
    hsize_t size = 0;
    if (!file || !FileWriter{*this, content_digest, file.get()}.write_all() ||
        H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0 || H5Fget_filesize(file.get(), &size) < 0 ||
        !file.reset())
        return fail(ExitCode::software, "cannot encode tensors", take_hdf5_error());
    bytes.resize(size);
    return bytes;
}

Result<void> TensorWriter::write(std::filesystem::path const& path) const
{
    auto const content_digest = digest();
    return replace_file(path, [&](std::filesystem::path const& temporary) -> Result<void> {
        Session const session;
        auto const access = access_properties();
        auto const creation = object_properties(H5P_FILE_CREATE);
        Handle file(H5Fcreate(temporary.c_str(), H5F_ACC_EXCL, creation.get(), access.get()),
                    H5Fclose);
        if (!file)
            return fail(ExitCode::cannot_create, "cannot write " + path.string(),
                        take_hdf5_error());
        if (!FileWriter{*this, content_digest, file.get()}.write_all() || !file.reset())
            return fail(ExitCode::io, "cannot write " + path.string(), take_hdf5_error(),
                        "check space and permissions of its folder");
        return {};
    });
}

}  // namespace curtail::tensors
