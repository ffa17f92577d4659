// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::programs {
namespace {

constexpr char const* clear_line = "\r\x1b[K";

double seconds_now()
{
    return static_cast<double>(monotonic_now().time_since_epoch().count()) / 1000;
}

void write_line(std::string const& text)
{
    [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, clear_line + printable(text));
}

}  // namespace

ProgressLine::ProgressLine(std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      started_(seconds_now()),
      terminal_(isatty(STDERR_FILENO) == 1)
{
}

ProgressLine::~ProgressLine()
{
    if (shown_ > 0) write_line("");
}

bool ProgressLine::is_due()
{
    double const now = seconds_now();
    if (!terminal_ || now - started_ < 2 || now - shown_ < 0.2) return false;
    shown_ = now;
    return true;
}

void ProgressLine::update(double done, double total)
{
    if (!is_due()) return;
    double const share = total > 0 ? done / total : 0;
    double const left = share > 0 ? (shown_ - started_) * (1 - share) / share : 0;
    write_line(fmt::format("{}  {:3.0f} %  {:.3g} of {:.3g} {}  {:.0f} s left", what_, 100 * share,
                           done, total, unit_, left));
}

void ProgressLine::show_text(std::string const& text)
{
    if (is_due()) write_line(what_ + "  " + text);
}

void Stages::update(std::string const& what, std::string const& unit, std::int64_t done,
                    std::int64_t total)
{
    if (!line_ || what_ != what) {
        what_ = what;
        line_.emplace(what, unit);
    }
    line_->update(static_cast<double>(done), static_cast<double>(total));
}

}  // namespace curtail::programs
