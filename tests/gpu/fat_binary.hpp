// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds out for which GPUs a program was compiled, without a GPU.

#include <optional>
#include <set>
#include <string_view>

namespace curtail::check {

/// The compute capabilities of the device code in a program, times ten: 80, 90.
struct DeviceCode {
    std::set<int> binaries;      ///< for GPUs of this capability
    std::set<int> intermediate;  ///< PTX, which the driver compiles for newer GPUs
};

/// Returns the content of the section `name` of an ELF file for 64-bit little-endian machines. The
/// result points into `file`. It is empty if there is no such section, or if the file is no ELF
/// file.
[[nodiscard]] std::optional<std::string_view> elf_section(std::string_view file,
                                                          std::string_view name);

/// The section in which nvcc stores device code.
inline constexpr std::string_view fat_binary_section = ".nv_fatbin";

/// Reads the headers of the section `.nv_fatbin`. NVIDIA does not document this format. The result
/// is empty if the content is damaged, or has another format than that of CUDA 13.
[[nodiscard]] std::optional<DeviceCode> device_code(std::string_view section);

}  // namespace curtail::check
