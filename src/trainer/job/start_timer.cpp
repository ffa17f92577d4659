// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/start_timer.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::trainer {
namespace {

// The time since this process was started; 0 if the system does not tell. proc(5): field 22 of
// stat, in clock ticks since the system was started. The fields before it end with the last ")".
FractionalSeconds age_of_process()
{
    auto const text = read_file("/proc/self/stat").value_or("");
    auto at = text.rfind(')');
    for (int field = 2; field < 22 && at != text.npos; ++field) at = text.find(' ', at + 1);
    if (at == text.npos) return {};
    auto const ticks = leading_integer(std::string_view(text).substr(at + 1));
    if (!ticks) return {};
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    double const since_boot =
        static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    return FractionalSeconds{std::max(
        0.0, since_boot - static_cast<double>(*ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)))};
}

}  // namespace

StartTimer::StartTimer() : StartTimer(age_of_process()) {}

StartTimer::StartTimer(FractionalSeconds process)
    : phases_{{"process", process}}, last_(monotonic_now())
{
}

void StartTimer::end(std::string phase)
{
    if (done_) return;
    auto const now = monotonic_now();
    phases_.push_back({std::move(phase), now - last_});
    last_ = now;
}

void StartTimer::end_once(std::string const& phase)
{
    if (phases_.back().name != phase) end(phase);
}

bool StartTimer::done(std::string phase)
{
    if (done_) return false;
    end(std::move(phase));
    done_ = true;
    return true;
}

FractionalSeconds StartTimer::total() const
{
    FractionalSeconds total{};
    for (auto const& phase : phases_) total += phase.duration;
    return total;
}

std::string StartTimer::to_text() const
{
    std::string parts;
    for (auto const& [name, duration] : phases_)
        parts += fmt::format("{}{} {:.2f}", parts.empty() ? "" : ", ", name, duration.count());
    return fmt::format("{:.2f} s ({})", total().count(), parts);
}

json::Object StartTimer::to_json() const
{
    json::Object object;
    for (auto const& [name, duration] : phases_) object.set(name, duration.count());
    return object;
}

}  // namespace curtail::trainer
