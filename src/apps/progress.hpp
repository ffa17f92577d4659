// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace curtail::apps {

/// A progress line on stderr for work that takes more than 2 s. Prints nothing unless stderr is a
/// terminal.
class Progress {
  public:
    Progress(std::string what, std::string unit);
    ~Progress();
    Progress(Progress const&) = delete;
    Progress& operator=(Progress const&) = delete;
    void update(double done, double total);  ///< in units
    void show(std::string const& figures);   ///< where the total is unknown

  private:
    [[nodiscard]] bool is_due();
    std::string what_;
    std::string unit_;
    double started_;   ///< seconds on the monotonic clock
    double shown_{0};  ///< time of the last line
    bool terminal_;
};

}  // namespace curtail::apps
