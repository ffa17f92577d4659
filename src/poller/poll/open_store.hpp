// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "poller/poll/recovery.hpp"
#include "poller/poll/state_store.hpp"
#include "run/config/run.hpp"

namespace curtail::poll {

/// Whether a poller may change its folder.
enum class Access {
    write,  ///< the poller locks the folder and may change it
    read    ///< the poller changes nothing on disk and takes no lock
};

/// Reads the folder `poller/` in the run's folder, and recovers the poller's state from it
/// (recover()). Opens a StateStore with this state. `now` is real time.
///
/// With Access::write, locks the folder first. Fails with `temporary` if another poller holds the
/// lock; the error names that poller. Fails with `permission` if other users may access the folder.
[[nodiscard]] Result<std::unique_ptr<StateStore>> open_store(config::Run const& run, Access access,
                                                             Time now);

}  // namespace curtail::poll
