// SPDX-License-Identifier: Apache-2.0
#include "train/payload_reading.hpp"

#include "chain/run_objects.hpp"

namespace curtail::train {
namespace {

using store::ReadFailure;

// Reads a payload of any form, or says why it is of no use.
tl::expected<Values, ReadFailure> read_any_form(PayloadSource const& source,
                                                rounds::PartRef const& part, Call const& call)
{
    chain::RunObjects const objects(source.store, source.layout.run);
    auto const content = objects.payload(part, call);
    if (!content) return tl::unexpected(content.error());
    auto values = payload::decode(source.layout, part.part, store::text_of(*content), part.name);
    if (!values) return tl::unexpected(ReadFailure{ReadFailure::Cause::corrupt, values.error()});
    return *values;
}

}  // namespace

tl::expected<Values, ReadFailure> read_payload(PayloadSource const& source,
                                               rounds::PartRef const& part, Call const& call)
{
    if (auto made = source.made.find(part)) return made;
    payload::Decoder decoder(source.layout, part.part,
                             source.memory.take(source.layout.elements()));
    auto const read = chain::RunObjects(source.store, source.layout.run)
                          .payload(
                              part, [&] { decoder.begin(); },
                              [&](std::span<std::byte const> piece) { decoder.add(piece); }, call);
    if (!read) return tl::unexpected(read.error());
    if (auto values = decoder.finish()) return source.memory.share(std::move(*values));
    return read_any_form(source, part, call);
}

tl::expected<void, ReadFailure> pass_payload(PayloadSource const& source,
                                             rounds::PartRef const& part,
                                             ValueReceiver const& receiver, Call const& call)
{
    if (auto const made = source.made.find(part)) {
        payload::pass_in_chunks(*made, receiver.take);
        return {};
    }
    payload::ChunkDecoder chunks(source.layout, part.part, receiver.take);
    auto const begin = [&] {
        if (chunks.has_passed_any()) receiver.restart();
        chunks.begin();
    };
    auto const read =
        chain::RunObjects(source.store, source.layout.run)
            .payload(
                part, begin, [&](std::span<std::byte const> piece) { chunks.add(piece); }, call);
    if (!read) return tl::unexpected(read.error());
    if (chunks.finish()) return {};
    // The sink may have received values of a longer or shorter payload.
    if (chunks.has_passed_any()) receiver.restart();
    auto const values = read_any_form(source, part, call);
    if (!values) return tl::unexpected(values.error());
    receiver.take(0, **values);
    return {};
}

}  // namespace curtail::train
