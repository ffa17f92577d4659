// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "protocol/rules/next.hpp"

namespace curtail::protocol::site {

/// The amendment that follows the last one in the chain, as far as this process has looked for it.
class Amendments {
  public:
    /// Returns true if this process must look for the next amendment.
    [[nodiscard]] bool due() const { return due_; }
    /// Makes a look due: at the start, in each new round, and after each amendment.
    void look_again() { due_ = true; }
    void looked() { due_ = false; }

    /// Takes the bytes of the amendment that follows `tip`. Returns what the next commit must take
    /// in. The amendment is void if it does not name its predecessor, or if six reads over at
    /// least 30 s gave the same invalid bytes. Returns an empty optional if the caller must read
    /// again.
    [[nodiscard]] std::optional<NextAmendment> take(std::string const& bytes, Commit const& tip,
                                                    Digest const& run_sha256, MonoTime now);

  private:
    bool due_{true};
    /// The amendment whose bytes were invalid in the last read.
    std::optional<AmendmentRef> invalid_;
    int reads_{0};      ///< number of consecutive reads of the same invalid bytes
    MonoTime since_{};  ///< time of the first of these reads
};

/// Returns the number of the amendment that follows the last one in the chain.
[[nodiscard]] inline std::int64_t next_amendment(Commit const& tip)
{
    return tip.amended ? tip.amended->number + 1 : 1;
}

}  // namespace curtail::protocol::site
