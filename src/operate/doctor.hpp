// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "base/core/ids.hpp"
#include "protocol/upkeep/fitness.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::operate {

struct DoctorOptions {
    Bytes size{std::int64_t{128} << 20};  ///< of the object that is transferred; 0: none is
    int names{20};                        ///< that several writers create at a time
    int writers{8};
};

/// Examines a store with objects of its own: probes of run `run`, which it removes. Changes no
/// other object, so sites may train meanwhile. `progress` receives the name of each step.
///
/// If the first create fails, makes no other check.
[[nodiscard]] upkeep::Measurements doctor(
    store::ObjectStore& store, RunId const& run, DoctorOptions const& options = {},
    std::function<void(char const* step)> const& progress = {});

}  // namespace curtail::operate
