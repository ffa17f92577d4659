// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/payload_transport.hpp"

#include <future>

namespace curtail::trainer {

using store::ReadFailure;

PayloadTransport::PayloadTransport(std::shared_ptr<store::ObjectStore> store,
                                   payload::Layout layout, std::shared_ptr<DirectPayloads> direct)
    : store_(std::move(store)),
      layout_(std::make_shared<payload::Layout const>(std::move(layout))),
      direct_(std::move(direct))
{
}

PayloadTransport PayloadTransport::direct_until(MonoTime time) const
{
    auto limited = *this;
    limited.direct_until_ = time;
    return limited;
}

Values PayloadTransport::get_made(protocol::PartRef const& part) const
{
    auto values = made_->find(part);
    if (!values) return nullptr;
    // Nobody may change them; if somebody has, the store still has what was stored.
    auto const encoded = payload::encode(*layout_, part.part, *values);
    return sha256_of(encoded.pieces()) == part.sha256 ? values : nullptr;
}

Values PayloadTransport::get_direct(protocol::PartRef const& part, CallLimits const& call) const
{
    if (!direct_ || call.is_over()) return nullptr;
    // The store needs time, too.
    auto const now = monotonic_now();
    auto const half = call.until ? now + (*call.until - now) / 2 : MonoTime::max();
    return direct_->fetch(*layout_, part, memory_, {call.cancel, std::min(direct_until_, half)});
}

Result<store::ObjectName> PayloadTransport::object(std::string const& name) const
{
    return chain::object_name(layout_->run, name);
}

Result<protocol::PartRef> PayloadTransport::put(protocol::PayloadPlace const& place,
                                                Values const& values, CallLimits const& call) const
{
    auto const name = object(place.name);
    if (!name) return tl::unexpected(name.error());
    auto const encoded = payload::encode(*layout_, place.part, *values);
    auto const bytes = encoded.pieces();
    // In another thread if one can start.
    auto digest = std::async([&] { return sha256_of(bytes); });
    if (auto stored = store_->put(*name, bytes, call); !stored)
        return tl::unexpected(stored.error());
    protocol::PartRef const part{place.part, place.name, static_cast<std::int64_t>(bytes.size()),
                                 digest.get()};
    made_->add(part, values);
    return part;
}

Result<bool> PayloadTransport::put_again(protocol::PartRef const& part, Pieces const& bytes,
                                         CallLimits const& call) const
{
    bool const same =
        static_cast<std::int64_t>(bytes.size()) == part.bytes && sha256_of(bytes) == part.sha256;
    if (!same) return false;
    auto const name = object(part.name);
    if (!name) return tl::unexpected(name.error());
    return store_->put(*name, bytes, call).map([] { return true; });
}

Result<bool> PayloadTransport::put_made_again(protocol::PartRef const& part,
                                              CallLimits const& call) const
{
    auto const values = made_->find(part);
    if (!values) return false;
    return put_again(part, payload::encode(*layout_, part.part, *values).pieces(), call);
}

tl::expected<Values, ReadFailure> PayloadTransport::get_any_form(protocol::PartRef const& part,
                                                                 CallLimits const& call) const
{
    auto const content = chain::RunObjects(*store_, layout_->run).payload(part, call);
    if (!content) return tl::unexpected(content.error());
    auto values = payload::decode(*layout_, part.part, store::text_of(*content), part.name);
    if (!values) return tl::unexpected(ReadFailure{ReadFailure::Cause::corrupt, values.error()});
    return *values;
}

tl::expected<Values, ReadFailure> PayloadTransport::get(protocol::PartRef const& part,
                                                        CallLimits const& call) const
{
    if (auto made = get_made(part)) return made;
    if (auto direct = get_direct(part, call)) return direct;
    if (direct_) direct_->count_store(part);
    auto values = memory_.take(layout_->elements());
    values.resize(layout_->elements());
    auto const read = chain::read_values(chain::RunObjects(*store_, layout_->run), part,
                                         form_of(*layout_, part), {chain::copy_to(values)}, call);
    if (!read) return tl::unexpected(read.error());
    if (*read) return memory_.share(std::move(values));
    return get_any_form(part, call);
}

tl::expected<void, ReadFailure> PayloadTransport::pass(protocol::PartRef const& part,
                                                       chain::ValueReceiver const& receiver,
                                                       CallLimits const& call) const
{
    auto const made = get_made(part);
    if (auto const whole = made ? made : get_direct(part, call)) {
        chain::pass_in_chunks(*whole, receiver.take);
        return {};
    }
    if (direct_) direct_->count_store(part);
    auto const read = chain::read_values(chain::RunObjects(*store_, layout_->run), part,
                                         form_of(*layout_, part), receiver, call);
    if (!read) return tl::unexpected(read.error());
    if (*read) return {};
    auto const values = get_any_form(part, call);
    if (!values) return tl::unexpected(values.error());
    receiver.take(0, **values);
    return {};
}

Result<bool> PayloadTransport::has(protocol::PartRef const& part, CallLimits const& call) const
{
    auto const read = chain::RunObjects(*store_, layout_->run)
                          .payload(
                              part, [] {}, [](std::span<std::byte const>) {}, call);
    if (read) return true;
    if (read.error().cause == ReadFailure::Cause::unavailable)
        return tl::unexpected(read.error().error);
    return false;
}

Result<void> PayloadTransport::discard(std::string const& name, CallLimits const& call) const
{
    auto const object_name = object(name);
    if (!object_name) return tl::unexpected(object_name.error());
    return store_->remove(*object_name, call);
}

}  // namespace curtail::trainer
