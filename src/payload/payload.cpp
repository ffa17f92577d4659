// SPDX-License-Identifier: Apache-2.0
#include "payload/payload.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "core/large_memory.hpp"
#include "tensors/head.hpp"
#include "tensors/reader.hpp"

namespace curtail::payload {
namespace {

constexpr char const* format = "curtail.payload/1";
// So many values stay in a processor's own cache.
constexpr std::size_t chunk_elements = std::size_t{1} << 16;

Result<void> check_attribute(tensors::TensorReader const& reader, std::string const& key,
                             std::string const& expected, std::string const& source)
{
    auto const* found = reader.attributes().find(key);
    auto const* text = found == nullptr ? nullptr : found->as_text();
    if (text != nullptr && *text == expected) return {};
    return fail(ExitCode::protocol, "cannot use payload " + source,
                key + " is " + (text == nullptr ? "missing" : *text) + ", expected " + expected);
}

Result<void> read_parameter(tensors::TensorReader const& reader, Parameter const& parameter,
                            std::span<float> out, std::string const& source)
{
    auto const info = reader.info(parameter.name);
    if (!info) return tl::unexpected(info.error());
    if (info->shape != parameter.shape)
        return fail(ExitCode::protocol, "cannot use payload " + source,
                    parameter.name + " has a different shape than in the run's model");
    return reader.read_into(parameter.name, tensors::Dtype::float32, std::as_writable_bytes(out));
}

void require_size_of(Layout const& layout, std::span<float const> values)
{
    if (values.size() != layout.elements())
        throw std::logic_error("payload and model differ in size");
}

}  // namespace

std::size_t Parameter::elements() const
{
    return static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

std::size_t Layout::elements() const
{
    std::size_t sum = 0;
    for (auto const& parameter : parameters) sum += parameter.elements();
    return sum;
}

std::string head_of(Layout const& layout, std::string const& part)
{
    std::vector<tensors::TensorInfo> tensors;
    tensors.reserve(layout.parameters.size());
    for (auto const& parameter : layout.parameters)
        tensors.push_back({parameter.name, tensors::Dtype::float32, parameter.shape});
    return tensors::encode_head(tensors,
                                {{"format", format}, {"run", layout.run.value}, {"part", part}})
        .bytes;
}

Pieces Encoded::pieces() const
{
    Pieces pieces{std::string_view(head)};
    pieces.add(std::as_bytes(values));
    return pieces;
}

Encoded encode(Layout const& layout, std::string const& part, std::span<float const> values)
{
    require_size_of(layout, values);
    return {head_of(layout, part), values};
}

Decoder::Decoder(Layout const& layout, std::string const& part, std::span<float> place)
    : head_(head_of(layout, part)), place_(std::as_writable_bytes(place))
{
    require_size_of(layout, place);
}

void Decoder::begin()
{
    arrived_ = 0;
    differs_ = false;
}

void Decoder::add(std::span<std::byte const> piece)
{
    if (arrived_ < head_.size()) {
        auto const size = std::min(piece.size(), head_.size() - arrived_);
        differs_ = differs_ || std::memcmp(piece.data(), head_.data() + arrived_, size) != 0;
        arrived_ += size;
        piece = piece.subspan(size);
    }
    if (piece.empty()) return;
    auto const offset = arrived_ - head_.size();
    differs_ = differs_ || piece.size() > place_.size() - offset;
    if (!differs_) std::memcpy(place_.data() + offset, piece.data(), piece.size());
    arrived_ += differs_ ? 0 : piece.size();
}

bool Decoder::finish() const { return !differs_ && arrived_ == head_.size() + place_.size(); }

ChunkDecoder::ChunkDecoder(Layout const& layout, std::string const& part, Sink sink)
    : head_(head_of(layout, part)),
      elements_(layout.elements()),
      sink_(std::move(sink)),
      chunk_(std::min(elements_, chunk_elements))
{
}

std::size_t ChunkDecoder::bytes() const { return head_.size() + elements_ * sizeof(float); }

void ChunkDecoder::begin()
{
    arrived_ = 0;
    passed_ = 0;
    differs_ = false;
}

void ChunkDecoder::add(std::span<std::byte const> piece)
{
    differs_ = differs_ || piece.size() > bytes() - arrived_;
    while (!differs_ && !piece.empty()) {
        if (auto const chunk = whole_chunk(piece); !chunk.empty()) {
            arrived_ += chunk.size_bytes();
            piece = piece.subspan(chunk.size_bytes());
            pass(chunk);
            continue;
        }
        auto const taken = take(piece);
        arrived_ += taken;
        piece = piece.subspan(taken);
        if (arrived_ == head_.size() + (passed_ + chunk_.size()) * sizeof(float)) pass(chunk_);
    }
}

// Compares bytes of the head, or copies bytes into the chunk. Returns how many.
std::size_t ChunkDecoder::take(std::span<std::byte const> piece)
{
    if (arrived_ < head_.size()) {
        auto const size = std::min(piece.size(), head_.size() - arrived_);
        differs_ = std::memcmp(piece.data(), head_.data() + arrived_, size) != 0;
        return size;
    }
    auto const filled = arrived_ - head_.size() - passed_ * sizeof(float);
    auto const rest = std::as_writable_bytes(std::span(chunk_)).subspan(filled);
    auto const size = std::min(piece.size(), rest.size());
    std::memcpy(rest.data(), piece.data(), size);
    return size;
}

// The next chunk, if it lies in the piece as a whole and can be used there.
std::span<float const> ChunkDecoder::whole_chunk(std::span<std::byte const> piece) const
{
    auto const bytes = chunk_.size() * sizeof(float);
    bool const at_border = arrived_ == head_.size() + passed_ * sizeof(float);
    bool const aligned = reinterpret_cast<std::uintptr_t>(piece.data()) % alignof(float) == 0;
    if (!at_border || !aligned || piece.size() < bytes) return {};
    return {reinterpret_cast<float const*>(piece.data()), chunk_.size()};
}

void ChunkDecoder::pass(std::span<float const> values)
{
    auto const first = passed_;
    passed_ += values.size();
    sink_(first, values);
}

bool ChunkDecoder::finish()
{
    if (differs_ || arrived_ != bytes()) return false;
    if (passed_ < elements_) pass(std::span(chunk_).first(elements_ - passed_));
    return true;
}

void pass_in_chunks(std::span<float const> values, ChunkDecoder::Sink const& sink)
{
    for (std::size_t first = 0; first < values.size(); first += chunk_elements)
        sink(first, values.subspan(first, std::min(chunk_elements, values.size() - first)));
}

Result<Values> decode(Layout const& layout, std::string const& part, std::string_view bytes,
                      std::string const& source)
{
    auto values = std::make_shared<std::vector<float>>(large_vector<float>(layout.elements()));
    if (auto done = decode_into(*values, layout, part, bytes, source); !done)
        return tl::unexpected(done.error());
    return Values(std::move(values));
}

Result<void> decode_into(std::span<float> place, Layout const& layout, std::string const& part,
                         std::string_view bytes, std::string const& source)
{
    require_size_of(layout, place);
    auto const reader = tensors::TensorReader::from_view(std::as_bytes(std::span(bytes)), source);
    if (!reader) return tl::unexpected(reader.error());
    std::vector<std::pair<std::string, std::string>> attributes{{"format", format}, {"part", part}};
    // A fork takes over the weights and momentum of another run.
    if (part.starts_with('d')) attributes.emplace_back("run", layout.run.value);
    for (auto const& [key, expected] : attributes)
        if (auto good = check_attribute(*reader, key, expected, source); !good)
            return tl::unexpected(good.error());
    for (auto const& parameter : layout.parameters) {
        auto const out = place.first(parameter.elements());
        if (auto read = read_parameter(*reader, parameter, out, source); !read) return read;
        place = place.subspan(parameter.elements());
    }
    return {};
}

}  // namespace curtail::payload
