// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace curtail::programs {

/// A progress line on stderr for work that takes more than 2 s. If stderr is not a terminal, no
/// line appears.
class ProgressLine {
  public:
    /// `what` names the work, such as "evaluating". `unit` names what update() counts, such as
    /// "tokens".
    ProgressLine(std::string what, std::string unit);
    ~ProgressLine();
    ProgressLine(ProgressLine const&) = delete;
    ProgressLine& operator=(ProgressLine const&) = delete;
    void update(double done, double total);  ///< shows how much is done, and the time that is left
    /// Shows a text instead of the amount. Use this function if the total is unknown.
    void show_text(std::string const& text);

  private:
    [[nodiscard]] bool is_due();
    std::string what_;
    std::string unit_;
    double started_;   ///< start, in seconds on the monotonic clock
    double shown_{0};  ///< when the line was last written, on the same clock; 0: never
    bool terminal_;
};

/// Progress lines of work in several stages, one after the other.
class Stages {
  public:
    /// Shows how much of the stage is done. `what` and `unit` are those of ProgressLine. A stage
    /// begins with its first call and ends with the first call of another one.
    void update(std::string const& what, std::string const& unit, std::int64_t done,
                std::int64_t total);

  private:
    std::string what_;
    std::optional<ProgressLine> line_;
};

}  // namespace curtail::programs
