// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/payload_values.hpp"

#include <algorithm>
#include <cstring>

namespace curtail::chain {
namespace {

// So many values stay in a processor's own cache.
constexpr std::size_t chunk_elements = std::size_t{1} << 16;

}  // namespace

ChunkDecoder::ChunkDecoder(PayloadForm form, Sink sink)
    : form_(std::move(form)),
      sink_(std::move(sink)),
      chunk_(std::min(form_.elements, chunk_elements))
{
}

void ChunkDecoder::begin()
{
    head_.clear();
    arrived_ = 0;
    passed_ = 0;
    differs_ = false;
}

void ChunkDecoder::add(std::span<std::byte const> piece)
{
    differs_ = differs_ || piece.size() > form_.bytes() - arrived_;
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
        if (arrived_ == form_.head_bytes + (passed_ + chunk_.size()) * sizeof(float)) pass(chunk_);
    }
}

// Takes bytes of the head, or copies bytes into the chunk. Returns how many.
std::size_t ChunkDecoder::take(std::span<std::byte const> piece)
{
    if (arrived_ < form_.head_bytes) {
        auto const size = std::min(piece.size(), form_.head_bytes - arrived_);
        head_ += store::text_of(piece.first(size));
        auto const known = std::min(head_.size(), form_.beginning.size());
        differs_ = std::string_view(head_).substr(0, known) !=
                   std::string_view(form_.beginning).substr(0, known);
        return size;
    }
    auto const filled = arrived_ - form_.head_bytes - passed_ * sizeof(float);
    auto const rest = std::as_writable_bytes(std::span(chunk_)).subspan(filled);
    auto const size = std::min(piece.size(), rest.size());
    std::memcpy(rest.data(), piece.data(), size);
    return size;
}

// The next chunk, if it lies in the piece as a whole and can be used there.
std::span<float const> ChunkDecoder::whole_chunk(std::span<std::byte const> piece) const
{
    auto const bytes = chunk_.size() * sizeof(float);
    bool const at_border = arrived_ == form_.head_bytes + passed_ * sizeof(float);
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
    if (differs_ || arrived_ != form_.bytes()) return false;
    if (passed_ < form_.elements) pass(std::span(chunk_).first(form_.elements - passed_));
    return true;
}

void pass_in_chunks(std::span<float const> values, ChunkDecoder::Sink const& sink)
{
    for (std::size_t first = 0; first < values.size(); first += chunk_elements)
        sink(first, values.subspan(first, std::min(chunk_elements, values.size() - first)));
}

ChunkDecoder::Sink copy_to(std::span<float> place)
{
    return [place](std::size_t first, std::span<float const> values) {
        std::copy(values.begin(), values.end(), place.subspan(first, values.size()).begin());
    };
}

tl::expected<std::optional<std::string>, store::ReadFailure> read_values(
    RunObjects const& objects, protocol::PartRef const& part, PayloadForm const& form,
    ValueReceiver const& receiver, CallLimits const& call)
{
    ChunkDecoder chunks(form, receiver.take);
    auto const restart = [&] {
        if (chunks.has_passed_any()) receiver.restart();
        chunks.begin();
    };
    auto const read = objects.payload(
        part, restart, [&](std::span<std::byte const> piece) { chunks.add(piece); }, call);
    if (!read) return tl::unexpected(read.error());
    if (chunks.finish()) return chunks.head();
    // The sink may have received values of a longer or shorter payload.
    restart();
    return std::nullopt;
}

}  // namespace curtail::chain
