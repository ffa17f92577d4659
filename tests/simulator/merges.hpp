// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/part.hpp"

namespace curtail::protocol::simulator {

/// Merges contributions, makes merged models again, and keeps copies.
class Merges : private Part {
  public:
    Merges(Shared& shared, Processes& processes) : Part(shared, processes) {}

    void execute(P const& p, Merge const& o);
    void execute(P const& p, Restore const& o);
    void execute(P const& p, Keep const& o);

  private:
    /// Merges, and stores the result. Returns the answer.
    [[nodiscard]] Input merge(std::size_t site, Merge const& o);
    /// The sum of the model and the deltas that this merge can use. Appends the others to
    /// `refused`.
    [[nodiscard]] Tickets sum(Merge const& o, Tickets result, std::vector<Term>& terms,
                              std::vector<Merged::UnusableContribution>& refused);
    [[nodiscard]] bool lacks_momentum(Merge const& o) const;
    /// Stores a payload, and keeps a copy at the site.
    [[nodiscard]] PartRef store(std::size_t site, PayloadPlace const& place,
                                Payload const& payload);
    /// Stores damaged payloads again, from copies or by computing the merge once more. Returns the
    /// answer.
    [[nodiscard]] Restored restore(P const& p, Restore const& o);
    [[nodiscard]] Payload const* copy_of(P const& p, PartRef const& part) const;
    /// Makes the same payloads as `o` did before. Empty: an input is damaged or missing.
    [[nodiscard]] std::optional<MergedPayloads> recompute(Merge const& o) const;
    [[nodiscard]] MergedPayloads payloads(Merge const& o, Tickets const& result,
                                          std::vector<Term> const& terms) const;
};

}  // namespace curtail::protocol::simulator
