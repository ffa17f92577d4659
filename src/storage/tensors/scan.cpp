// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/scan.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.hpp"

namespace curtail::tensors {
namespace {

constexpr int max_depth = 16;
constexpr hsize_t max_attributes = 1'000;
constexpr std::size_t max_text{std::size_t{64} * 1024};
// The greatest compression ratio of deflate.
constexpr std::int64_t deflate_ratio = 1'032;

std::optional<Dtype> dtype_of_file(hid_t type)
{
    for (auto const dtype :
         {Dtype::float32, Dtype::float64, Dtype::int32, Dtype::int64, Dtype::uint16, Dtype::uint8})
        if (H5Tequal(type, file_type(dtype)) > 0) return dtype;
    return std::nullopt;
}

// Explains why the filters of a chunked dataset are refused. The text is empty if they are not.
std::optional<std::string> filter_defect(hid_t properties, bool compressed)
{
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

// Explains why the storage of a dataset is refused. The text is empty if it is not.
std::optional<std::string> storage_defect(hid_t properties, bool compressed)
{
    if (H5Pget_external_count(properties) != 0) return "its data is in other files";
    auto const layout = H5Pget_layout(properties);
    if (layout != H5D_CONTIGUOUS && layout != H5D_COMPACT && layout != H5D_CHUNKED)
        return "its storage is virtual or unknown";
    return layout == H5D_CHUNKED ? filter_defect(properties, compressed) : std::nullopt;
}

bool is_filtered(hid_t properties)
{
    return H5Pget_layout(properties) == H5D_CHUNKED && H5Pget_nfilters(properties) > 0;
}

// An attribute's value, or the rest of the sentence that begins with the attribute's name.
using AttributeValue = tl::expected<json::Value, std::string>;

template <class T>
AttributeValue read_number(hid_t attribute, hid_t memory_type)
{
    T value{};
    if (H5Aread(attribute, memory_type, &value) < 0)
        return tl::unexpected(": " + take_hdf5_error());
    return json::Value(value);
}

AttributeValue read_text(hid_t attribute, hid_t type)
{
    std::string text(H5Tget_size(type), '\0');
    if (H5Aread(attribute, type, text.data()) < 0) return tl::unexpected(": " + take_hdf5_error());
    text.resize(std::min(text.find('\0'), text.size()));
    if (find_invalid_utf8(text)) return tl::unexpected<std::string>(" is not UTF-8");
    return json::Value(std::move(text));
}

AttributeValue read_value(hid_t attribute, hid_t type)
{
    auto const type_class = H5Tget_class(type);
    std::size_t const size = H5Tget_size(type);
    if (type_class == H5T_INTEGER && size <= 8)
        return read_number<std::int64_t>(attribute, H5T_NATIVE_INT64);
    if (type_class == H5T_FLOAT && size <= 8)
        return read_number<double>(attribute, H5T_NATIVE_DOUBLE);
    if (type_class == H5T_STRING && H5Tis_variable_str(type) == 0 && size <= max_text)
        return read_text(attribute, type);
    return tl::unexpected<std::string>(
        " is neither an integer, a number nor a text of fixed length");
}

std::optional<std::string> name_of_attribute(hid_t attribute)
{
    std::array<char, 257> name{};
    ssize_t const length = H5Aget_name(attribute, name.size(), name.data());
    if (length < 1 || length > 256 || !is_tensor_name(name.data())) return std::nullopt;
    return name.data();
}

// One walk over an open file. The first defect ends it.
struct Scan {
    hid_t file;
    std::int64_t file_bytes;
    FileLimits const& limits;
    FileContent content{};
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
    bool check_link(char const* name, H5L_info_t const& link);
    bool scan_member(hid_t group, std::string const& prefix, std::string const& name, int depth);
    bool take_dataset(hid_t dataset, std::string const& name);
    bool take_shape(hid_t dataset, TensorInfo& info);
    bool count_bytes(hid_t dataset, TensorInfo const& info, bool filtered);
    bool take_attributes();
    bool take_attribute(hsize_t index);
};

bool Scan::check_link(char const* name, H5L_info_t const& link)
{
    auto const shown = [&] { return printable(std::string_view(name).substr(0, 256)); };
    if (link.type != H5L_TYPE_HARD) return refuse("soft or external link \"" + shown() + "\"");
    if (std::string_view(name).find('/') != std::string_view::npos || !is_tensor_name(name))
        return refuse("bad name \"" + shown() + "\"");
    if (++objects > limits.objects)
        return refuse("it has more than " + std::to_string(limits.objects) + " objects");
    return true;
}

bool Scan::scan(hid_t group, std::string const& prefix, int depth)
{
    if (depth > max_depth)
        return refuse("groups are nested deeper than " + std::to_string(max_depth));
    struct Links {
        Scan& scan;
        std::vector<std::string> names{};
    } links{*this};
    auto const visit = [](hid_t, char const* name, H5L_info_t const* link, void* data) -> herr_t {
        auto& [scan, names] = *static_cast<Links*>(data);
        if (!scan.check_link(name, *link)) return -1;
        names.emplace_back(name);
        return 0;
    };
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, &links) < 0)
        return refuse(take_hdf5_error());
    return std::all_of(links.names.begin(), links.names.end(), [&](std::string const& name) {
        return scan_member(group, prefix, name, depth);
    });
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
    auto const extent_type = H5Sget_simple_extent_type(space.get());
    if (extent_type == H5S_SCALAR) return true;
    int const rank = H5Sget_simple_extent_ndims(space.get());
    if (extent_type != H5S_SIMPLE || rank < 1 || rank > max_rank)
        return refuse(info.name + " has no shape or more than " + std::to_string(max_rank) +
                      " dimensions");
    std::array<hsize_t, max_rank> extent{};
    if (H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr) != rank)
        return refuse(info.name + ": " + take_hdf5_error());
    info.shape.assign(extent.begin(), extent.begin() + rank);
    return is_valid_shape(info.shape, info.dtype) ||
           refuse(info.name + " is larger than memory can be");
}

