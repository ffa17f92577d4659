// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/phase_timer.hpp"

#include "base/core/files.hpp"
#include "base/core/json.hpp"

namespace curtail::trainer {
namespace {

// In the order of StepPhase.
struct NamedPhase {
    char const* name;
    FractionalSeconds runlog::StepPhases::*time;
};
constexpr std::array phases_of_a_step{NamedPhase{"data", &runlog::StepPhases::data},
                                      NamedPhase{"compute", &runlog::StepPhases::compute},
                                      NamedPhase{"exchange", &runlog::StepPhases::exchange},
                                      NamedPhase{"update", &runlog::StepPhases::update}};

NamedPhase const& named(StepPhase phase)
{
    return phases_of_a_step.at(static_cast<std::size_t>(phase));
}

double microseconds(FractionalSeconds time) { return 1e6 * time.count(); }

}  // namespace

runlog::StepPhases StepTimes::phases() const
{
    runlog::StepPhases phases;
    for (auto const& span : spans(*this)) phases.*named(span.phase).time += span.end - span.begin;
    return phases;
}

FractionalSeconds StepTimes::duration() const
{
    return ends_.empty() ? FractionalSeconds{} : ends_.back().mark.since(begin_);
}

std::vector<StepTimes::Span> StepTimes::spans(StepTimes const& origin) const
{
    std::vector<Span> spans;
    auto begin = begin_.since(origin.begin_);
    for (auto const& [phase, mark] : ends_) {
        auto const end = mark.since(origin.begin_);
        spans.push_back({phase, begin, end});
        begin = end;
    }
    return spans;
}

void PhaseTimer::record(StepTimes const& done)
{
    auto const number = steps_++;
    if (number < trace_.first_step || number >= trace_.first_step + trace_.steps) return;
    traced_.push_back(done);
    if (static_cast<std::int64_t>(traced_.size()) < trace_.steps) return;
    if (auto written = write(); !written) trace_error_ = written.error();
    traced_.clear();
}

// The form is Chrome's Trace Event Format: complete events, times in microseconds.
Result<void> PhaseTimer::write() const
{
    json::Array events;
    for (auto const& step : traced_)
        for (auto const& span : step.spans(traced_.front()))
            events.push_back(json::Object{{"name", named(span.phase).name},
                                          {"ph", "X"},
                                          {"ts", microseconds(span.begin)},
                                          {"dur", microseconds(span.end - span.begin)},
                                          {"pid", trace_.rank},
                                          {"tid", 0}});
    return write_file(trace_.file,
                      json::to_string(json::Object{{"traceEvents", std::move(events)}}) + "\n");
}

}  // namespace curtail::trainer
