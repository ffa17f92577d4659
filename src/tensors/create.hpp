// SPDX-License-Identifier: Apache-2.0
#pragma once

// Creation of groups, datasets and attributes in tensor files. Private to this library. Call the
// functions inside a Session.

#include <set>
#include <string>

#include "core/json.hpp"
#include "tensors/hdf5.hpp"

namespace curtail::tensors {

/// Returns creation properties that give equal files for equal contents. `property_class` is
/// H5P_FILE_CREATE, H5P_GROUP_CREATE or H5P_DATASET_CREATE.
[[nodiscard]] Handle creation_properties(hid_t property_class);
/// Returns properties for the format of HDF5 1.8: checksummed headers, no open-file flags in the
/// superblock. Objects of at least `threshold` bytes begin at multiples of `alignment`.
[[nodiscard]] Handle access_properties(hsize_t threshold, hsize_t alignment);

/// Writes an attribute of the file's root: an integer, a floating-point number or a string. Returns
/// false on failure.
[[nodiscard]] bool write_attribute(hid_t file, std::string const& name, json::Value const& value);
[[nodiscard]] bool write_text_attribute(hid_t file, std::string const& name,
                                        std::string const& text);

/// Creates datasets and the groups that contain them.
class DatasetMaker {
  public:
    explicit DatasetMaker(hid_t file) : file_(file) {}
    /// Creates an empty dataset, without space for its elements if `late`. HDF5 then allocates the
    /// space when the first element is written. The result is invalid on failure.
    [[nodiscard]] Handle make(TensorInfo const& info, bool late = false);

  private:
    [[nodiscard]] bool make_groups_above(std::string const& name);
    hid_t file_;
    std::set<std::string, std::less<>> groups_;
};

}  // namespace curtail::tensors
