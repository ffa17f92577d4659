// SPDX-License-Identifier: Apache-2.0
#include "tensors/create.hpp"

#include <algorithm>
#include <vector>

namespace curtail::tensors {
namespace {

// Up to this many links and attributes stay inside the (checksummed) object headers.
constexpr unsigned max_compact = 1'000;

bool write_value(hid_t file, std::string const& name, hid_t type, void const* value)
{
    Handle const space(H5Screate(H5S_SCALAR), H5Sclose);
    Handle const attribute(
        H5Acreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return attribute && H5Awrite(attribute.get(), type, value) >= 0;
}

}  // namespace

Handle creation_properties(hid_t property_class)
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

Handle access_properties(hsize_t threshold, hsize_t alignment)
{
    Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(list.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    H5Pset_alignment(list.get(), threshold, alignment);
    H5Pset_file_locking(list.get(), false, true);
    return list;
}

bool write_text_attribute(hid_t file, std::string const& name, std::string const& text)
{
    Handle const type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), std::max<std::size_t>(1, text.size()));
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return write_value(file, name, type.get(), text.c_str());
}

bool write_attribute(hid_t file, std::string const& name, json::Value const& value)
{
    if (auto const* text = value.as_text()) return write_text_attribute(file, name, *text);
    if (auto const* integer = value.as_integer())
        return write_value(file, name, H5T_STD_I64LE, integer);
    double const number = *value.as_number();
    return write_value(file, name, H5T_IEEE_F64LE, &number);
}

bool DatasetMaker::make_groups_above(std::string const& name)
{
    auto const properties = creation_properties(H5P_GROUP_CREATE);
    for (auto slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        auto const group = name.substr(0, slash);
        if (!groups_.insert(group).second) continue;
        Handle const made(
            H5Gcreate2(file_, group.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Gclose);
        if (!made) return false;
    }
    return true;
}

Handle DatasetMaker::make(TensorInfo const& info, bool late)
{
    if (!make_groups_above(info.name)) return {};
    std::vector<hsize_t> const extent(info.shape.begin(), info.shape.end());
    Handle const space(
        extent.empty() ? H5Screate(H5S_SCALAR)
                       : H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
        H5Sclose);
    auto const properties = creation_properties(H5P_DATASET_CREATE);
    if (late) H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_LATE);
    return {H5Dcreate2(file_, info.name.c_str(), file_type(info.dtype), space.get(), H5P_DEFAULT,
                       properties.get(), H5P_DEFAULT),
            H5Dclose};
}

}  // namespace curtail::tensors
