// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/direct_payloads.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/core/clock.hpp"
#include "protocol/records/names.hpp"

namespace curtail::trainer {

chain::PayloadForm form_of(payload::Layout const& layout, protocol::PartRef const& part)
{
    return chain::PayloadForm::with_head(payload::head_of(layout, part.part), layout.elements());
}

void DirectPayloads::offer(payload::Layout const& layout, protocol::PartRef const& part,
                           payload::Values const& values)
{
    struct Content {
        std::string head;
        payload::Values values;
    };
    auto const content =
        std::make_shared<Content const>(Content{payload::head_of(layout, part.part), values});
    auto const read = [content](std::size_t offset, std::span<std::byte> place) {
        payload::EncodedPayload const encoded{content->head, *content->values};
        return encoded.pieces().copy(offset, place) == place.size();
    };
    bridges_->offers().add(part.sha256, {part.bytes, read});
}

void DirectPayloads::offer_file(protocol::PartRef const& part, Fd file)
{
    if (!file) return;
    auto const read = [shared = std::make_shared<Fd const>(std::move(file))](
                          std::size_t offset, std::span<std::byte> place) {
        while (!place.empty()) {
            auto const n =
                ::pread(shared->get(), place.data(), place.size(), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            offset += static_cast<std::size_t>(n);
            place = place.subspan(static_cast<std::size_t>(n));
        }
        return true;
    };
    bridges_->offers().replace(part.sha256, {part.bytes, read});
}

void DirectPayloads::withdraw(protocol::PartRef const& part)
{
    bridges_->offers().remove(part.sha256);
}

payload::Values DirectPayloads::failed(std::string why)
{
    count([&](auto& read) { read.why_store = std::move(why); });
    return nullptr;
}

payload::Values DirectPayloads::fetch(payload::Layout const& layout, protocol::PartRef const& part,
                                      payload::ValueMemory const& memory, CallLimits const& call)
{
    auto const own = bridges_->offers().find(part.sha256, part.bytes);
    if (!own && is_own(part)) return nullptr;
    auto const owner = protocol::owner_of(part.name);
    if (!owner) return failed("its name does not say who made it");
    if (auto const why = own ? std::nullopt : bridges_->why_not_connected(*owner))
        return failed(*why);
    auto values = memory.take(layout.elements());
    values.resize(layout.elements());
    chain::ChunkDecoder decoder(form_of(layout, part), chain::copy_to(values));
    auto const take = [&](std::span<std::byte const> piece) { decoder.add(piece); };
    auto why = read(part, own, *owner, take, call);
    if (!why && !decoder.finish()) why = "it has another form than this site writes";
    auto found = memory.share(std::move(values));  // gives the memory back if nobody uses it
    if (why) return failed(*why);
    if (!own) count([&](auto& read) { read.by_mpi += Bytes{part.bytes}; });
    return found;
}

std::optional<std::string> DirectPayloads::read(protocol::PartRef const& part,
                                                std::optional<bridge::OfferedPayload> const& own,
                                                MemberId const& owner,
                                                bridge::Connection::Sink const& sink,
                                                CallLimits const& call)
{
    if (own && bridge::read_offered(*own, part.sha256, sink)) return std::nullopt;
    if (own) return "this site's copy is damaged";
    auto const until = std::min(call.until.value_or(MonoTime::max()), monotonic_now() + timeout_);
    auto const fetched =
        bridges_->fetch(owner, part.sha256, part.bytes, sink, {call.cancel, until});
    return fetched ? std::nullopt : std::optional(fetched.error());
}

void DirectPayloads::set_members(MemberId const& own, std::vector<MemberId> const& members)
{
    {
        std::lock_guard const lock(mutex_);
        own_site_ = protocol::member_parts(own).process.site;
    }
    bridges_->set_members(own, members);
}

bool DirectPayloads::is_own(protocol::PartRef const& part) const
{
    auto const owner = protocol::owner_of(part.name);
    std::lock_guard const lock(mutex_);
    return owner && protocol::member_parts(*owner).process.site == own_site_;
}

void DirectPayloads::count_store(protocol::PartRef const& part)
{
    if (!is_own(part)) count([&](auto& read) { read.from_store += Bytes{part.bytes}; });
}

void DirectPayloads::count(std::function<void(runlog::PayloadsRead&)> const& change)
{
    std::lock_guard const lock(mutex_);
    if (!read_) read_.emplace();
    change(*read_);
}

std::optional<runlog::PayloadsRead> DirectPayloads::take_read()
{
    std::lock_guard const lock(mutex_);
    return std::exchange(read_, std::nullopt);
}

}  // namespace curtail::trainer
