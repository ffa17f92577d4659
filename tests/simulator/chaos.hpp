// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace curtail::protocol::simulator {

/// Probabilities of faults, and one rate. Each probability applies to every operation that its
/// comment names.
struct Chaos {
    double lost_reply{0};      ///< of a create: applied, but the site gets no answer
    double lost_request{0};    ///< of a create: not applied, and no answer
    double delayed{0};         ///< of a create: applied later, even if its writer is dead by then
    double stale_404{0};       ///< of a get, a delta in a merge, a model load: wrongly missing
    double no_answer{0};       ///< of a get, a model load, a stored payload, a merge
    double spoiled{0};         ///< of a stored delta: its content is wrong
    double stalled{0};         ///< of every operation on the store: fails after up to 30 s
    double corrupt_get{0};     ///< of a get: a byte is wrong, or bytes are missing at the end
    double damaged_header{0};  ///< of a new header: the store keeps wrong bytes
    double refused{0};         ///< of a contribution in a merge: refused although valid
    /// Rate per simulated second of all other faults: crashes, starts, second instances, freezes,
    /// stop requests, failing writes, outages, and times in which one site cannot reach the store
    /// or is refused. Also jumps of the store's clock, amendments, broken hardware, unreadable
    /// headers, and objects that Curtail did not write.
    double faults_per_s{0};
    /// Of these, only those happen that hit a single process: crashes, starts, freezes, stop
    /// requests and broken hardware. The invariant `included` holds if there are no others.
    bool gentle{false};
    /// Of a lone commit: its site freezes for 5 to 15 s, and another site starts.
    double interrupted{0};
    double nan{0};      ///< of a cut: its delta has values that are not finite
    double skipped{0};  ///< of a step: its gradient is not finite, so it is skipped
    double outlier{0};  ///< of a cut: its delta is 10 to 10^6 times as long as others
    /// All deltas grow by this factor in each second, or shrink if it is below 1.
    double growth_per_s{1};
};

}  // namespace curtail::protocol::simulator
