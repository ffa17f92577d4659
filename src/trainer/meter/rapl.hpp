// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace curtail::meter {

/// The energy counters of the node's processors: RAPL, as Linux shows it in the powercap folder.
/// The counters include all processes on the processors. Since Linux 5.10, only root may read them
/// unless an administrator changes that.
class Rapl {
  public:
    /// Finds the counters of the processors (`intel-rapl:0`, ...), without those of their parts.
    explicit Rapl(std::filesystem::path const& powercap = "/sys/class/powercap");
    /// Returns the energy of all processors in joules since the last call, or since the
    /// constructor. A counter may have overflown once. Returns an empty optional if there is no
    /// counter, or if one could not be read now or the last time.
    [[nodiscard]] std::optional<double> take_j();

  private:
    struct Counter {
        std::filesystem::path file;
        std::int64_t range_uj{};              ///< it restarts from 0 after this value
        std::optional<std::int64_t> last_uj;  ///< empty if it could not be read
    };
    std::vector<Counter> counters_;
};

}  // namespace curtail::meter
