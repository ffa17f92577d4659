// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// The site in the names of the probes that `curtail-store` creates.
inline constexpr char const* probe_site = "curtail-store";

/// Returns a new name for a probe of run `run`: no other process uses it.
[[nodiscard]] Result<store::ObjectName> new_probe(RunId const& run);

/// The clock of a store at one moment.
struct StoreTime {
    Time time;          ///< by the store's clock; S3 servers round down to seconds
    Time machine_time;  ///< by this machine's clock, in the middle of the request
    Millis request{};   ///< how long the request took
    /// Returns how far the store's clock is ahead of this machine's.
    [[nodiscard]] Millis ahead() const { return time - machine_time; }
    /// Returns by how much ahead() may be wrong.
    [[nodiscard]] Millis precision() const { return request / 2 + Millis{1000}; }
};
/// Reads the store's clock: creates a probe, inspects it and removes it. Fails as the store does,
/// and with `temporary` if the store did not answer the create.
[[nodiscard]] Result<StoreTime> read_store_time(store::ObjectStore& store, RunId const& run);

}  // namespace curtail::operate
