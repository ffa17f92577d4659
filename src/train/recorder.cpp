// SPDX-License-Identifier: Apache-2.0
#include "train/recorder.hpp"

#include "core/clock.hpp"
#include "core/files.hpp"

namespace curtail::train {

char const* to_word(PowerState state)
{
    static constexpr char const* words[] = {"starting", "training", "exchange",
                                            "idle",     "draining", "ended"};
    return words[static_cast<int>(state)];
}

Recorder::Recorder(std::filesystem::path folder, std::string site, std::string job, Log log,
                   StepWatcher watcher)
    : folder_(std::move(folder)),
      events_(folder_ / "events.jsonl"),
      site_(std::move(site)),
      job_(std::move(job)),
      log_(std::move(log)),
      watcher_(std::move(watcher))
{
}

void Recorder::step(StepMetrics const& m)
{
    json::Object line{{"time", format_time(m.time)},
                      {"step", m.step},
                      {"round", m.round},
                      {"tokens", m.tokens.value},
                      {"progress_tokens", m.progress.value},
                      {"loss", m.loss},
                      {"lr_scale", m.lr_scale},
                      {"step_s", m.duration.count()}};
    check(append_line(folder_ / "metrics.jsonl", json::to_string(line), false));
    if (watcher_) watcher_(m);
}

void Recorder::event(std::string const& type, json::Object details)
{
    check(events_.append({SystemClock{}.now(), type, site_, std::move(details)}));
}

void Recorder::state(PowerState state)
{
    std::string const word = to_word(state);
    std::lock_guard const one_at_a_time(state_lock_);
    if (word == last_state_) return;
    last_state_ = word;
    event("state", {{"state", word}, {"job", job_}});
}

void Recorder::ended(ExitCode code)
{
    state(PowerState::ended);
    event("trainer-exit", {{"code", static_cast<int>(code)}});
}

void Recorder::status(json::Object status)
{
    if (mono_now() < status_due_) return;
    status_due_ = mono_now() + Seconds{1};
    status.set("time", format_time(SystemClock{}.now()));
    status.set("job", job_);
    check(write_file(folder_ / "status.json", json::to_pretty(status)));
}

void Recorder::check(Result<void> const& written)
{
    if (written || complained_.exchange(true)) return;
    log_.warning(written.error().message() + " (metrics and events are incomplete from here)");
}

}  // namespace curtail::train
