// SPDX-License-Identifier: Apache-2.0
#include "train/phase_timer.hpp"

#include "core/files.hpp"
#include "core/json.hpp"

namespace curtail::train {
namespace {

char const* name_of(Phase phase)
{
    constexpr char const* names[] = {"data", "compute", "exchange", "update"};
    return names[static_cast<std::size_t>(phase)];
}

FractionalSeconds& time_of(runlog::StepPhases& phases, Phase phase)
{
    switch (phase) {
        case Phase::data:
            return phases.data;
        case Phase::compute:
            return phases.compute;
        case Phase::exchange:
            return phases.exchange;
        case Phase::update:
            return phases.update;
    }
    __builtin_unreachable();
}

double microseconds(std::chrono::steady_clock::duration time)
{
    return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

void PhaseTimer::begin_step()
{
    phases_ = {};
    last_ = Clock::now();
}

void PhaseTimer::end(Phase phase)
{
    auto const now = Clock::now();
    time_of(phases_, phase) += now - last_;
    if (tracing()) spans_.push_back({phase, last_, now});
    last_ = now;
}

bool PhaseTimer::tracing() const
{
    return steps_ >= trace_.first_step && steps_ < trace_.first_step + trace_.steps;
}

void PhaseTimer::end_step()
{
    bool const last = trace_.steps > 0 && ++steps_ == trace_.first_step + trace_.steps;
    if (!last) return;
    if (auto written = write(); !written) trace_error_ = written.error();
    spans_.clear();
}

// The form is Chrome's Trace Event Format: complete events, times in microseconds.
Result<void> PhaseTimer::write() const
{
    json::Array events;
    for (auto const& span : spans_)
        events.push_back(json::Object{{"name", name_of(span.phase)},
                                      {"ph", "X"},
                                      {"ts", microseconds(span.begin - spans_.front().begin)},
                                      {"dur", microseconds(span.end - span.begin)},
                                      {"pid", trace_.rank},
                                      {"tid", 0}});
    return write_file(trace_.file,
                      json::to_string(json::Object{{"traceEvents", std::move(events)}}) + "\n");
}

}  // namespace curtail::train
