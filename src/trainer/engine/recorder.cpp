// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/recorder.hpp"

#include <fmt/format.h>

#include "base/core/files.hpp"

namespace curtail::trainer {

Recorder::Recorder(std::filesystem::path folder, std::string site, std::string job, Log log,
                   StepWatcher watcher, std::optional<LossWatch> loss_watch)
    : folder_(std::move(folder)),
      events_(folder_ / "events.jsonl"),
      site_(std::move(site)),
      job_(std::move(job)),
      log_(std::move(log)),
      watcher_(std::move(watcher)),
      loss_watch_(loss_watch)
{
}

void Recorder::step(StepMetrics m, Tokens end)
{
    {
        std::lock_guard const one_at_a_time(lock_);
        m.payloads = std::exchange(payloads_read_, std::nullopt);
    }
    check(runlog::append_metrics(folder_ / "metrics.jsonl", m));
    if (loss_watch_ && loss_watch_->add(m.loss)) warn_of_high_loss(m.loss);
    if (m.lr_scale == 0 && !std::exchange(warned_of_zero_rate_, true)) warn_of_zero_rate(m, end);
    if (watcher_) watcher_(m, end);
}

void Recorder::event(std::string const& type, json::Object details)
{
    append({SystemClock{}.now(), type, site_, std::move(details)});
}

// Nobody sets the monotonic clock.
void Recorder::append(runlog::Event event)
{
    event.details.set("monotonic_s", FractionalSeconds(monotonic_now().time_since_epoch()).count());
    check(events_.append(event));
}

void Recorder::payloads_read(runlog::PayloadsRead const& read)
{
    event(read);
    std::lock_guard const one_at_a_time(lock_);
    auto sum = read;
    if (payloads_read_) {
        sum.by_mpi += payloads_read_->by_mpi;
        sum.from_store += payloads_read_->from_store;
        if (sum.why_store.empty()) sum.why_store = payloads_read_->why_store;
    }
    payloads_read_ = std::move(sum);
}

void Recorder::state(energy::PowerState state) { change_state(energy::name(state)); }

void Recorder::change_state(std::string const& state)
{
    std::lock_guard const one_at_a_time(lock_);
    if (state == last_state_) return;
    last_state_ = state;
    event(runlog::StateChange{state, job_});
}

void Recorder::ended(ExitCode code, std::string cause)
{
    change_state(runlog::ended_state);
    event(runlog::TrainerExit{code, job_, std::move(cause)});
}

void Recorder::status(json::Object status)
{
    if (monotonic_now() < status_due_) return;
    status_due_ = monotonic_now() + Seconds{1};
    status.set("time", format_time(SystemClock{}.now()));
    status.set("job", job_);
    check(write_file(folder_ / "status.json", json::to_pretty(status)));
}

void Recorder::warn_of_high_loss(std::optional<double> loss)
{
    event(runlog::HighLoss{loss, loss_watch_->uniform_loss(), LossWatch::reported_steps});
    log_.warning(fmt::format(
        "the loss has been at least ln(vocabulary) = {:.3f} for {} steps in a row (now {}): the "
        "model learns nothing; check the data, or start a new run with a lower optimizer.lr_scale",
        loss_watch_->uniform_loss(), LossWatch::reported_steps,
        loss ? fmt::format("{:.3f}", *loss) : "not finite"));
}

void Recorder::warn_of_zero_rate(StepMetrics const& step, Tokens end)
{
    event(runlog::ZeroRate{step.step, step.progress, end});
    log_.warning(fmt::format(
        "the learning rate is 0 from token {} on, and the run ends after {} tokens: these steps "
        "change no weight; stop the training, and continue it with a longer "
        "optimizer.schedule_tokens (a run in a store: with `curtail-store fork`)",
        step.progress.value, end.value));
}

void Recorder::check(Result<void> const& written)
{
    if (written || complained_.exchange(true)) return;
    log_.warning(written.error().message() + " (metrics and events are incomplete from here)");
}

}  // namespace curtail::trainer
