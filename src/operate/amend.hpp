// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// What an operator proposes.
struct AmendmentRequest {
    protocol::Terms terms;  ///< all terms in full
    bool zero_momentum{};   ///< also forget the momentum of the outer optimizer
    std::string reason;     ///< for people
};

/// An amendment that is ready to be created, and what it changes.
struct PreparedAmendment {
    protocol::Amendment amendment;
    std::vector<std::string> changes;  ///< one text for each term that changes
};

/// Prepares the amendment that follows the last one in the store, also if the run has not taken
/// that one in yet. Fails with `no_input` if the store has no such run. Fails with `data` if the
/// run is complete, if nothing would change, or if the run cannot take the amendment in
/// (protocol::obstacle).
[[nodiscard]] Result<PreparedAmendment> prepare_amendment(chain::RunObjects const& objects,
                                                          AmendmentRequest const& request,
                                                          Time now);

/// Creates the amendment. Fails with `temporary` if somebody else has created one with its number
/// meanwhile.
[[nodiscard]] Result<void> create_amendment(chain::RunObjects const& objects,
                                            protocol::Amendment const& amendment);

}  // namespace curtail::operate
