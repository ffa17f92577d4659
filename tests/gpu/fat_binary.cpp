// SPDX-License-Identifier: Apache-2.0
#include "gpu/fat_binary.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace curtail::check {
namespace {

// The structure at byte `at` of `bytes`, if all of it is there.
template <class T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t at)
{
    static_assert(std::is_trivially_copyable_v<T>);
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
}

std::optional<std::string_view> part(std::string_view bytes, std::uint64_t at, std::uint64_t size)
{
    if (at > bytes.size() || bytes.size() - at < size) return std::nullopt;
    return bytes.substr(at, size);
}

std::string_view text_at(std::string_view texts, std::uint64_t at)
{
    if (at >= texts.size()) return {};
    auto const rest = texts.substr(at);
    return rest.substr(0, rest.find('\0'));
}

std::optional<Elf64_Ehdr> elf_header(std::string_view file)
{
    auto const header = read_at<Elf64_Ehdr>(file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return std::nullopt;
    return header;
}

std::optional<Elf64_Shdr> section_header(std::string_view file, Elf64_Ehdr const& header,
                                         std::uint64_t number)
{
    return read_at<Elf64_Shdr>(file, header.e_shoff + number * header.e_shentsize);
}

// One container of device code, and each of its parts. As `readelf -x .nv_fatbin` shows them in
// programs of CUDA 13.0.
struct Container {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_bytes;
    std::uint64_t bytes;  // after the header
};
struct Entry {
    std::uint16_t kind;
    std::uint16_t version;
    std::uint32_t header_bytes;
    std::uint64_t bytes;  // after the header
    std::uint32_t ignored[3];
    std::uint32_t capability;
};
constexpr std::uint32_t container_magic = 0xba55ed50;
constexpr std::uint16_t intermediate_kind = 1;
constexpr std::uint16_t binary_kind = 2;

// Adds the parts of one container. Returns false if they are damaged.
bool add_entries(std::string_view content, DeviceCode& code)
{
    while (!content.empty()) {
        auto const entry = read_at<Entry>(content, 0);
        if (!entry || entry->header_bytes < sizeof(Entry)) return false;
        auto const body = part(content, entry->header_bytes, entry->bytes);
        if (!body) return false;
        if (entry->kind == intermediate_kind)
            code.intermediate.insert(static_cast<int>(entry->capability));
        if (entry->kind == binary_kind) code.binaries.insert(static_cast<int>(entry->capability));
        content.remove_prefix(entry->header_bytes + entry->bytes);
    }
    return true;
}

}  // namespace

std::optional<std::string_view> elf_section(std::string_view file, std::string_view name)
{
    auto const header = elf_header(file);
    if (!header) return std::nullopt;
    auto const names_header = section_header(file, *header, header->e_shstrndx);
    if (!names_header) return std::nullopt;
    auto const names = part(file, names_header->sh_offset, names_header->sh_size);
    if (!names) return std::nullopt;
    for (std::uint64_t number = 0; number < header->e_shnum; ++number) {
        auto const section = section_header(file, *header, number);
        if (section && text_at(*names, section->sh_name) == name)
            return part(file, section->sh_offset, section->sh_size);
    }
    return std::nullopt;
}

std::optional<DeviceCode> device_code(std::string_view section)
{
    DeviceCode code;
    while (true) {
        // The linker fills the space between containers with zeros.
        auto const next = section.find_first_not_of('\0');
        if (next == std::string_view::npos) return code;
        section.remove_prefix(next);
        auto const container = read_at<Container>(section, 0);
        if (!container || container->magic != container_magic) return std::nullopt;
        auto const content = part(section, container->header_bytes, container->bytes);
        if (!content || !add_entries(*content, code)) return std::nullopt;
        section.remove_prefix(container->header_bytes + container->bytes);
    }
}

}  // namespace curtail::check
