// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "core/text.hpp"
#include "tensors/hdf5.hpp"

namespace curtail::tensors {
namespace {

constexpr int max_depth = 16;
constexpr hsize_t max_attributes = 1'000;
constexpr std::size_t max_text{std::size_t{64} * 1024};
/// Deflate cannot shrink further than this.
constexpr std::int64_t deflate_ratio = 1'032;

std::optional<Dtype> dtype_of_file(hid_t type)
{
    for (auto const dtype :
         {Dtype::float32, Dtype::float64, Dtype::int32, Dtype::int64, Dtype::uint16, Dtype::uint8})
        if (H5Tequal(type, file_type(dtype)) > 0) return dtype;
    return std::nullopt;
}

/// Why the storage of a dataset is refused, or nothing.
std::optional<std::string> storage_defect(hid_t properties, bool compressed)
{
    if (H5Pget_external_count(properties) != 0) return "its data lies in other files";
    auto const layout = H5Pget_layout(properties);
    if (layout != H5D_CONTIGUOUS && layout != H5D_COMPACT && layout != H5D_CHUNKED)
        return "its storage is virtual or unknown";
    if (layout != H5D_CHUNKED) return std::nullopt;
    int const filters = H5Pget_nfilters(properties);
    for (int i = 0; i < filters; ++i) {
        std::array<unsigned, 8> values{};
        std::size_t count = values.size();
        unsigned flags = 0;
        unsigned configuration = 0;
        auto const filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &count,
                                           values.data(), 0, nullptr, &configuration);
        bool const known = filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE;
        if (!known || !compressed) return "it has a filter (number " + std::to_string(filter) + ")";
    }
    return filters < 0 ? std::optional<std::string>("its filters cannot be read") : std::nullopt;
}

/// One walk over an open file; the first thing against it ends the walk.
struct Scan {
    hid_t file;
    std::int64_t file_bytes;
    ReadLimits const& limits;
    FileContent found{};
    std::int64_t objects{0};
    std::int64_t plain_bytes{0};
    std::int64_t compressed_bytes{0};
    std::optional<std::string> refusal{};

    bool refuse(std::string why)
    {
        if (!refusal) refusal = std::move(why);
        return false;
    }
    bool scan(hid_t group, std::string const& prefix, int depth);
    bool scan_member(hid_t group, std::string const& prefix, std::string const& name, int depth);
    bool take_dataset(hid_t dataset, std::string const& name);
    bool take_shape(hid_t dataset, TensorInfo& info);
    bool take_attributes();
    bool take_attribute(hsize_t index);
};

bool Scan::scan(hid_t group, std::string const& prefix, int depth)
{
    if (depth > max_depth)
        return refuse("groups are nested deeper than " + std::to_string(max_depth));
    std::vector<std::string> names;
    struct Seen {
        Scan& scan;
        std::vector<std::string>& names;
    } seen{*this, names};
    auto const visit = [](hid_t, char const* name, H5L_info_t const* link, void* data) -> herr_t {
        auto& here = *static_cast<Seen*>(data);
        auto const shown = printable(std::string_view(name).substr(0, 256));
        if (link->type != H5L_TYPE_HARD)
            here.scan.refuse("soft or external link \"" + shown + "\"");
        else if (std::string_view(name).find('/') != std::string_view::npos ||
                 !is_tensor_name(name))
            here.scan.refuse("bad name \"" + shown + "\"");
        else if (++here.scan.objects > here.scan.limits.objects)
            here.scan.refuse("it has more than " + std::to_string(here.scan.limits.objects) +
                             " objects");
        else here.names.emplace_back(name);
        return here.scan.refusal ? -1 : 0;
    };
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, &seen) < 0)
        return refuse(take_hdf5_error());
    for (auto const& name : names)
        if (!scan_member(group, prefix, name, depth)) return false;
    return true;
}

bool Scan::scan_member(hid_t group, std::string const& prefix, std::string const& name, int depth)
{
    auto const path = prefix + name;
    Handle const object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
    H5O_info_t about;
    if (!object || H5Oget_info2(object.get(), &about, H5O_INFO_BASIC) < 0)
        return refuse(path + ": " + take_hdf5_error());
    if (about.rc != 1) return refuse(path + " has several links");
    if (about.type == H5O_TYPE_GROUP) return scan(object.get(), path + "/", depth + 1);
    if (about.type == H5O_TYPE_DATASET) return take_dataset(object.get(), path);
    return refuse(path + " is neither a group nor a tensor");
}

bool Scan::take_shape(hid_t dataset, TensorInfo& info)
{
    Handle const space(H5Dget_space(dataset), H5Sclose);
    if (!space) return refuse(info.name + ": " + take_hdf5_error());
    auto const kind = H5Sget_simple_extent_type(space.get());
    if (kind == H5S_SCALAR) return true;
    int const rank = H5Sget_simple_extent_ndims(space.get());
    if (kind != H5S_SIMPLE || rank < 1 || rank > max_rank)
        return refuse(info.name + " has no shape or more than " + std::to_string(max_rank) +
                      " dimensions");
    std::array<hsize_t, max_rank> extent{};
    if (H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr) != rank)
        return refuse(info.name + ": " + take_hdf5_error());
    std::int64_t total = static_cast<std::int64_t>(size_of(info.dtype));
    for (int i = 0; i < rank; ++i) {
        auto const dimension = extent[static_cast<std::size_t>(i)];
        if (dimension > INT64_MAX ||
            __builtin_mul_overflow(
                total, std::max<std::int64_t>(1, static_cast<std::int64_t>(dimension)), &total))
            return refuse(info.name + " is larger than memory can be");
        info.shape.push_back(static_cast<std::int64_t>(dimension));
    }
    return true;
}

