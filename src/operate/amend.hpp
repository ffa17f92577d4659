// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// What an operator proposes.
struct AmendmentRequest {
    /// By the run file. Of its data, only `manifest` counts, and only if `knows_data` is set.
    protocol::RunSpec wanted;
    bool knows_data{};
    /// Whether the run file states rounds.drop_after_s. Otherwise it follows from the terms in
    /// force with the changes.
    bool states_drop_after{true};
    /// Keys of run files: the terms to change, such as `rounds.gather_time_s` or `sites.D`, or
    /// sections of them. Empty: each term that differs, unless the run has had the file's value
    /// before an amendment. Such a file may be older than the amendment.
    std::vector<std::string> only;
    bool zero_momentum{};  ///< also forget the momentum of the outer optimizer
    std::string reason;    ///< for people
};

/// An amendment that is ready to be created.
struct PreparedAmendment {
    protocol::Amendment amendment;
    /// For people: the terms that differ and stay, because the run had the file's value before.
    std::vector<std::string> kept;
    Tokens end;  ///< tokens after which the amended run is complete
};

/// Prepares the amendment that follows the last one in the store, also if the run has not taken
/// that one in yet. Fails with:
/// - `no_input` if the store has no such run;
/// - `config` if a trainer would refuse the run file (protocol::difference), or if the budget would
///   change while the learning rates fall;
/// - `usage` if `only` names a term that does not differ;
/// - `data` if the run is complete, if nothing would change, or if the run cannot take the
///   amendment in for another reason (protocol::amended).
[[nodiscard]] Result<PreparedAmendment> prepare_amendment(chain::RunObjects const& objects,
                                                          AmendmentRequest const& request,
                                                          Time now);

/// Creates the amendment. Fails with `temporary` if somebody else has created one with its number
/// meanwhile.
[[nodiscard]] Result<void> create_amendment(chain::RunObjects const& objects,
                                            protocol::Amendment const& amendment);

}  // namespace curtail::operate
