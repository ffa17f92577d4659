// SPDX-License-Identifier: Apache-2.0
#include "tensors/head.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

#include "tensors/lookup3.hpp"

// The names of structures and fields are those of the HDF5 File Format Specification, version 3.
namespace curtail::tensors {
namespace {

constexpr std::uint64_t undefined_address = ~std::uint64_t{0};
constexpr std::size_t superblock_bytes = 48;

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

// IEEE 754 binary32, little-endian.
std::string float32_type()
{
    constexpr unsigned version_1_float = 0x11;
    constexpr unsigned implied_leading_bit = 0x20;
    return Encoder()
        .u8(version_1_float)
        .u8(implied_leading_bit)
        .u8(31)  // place of the sign bit
        .u8(0)
        .u32(4)
        .u16(0)
        .u16(32)   // precision
        .u8(23)    // place of the exponent
        .u8(8)     // bits of the exponent
        .u8(0)     // place of the mantissa
        .u8(23)    // bits of the mantissa
        .u32(127)  // bias of the exponent
        .bytes();
}

// UTF-8 of a fixed number of bytes.
std::string text_type(std::size_t size)
{
    constexpr unsigned version_1_string = 0x13;
    constexpr unsigned null_padded_utf8 = 0x11;
    return Encoder().u8(version_1_string).u8(null_padded_utf8).u16(0).u32(size).bytes();
}

std::string attribute(std::string const& name, std::string const& value)
{
    auto const stored = value.empty() ? std::string(1, '\0') : value;
    auto const type = text_type(stored.size());
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
                                           .text(stored)
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

// Its elements begin at `address`.
std::string dataset(TensorInfo const& info, std::uint64_t address)
{
    constexpr unsigned allocated_early_never_filled = 0x05;
    constexpr unsigned contiguous = 1;
    auto const bytes = static_cast<std::uint64_t>(info.bytes());
    return object_header(
        message(Message::dataspace, dataspace(info.shape)) +
        message(Message::datatype, float32_type()) +
        message(Message::fill_value, Encoder().u8(3).u8(allocated_early_never_filled).bytes()) +
        message(Message::data_layout,
                Encoder().u8(3).u8(contiguous).u64(address).u64(bytes).bytes()));
}

// The root group. `links` are names and addresses.
std::string root(std::vector<std::pair<std::string, std::uint64_t>> const& links,
                 json::Object const& attributes)
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
    for (auto const& [name, value] : attributes.members()) {
        if (value.as_text() == nullptr)
            throw std::invalid_argument("attribute " + name + " is a " + value.type_name());
        messages += attribute(name, *value.as_text());
    }
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

void check(std::span<TensorInfo const> tensors)
{
    std::set<std::string_view> names;
    for (auto const& info : tensors)
        if (!is_tensor_name(info.name) || info.name.find('/') != info.name.npos ||
            !names.insert(info.name).second || info.dtype != Dtype::float32 ||
            !is_valid_shape(info.shape, info.dtype) || info.bytes() == 0)
            throw std::invalid_argument("tensor \"" + info.name + "\" cannot be stored this way");
}

}  // namespace

std::string encode_head(std::span<TensorInfo const> tensors, json::Object const& attributes)
{
    check(tensors);
    // The length of a header does not depend on the addresses in it.
    std::vector<std::pair<std::string, std::uint64_t>> links;
    for (auto const& info : tensors) links.emplace_back(info.name, 0);
    std::uint64_t next = superblock_bytes + root(links, attributes).size();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        links[i].second = next;
        next += dataset(tensors[i], 0).size();
    }
    auto const elements = (next + head_alignment - 1) / head_alignment * head_alignment;
    auto end = elements;
    std::string datasets;
    for (auto const& info : tensors) {
        datasets += dataset(info, end);
        end += static_cast<std::uint64_t>(info.bytes());
    }
    std::sort(links.begin(), links.end());
    auto head = superblock(end) + root(links, attributes) + datasets;
    head.resize(elements, '\0');
    return head;
}

}  // namespace curtail::tensors