bool Scan::take_dataset(hid_t dataset, std::string const& name)
{
    if (!is_tensor_name(name))
        return refuse("name \"" + printable(name.substr(0, 300)) + "\" is too long");
    Handle const type(H5Dget_type(dataset), H5Tclose);
    Handle const properties(H5Dget_create_plist(dataset), H5Pclose);
    if (!type || !properties) return refuse(name + ": " + take_hdf5_error());
    auto const dtype = dtype_of_file(type.get());
    if (!dtype) return refuse(name + " has an element type that tensor files do not hold");
    // Before anything that takes its space: HDF5 opens the files that a virtual dataset names to
    // find out how large it is.
    if (auto const defect = storage_defect(properties.get(), limits.compressed))
        return refuse(name + ": " + *defect);
    TensorInfo info{name, *dtype, {}};
    if (!take_shape(dataset, info)) return false;
    bool const filtered =
        H5Pget_layout(properties.get()) == H5D_CHUNKED && H5Pget_nfilters(properties.get()) > 0;
    auto const stored = static_cast<std::int64_t>(H5Dget_storage_size(dataset));
    if (!filtered && stored < info.bytes())
        return refuse(name + " has " + std::to_string(stored) +
                      " bytes in the file, its shape wants " + std::to_string(info.bytes()));
    auto& sum = filtered ? compressed_bytes : plain_bytes;
    std::int64_t const room = filtered ? file_bytes * deflate_ratio : file_bytes;
    if (__builtin_add_overflow(sum, info.bytes(), &sum) || sum > room)
        return refuse("its tensors claim more bytes than the file has");
    if (plain_bytes + compressed_bytes > limits.bytes)
        return refuse("its tensors have more than " + std::to_string(limits.bytes) + " bytes");
    found.tensors.push_back(std::move(info));
    return true;
}

bool Scan::take_attribute(hsize_t index)
{
    Handle const attribute(
        H5Aopen_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, index, H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    if (!attribute) return refuse(take_hdf5_error());
    std::array<char, 257> name{};
    ssize_t const length = H5Aget_name(attribute.get(), name.size(), name.data());
    if (length < 1 || length > 256 || !is_tensor_name(name.data()))
        return refuse("an attribute has a bad name");
    Handle const type(H5Aget_type(attribute.get()), H5Tclose);
    Handle const space(H5Aget_space(attribute.get()), H5Sclose);
    if (!type || !space) return refuse(take_hdf5_error());
    std::string const where = std::string("attribute ") + name.data();
    if (H5Sget_simple_extent_type(space.get()) != H5S_SCALAR)
        return refuse(where + " is not a single value");
    auto const kind = H5Tget_class(type.get());
    std::size_t const size = H5Tget_size(type.get());
    if (kind == H5T_INTEGER && size <= 8) {
        std::int64_t value = 0;
        if (H5Aread(attribute.get(), H5T_NATIVE_INT64, &value) < 0)
            return refuse(where + ": " + take_hdf5_error());
        found.attributes.set(name.data(), value);
    } else if (kind == H5T_FLOAT && size <= 8) {
        double value = 0;
        if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0)
            return refuse(where + ": " + take_hdf5_error());
        found.attributes.set(name.data(), value);
    } else if (kind == H5T_STRING && H5Tis_variable_str(type.get()) == 0 && size <= max_text) {
        std::string text(size, '\0');
        if (H5Aread(attribute.get(), type.get(), text.data()) < 0)
            return refuse(where + ": " + take_hdf5_error());
        text.resize(std::min(text.find('\0'), text.size()));
        if (find_invalid_utf8(text)) return refuse(where + " is not UTF-8");
        if (name.data() == std::string_view(content_attribute)) found.digest = std::move(text);
        else found.attributes.set(name.data(), std::move(text));
    } else {
        return refuse(where + " is neither an integer, a number nor a text of fixed length");
    }
    return true;
}

bool Scan::take_attributes()
{
    H5O_info_t about;
    if (H5Oget_info2(file, &about, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) < 0)
        return refuse(take_hdf5_error());
    if (about.num_attrs > max_attributes)
        return refuse("it has more than " + std::to_string(max_attributes) + " attributes");
    for (hsize_t i = 0; i < about.num_attrs; ++i)
        if (!take_attribute(i)) return false;
    return true;
}

}  // namespace

tl::expected<FileContent, std::string> scan_file(hid_t file, std::int64_t file_bytes,
                                                 ReadLimits const& limits)
{
    Scan scan{file, file_bytes, limits};
    Handle const root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
    if (!root) return tl::unexpected(take_hdf5_error());
    if (!scan.take_attributes() || !scan.scan(root.get(), "", 0))
        return tl::unexpected(scan.refusal.value_or("it is not readable"));
    auto& tensors = scan.found.tensors;
    std::sort(tensors.begin(), tensors.end(),
              [](auto const& a, auto const& b) { return a.name < b.name; });
    return std::move(scan.found);
}

}  // namespace curtail::tensors
