// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/head.hpp"

#include <bit>
#include <map>
#include <stdexcept>

#include "storage/tensors/lookup3.hpp"

// The names of structures and fields are those of the HDF5 File Format Specification, version 3.
namespace curtail::tensors {
namespace {

constexpr std::uint64_t undefined_address = ~std::uint64_t{0};
constexpr std::uint64_t superblock_bytes = 48;

enum class Message : unsigned char {
    dataspace = 0x01,
    link_info = 0x02,
    datatype = 0x03,
    fill_value = 0x05,
    link = 0x06,
    data_layout = 0x08,
    group_info = 0x0a,
    attribute = 0x0c,
    attribute_info = 0x15
};

// Appends little-endian numbers to a text.
class Encoder {
  public:
    Encoder& u8(unsigned value) { return number(value, 1); }
    Encoder& u16(std::size_t value) { return number(value, 2); }
    Encoder& u32(std::size_t value) { return number(value, 4); }
    Encoder& u64(std::uint64_t value) { return number(value, 8); }
    Encoder& text(std::string_view value)
    {
        bytes_ += value;
        return *this;
    }
    Encoder& checksum() { return u32(lookup3(bytes_)); }
    [[nodiscard]] std::string const& bytes() const { return bytes_; }

  private:
    Encoder& number(std::uint64_t value, int size)
    {
        for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
        return *this;
    }
    std::string bytes_;
};

std::string message(Message type, std::string const& body)
{
    if (body.size() > 0xffff) throw std::invalid_argument("an attribute or name is too long");
    return Encoder().u8(static_cast<unsigned>(type)).u16(body.size()).u8(0).text(body).bytes();
}

std::string object_header(std::string const& messages)
{
    constexpr unsigned four_byte_size = 2;  // the size of chunk 0 has four bytes
    return Encoder()
        .text("OHDR")
        .u8(2)
        .u8(four_byte_size)
        .u32(messages.size())
        .text(messages)
        .checksum()
        .bytes();
}

std::string scalar_dataspace() { return Encoder().u8(2).u8(0).u8(0).u8(0).bytes(); }

std::string dataspace(Shape const& shape)
{
    if (shape.empty()) return scalar_dataspace();
    Encoder out;
    out.u8(2).u8(static_cast<unsigned>(shape.size())).u8(0).u8(1);
    for (auto const extent : shape) out.u64(static_cast<std::uint64_t>(extent));
    return out.bytes();
}

// IEEE 754, little-endian, with this number of bits for the exponent.
std::string float_type(std::size_t bytes, unsigned exponent)
{
    constexpr unsigned version_1_float = 0x11;
    constexpr unsigned implied_leading_bit = 0x20;
    auto const sign = static_cast<unsigned>(8 * bytes - 1);
    return Encoder()
        .u8(version_1_float)
        .u8(implied_leading_bit)
        .u8(sign)  // its place
        .u8(0)
        .u32(bytes)
        .u16(0)
        .u16(8 * bytes)                               // precision
        .u8(sign - exponent)                          // place of the exponent
        .u8(exponent)                                 // bits of the exponent
        .u8(0)                                        // place of the mantissa
        .u8(sign - exponent)                          // bits of the mantissa
        .u32((std::size_t{1} << (exponent - 1)) - 1)  // bias of the exponent
        .bytes();
}

// Little-endian.
std::string integer_type(std::size_t bytes, bool is_signed)
{
    constexpr unsigned version_1_integer = 0x10;
    return Encoder()
        .u8(version_1_integer)
        .u8(is_signed ? 0x08 : 0)
        .u16(0)
        .u32(bytes)
        .u16(0)          // place of the lowest bit
        .u16(8 * bytes)  // precision
        .bytes();
}

// UTF-8 of a fixed number of bytes.
std::string text_type(std::size_t size)
{
    constexpr unsigned version_1_string = 0x13;
    constexpr unsigned null_padded_utf8 = 0x11;
    return Encoder().u8(version_1_string).u8(null_padded_utf8).u16(0).u32(size).bytes();
}

std::string type_of(Dtype dtype)
{
    auto const bytes = size_of(dtype);
    switch (dtype) {
        case Dtype::float32:
            return float_type(bytes, 8);
        case Dtype::float64:
            return float_type(bytes, 11);
        case Dtype::int32:
        case Dtype::int64:
            return integer_type(bytes, true);
        default:
            return integer_type(bytes, false);
    }
}

// A type and a value of this type.
std::pair<std::string, std::string> stored(std::string const& name, json::Value const& value)
{
    if (auto const* text = value.as_text()) {
        auto const bytes = text->empty() ? std::string(1, '\0') : *text;
        return {text_type(bytes.size()), bytes};
    }
    if (auto const* integer = value.as_integer())
        return {type_of(Dtype::int64), Encoder().u64(static_cast<std::uint64_t>(*integer)).bytes()};
    auto const number = value.as_number();
    if (!number) throw std::invalid_argument("attribute " + name + " is a " + value.type_name());
    return {type_of(Dtype::float64), Encoder().u64(std::bit_cast<std::uint64_t>(*number)).bytes()};
}

std::string attribute(std::string const& name, json::Value const& value)
{
    if (!is_tensor_name(name)) throw std::invalid_argument("bad attribute name \"" + name + "\"");
    auto const [type, bytes] = stored(name, value);
    auto const space = scalar_dataspace();
    return message(Message::attribute, Encoder()
                                           .u8(3)
                                           .u8(0)
                                           .u16(name.size() + 1)
                                           .u16(type.size())
                                           .u16(space.size())
                                           .u8(0)
                                           .text(name)
                                           .u8(0)
                                           .text(type)
                                           .text(space)
                                           .text(bytes)
                                           .bytes());
}

std::string link(std::string const& name, std::uint64_t address)
{
    return message(Message::link, Encoder()
                                      .u8(1)
                                      .u8(0)
                                      .u8(static_cast<unsigned>(name.size()))
                                      .text(name)
                                      .u64(address)
                                      .bytes());
}

// Its elements begin at `address`, if it has any.
std::string dataset(TensorInfo const& info, std::uint64_t address)
{
    constexpr unsigned allocated_early_never_filled = 0x05;
    constexpr unsigned contiguous = 1;
    auto const bytes = static_cast<std::uint64_t>(info.bytes());
    if (bytes == 0) address = undefined_address;
    return object_header(
        message(Message::dataspace, dataspace(info.shape)) +
        message(Message::datatype, type_of(info.dtype)) +
        message(Message::fill_value, Encoder().u8(3).u8(allocated_early_never_filled).bytes()) +
        message(Message::data_layout,
                Encoder().u8(3).u8(contiguous).u64(address).u64(bytes).bytes()));
}

// The addresses of a group's members by name; 0 while they are not known.
using Links = std::map<std::string, std::uint64_t>;

// Only the root has attributes.
std::string group(Links const& links, json::Object const& attributes)
{
    constexpr unsigned has_phase_change = 1;
    constexpr std::size_t most_compact = 0xffff;
    auto messages =
        message(Message::link_info,
                Encoder().u8(0).u8(0).u64(undefined_address).u64(undefined_address).bytes()) +
        message(Message::group_info,
                Encoder().u8(0).u8(has_phase_change).u16(most_compact).u16(0).bytes());
    for (auto const& [name, address] : links) messages += link(name, address);
    messages +=
        message(Message::attribute_info,
                Encoder().u8(0).u8(0).u64(undefined_address).u64(undefined_address).bytes());
    for (auto const& [name, value] : attributes.members()) messages += attribute(name, value);
    return object_header(messages);
}

std::string superblock(std::uint64_t end_of_file)
{
    return Encoder()
        .text("\x89HDF\r\n\x1a\n")
        .u8(2)
        .u8(8)  // size of offsets
        .u8(8)  // size of lengths
        .u8(0)
        .u64(0)
        .u64(undefined_address)
        .u64(end_of_file)
        .u64(superblock_bytes)  // address of the root group
        .checksum()
        .bytes();
}

// The path of the group that has this member, and the member's name in it.
std::pair<std::string, std::string> parent_and_name(std::string const& path)
{
    auto const slash = path.rfind('/');
    if (slash == path.npos) return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

// The groups of a file by path. The path of the root, which comes first, is empty.
std::map<std::string, Links> groups_of(std::span<TensorInfo const> tensors)
{
    std::map<std::string, Links> groups{{"", {}}};
    auto const add = [&](std::string const& path) {
        auto const [parent, name] = parent_and_name(path);
        return groups[parent].emplace(name, 0).second;
    };
    for (auto const& [path, dtype, shape] : tensors)
        for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
            add(path.substr(0, slash));
    for (auto const& info : tensors)
        if (!is_tensor_name(info.name) || !is_valid_shape(info.shape, info.dtype) ||
            !add(info.name))
            throw std::invalid_argument("tensor \"" + info.name + "\" cannot be stored");
    return groups;
}

std::int64_t aligned(std::int64_t position, std::int64_t alignment)
{
    return (position + alignment - 1) / alignment * alignment;
}

}  // namespace

FileHead encode_head(std::span<TensorInfo const> tensors, json::Object const& attributes,
                     std::int64_t alignment)
{
    auto groups = groups_of(tensors);
    auto const header = [&](auto const& entry) {
        return group(entry.second, entry.first.empty() ? attributes : json::Object{});
    };
    auto next = superblock_bytes;
    auto const place = [&](std::string const& path, std::string const& bytes) {
        auto const [parent, name] = parent_and_name(path);
        if (!path.empty()) groups.at(parent).at(name) = next;
        next += bytes.size();
    };
    // The length of a header does not depend on the addresses in it.
    for (auto const& entry : groups) place(entry.first, header(entry));
    for (auto const& info : tensors) place(info.name, dataset(info, 0));
    auto const elements = aligned(static_cast<std::int64_t>(next), head_alignment);
    FileHead head{.file_bytes = elements};
    std::string datasets;
    for (auto const& info : tensors) {
        auto const offset = aligned(head.file_bytes, alignment);
        datasets += dataset(info, static_cast<std::uint64_t>(offset));
        head.offsets.push_back(offset);
        head.file_bytes = offset + info.bytes();
    }
    head.bytes = superblock(static_cast<std::uint64_t>(head.file_bytes));
    for (auto const& entry : groups) head.bytes += header(entry);
    head.bytes += datasets;
    head.bytes.resize(static_cast<std::size_t>(elements), '\0');
    return head;
}

}  // namespace curtail::tensors
