// SPDX-License-Identifier: Apache-2.0
#include "operate/store_time.hpp"

#include <atomic>
#include <random>

#include "base/core/clock.hpp"
#include "protocol/records/names.hpp"

namespace curtail::operate {

Result<store::ObjectName> new_probe(RunId const& run)
{
    static std::uint32_t const nonce = std::random_device{}();
    static std::atomic<std::int64_t> attempt{0};
    return chain::object_name(run, protocol::probe_name({{probe_site}, nonce}, ++attempt));
}

Result<StoreTime> read_store_time(store::ObjectStore& store, RunId const& run)
{
    auto const name = new_probe(run);
    if (!name) return tl::unexpected(name.error());
    auto const begin = SystemClock{}.now();
    auto const created = store.create(*name, store::bytes_of("{}"));
    auto const end = SystemClock{}.now();
    if (!created) return tl::unexpected(created.error());
    auto const info = store.stat(*name);
    auto const removed = store.remove(*name);
    if (*created != store::CreateOutcome::created)
        return fail(ExitCode::temporary, "cannot read the store's clock",
                    "the store did not answer a create", "try again");
    if (!info) return tl::unexpected(info.error());
    if (!*info)
        return fail(ExitCode::temporary, "cannot read the store's clock",
                    "the store does not show an object that it has just created", "try again");
    if (!removed) return tl::unexpected(removed.error());
    return StoreTime{(*info)->modified, begin + (end - begin) / 2, end - begin};
}

}  // namespace curtail::operate