bool Scan::count_bytes(hid_t dataset, TensorInfo const& info, bool filtered)
{
    auto const stored = static_cast<std::int64_t>(H5Dget_storage_size(dataset));
    if (!filtered && stored < info.bytes())
        return refuse(info.name + " has " + std::to_string(stored) +
                      " bytes in the file, its shape needs " + std::to_string(info.bytes()));
    auto& sum = filtered ? compressed_bytes : plain_bytes;
    std::int64_t const most = filtered ? file_bytes * deflate_ratio : file_bytes;
    if (__builtin_add_overflow(sum, info.bytes(), &sum) || sum > most)
        return refuse("its tensors claim more bytes than the file has");
    if (plain_bytes + compressed_bytes > limits.bytes)
        return refuse("its tensors have more than " + std::to_string(limits.bytes) + " bytes");
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
    if (!dtype) return refuse(name + " has an element type that tensor files do not support");
    // Before any call that needs the dataspace: to find the size of a virtual dataset, HDF5 opens
    // the files that it names.
    if (auto const defect = storage_defect(properties.get(), limits.compressed))
        return refuse(name + ": " + *defect);
    TensorInfo info{name, *dtype, {}};
    if (!take_shape(dataset, info)) return false;
    if (!count_bytes(dataset, info, is_filtered(properties.get()))) return false;
    content.tensors.push_back(std::move(info));
    return true;
}

bool Scan::take_attribute(hsize_t index)
{
    Handle const attribute(
        H5Aopen_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, index, H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    if (!attribute) return refuse(take_hdf5_error());
    auto const name = name_of_attribute(attribute.get());
    if (!name) return refuse("an attribute has a bad name");
    Handle const type(H5Aget_type(attribute.get()), H5Tclose);
    Handle const space(H5Aget_space(attribute.get()), H5Sclose);
    if (!type || !space) return refuse(take_hdf5_error());
    if (H5Sget_simple_extent_type(space.get()) != H5S_SCALAR)
        return refuse("attribute " + *name + " is not a single value");
    auto value = read_value(attribute.get(), type.get());
    if (!value) return refuse("attribute " + *name + value.error());
    if (*name == content_attribute && value->as_text() != nullptr)
        content.digest = *value->as_text();
    else content.attributes.set(*name, std::move(*value));
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
                                                 FileLimits const& limits)
{
    Scan scan{file, file_bytes, limits};
    Handle const root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
    if (!root) return tl::unexpected(take_hdf5_error());
    if (!scan.take_attributes() || !scan.scan(root.get(), "", 0))
        return tl::unexpected(scan.refusal.value_or("it is not readable"));
    auto& tensors = scan.content.tensors;
    std::sort(tensors.begin(), tensors.end(),
              [](auto const& a, auto const& b) { return a.name < b.name; });
    return std::move(scan.content);
}

}  // namespace curtail::tensors
