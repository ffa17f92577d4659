// SPDX-License-Identifier: Apache-2.0
#include "gpu/fat_binary.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/core/files.hpp"

namespace curtail::check {
namespace {

template <class T>
void append(std::string& bytes, T value)
{
    for (std::size_t i = 0; i < sizeof(T); ++i)
        bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

// One part of a container: its kind (1: PTX, 2: binary), capability and code.
std::string entry(std::uint16_t kind, std::uint32_t capability, std::string const& code)
{
    constexpr std::uint32_t header_bytes = 64;
    std::string bytes;
    append(bytes, kind);
    append(bytes, std::uint16_t{0x101});
    append(bytes, header_bytes);
    append(bytes, std::uint64_t{code.size()});
    bytes += std::string(12, '\x11');
    append(bytes, capability);
    bytes.resize(header_bytes, '\x22');
    return bytes + code;
}

std::string container(std::string const& entries)
{
    std::string bytes;
    append(bytes, std::uint32_t{0xba55ed50});
    append(bytes, std::uint16_t{1});
    append(bytes, std::uint16_t{16});
    append(bytes, std::uint64_t{entries.size()});
    return bytes + entries;
}

std::string const two = container(entry(2, 80, "eight") + entry(2, 90, "ninety nine"));

TEST(DeviceCode, ListsTheCapabilitiesOfAllContainers)
{
    auto const padding = std::string(5, '\0');
    auto const code = device_code(two + padding + container(entry(1, 90, "ptx")) + padding);
    ASSERT_TRUE(code);
    EXPECT_EQ(code->binaries, (std::set<int>{80, 90}));
    EXPECT_EQ(code->intermediate, (std::set<int>{90}));
}

TEST(DeviceCode, OfAnEmptySectionIsEmpty)
{
    auto const code = device_code("");
    ASSERT_TRUE(code);
    EXPECT_TRUE(code->binaries.empty());
}

TEST(DeviceCode, CannotBeReadFromADamagedSection)
{
    EXPECT_FALSE(device_code("text"));
    for (std::size_t size = 1; size < two.size(); ++size)
        EXPECT_FALSE(device_code(std::string_view(two).substr(0, size))) << size;
    auto wrong = two;
    wrong[16 + 4] = 0;  // the size of an entry's header
    EXPECT_FALSE(device_code(wrong));
}

TEST(ElfSection, IsFoundByItsName)
{
    // The linker puts the interpreter's path into this section of every dynamic program.
    auto const program = read_file("/proc/self/exe").value();
    auto const section = elf_section(program, ".interp");
    ASSERT_TRUE(section);
    EXPECT_NE(section->find("/ld-linux"), std::string_view::npos);
    EXPECT_FALSE(elf_section(program, ".nv_fatbin"));  // this test has no device code
}

TEST(ElfSection, IsNotFoundInADamagedFile)
{
    auto const program = read_file("/proc/self/exe").value();
    EXPECT_FALSE(elf_section("", ".interp"));
    EXPECT_FALSE(elf_section("#!/bin/sh\nexit 0\n" + std::string(100, ' '), ".interp"));
    EXPECT_FALSE(elf_section(std::string_view(program).substr(0, 100), ".interp"));
    EXPECT_FALSE(elf_section(std::string_view(program).substr(0, program.size() / 2), ".interp"));
}

}  // namespace
}  // namespace curtail::check
