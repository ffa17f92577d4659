// SPDX-License-Identifier: Apache-2.0
#include "operate/destination.hpp"

#include <thread>

namespace curtail::operate {

Result<bool> Destination::has(std::string const& name, Digest const& digest)
{
    auto const there = objects_.record(name);
    if (!there) return tl::unexpected(there.error());
    if (!*there) return false;
    if (sha256(**there) != digest) return differs(name);
    count_found();
    return true;
}

Result<void> Destination::record(std::string const& name, std::string const& bytes)
{
    constexpr int tries = 5;
    constexpr Millis pause{200};
    auto const digest = sha256(bytes);
    auto const object = chain::object_name(objects_.run(), name);
    if (!object) return tl::unexpected(object.error());
    for (int attempt = 1; attempt <= tries; ++attempt) {
        if (attempt > 2) std::this_thread::sleep_for(pause);
        auto const outcome = objects_.store().create(*object, store::bytes_of(bytes));
        if (!outcome) return tl::unexpected(outcome.error());
        if (*outcome == store::CreateOutcome::created) {
            count_written(bytes.size());
            return {};
        }
        // The record existed, or there was no answer.
        auto const there = has(name, digest);
        if (!there) return tl::unexpected(there.error());
        if (*there) return {};
    }
    return fail(ExitCode::temporary, "cannot write " + name, "the store does not answer",
                "repeat the " + act_ + " to resume it");
}

Result<bool> Destination::has(protocol::PartRef const& part)
{
    auto const name = chain::object_name(objects_.run(), part.name);
    if (!name) return tl::unexpected(name.error());
    auto const info = objects_.store().stat(*name);
    if (!info) return tl::unexpected(info.error());
    if (!*info || (*info)->size.value != part.bytes) return false;
    auto const facts = objects_.payload_facts(part.name);
    if (!facts) return tl::unexpected(facts.error());
    bool const right = *facts && (*facts)->sha256 == part.sha256;
    if (right) count_found();
    return right;
}

Result<void> Destination::put(protocol::PartRef const& part, store::Content const& content)
{
    auto const name = chain::object_name(objects_.run(), part.name);
    if (!name) return tl::unexpected(name.error());
    auto put = objects_.store().put(*name, content);
    if (put) count_written(content.size());
    return put;
}

tl::unexpected<Error> Destination::differs(std::string const& name) const
{
    return fail(ExitCode::protocol, "cannot " + act_ + " run " + objects_.run().value,
                name + " in the destination differs from that of the " + act_,
                "the destination has another run of this name, or sites have trained with it: " +
                    act_ + " to an empty folder or prefix");
}

Destination::Counts Destination::counts() const
{
    std::lock_guard const guard(mutex_);
    return counts_;
}

void Destination::count_written(std::size_t bytes)
{
    std::lock_guard const guard(mutex_);
    ++counts_.written;
    counts_.bytes += Bytes{static_cast<std::int64_t>(bytes)};
}

void Destination::count_found()
{
    std::lock_guard const guard(mutex_);
    ++counts_.found;
}

}  // namespace curtail::operate
