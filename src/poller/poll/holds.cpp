// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/holds.hpp"

#include <algorithm>

#include "base/core/text.hpp"
#include "run/permission/permission.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::poll {
namespace {

using Cause = plan::HoldRequest::Cause;

// Whether the window that is open now ends a hold after a cancel.
bool ends_cancel(AutomaticHold const& hold, WindowRecord const& window)
{
    if (hold.request.cause != Cause::cancel || !window.open || !window.above_before_open)
        return false;
    auto const opened = parse_time(window.open->value);
    return opened && *opened > hold.signal_time && *window.above_before_open > hold.signal_time;
}

class Updater {
  public:
    Updater(SiteId const& id, SiteRecord const& site, Time now) : id_(id), site_(site), now_(now)
    {
        update_.holds = site.holds;
        // The clock was ahead when the cancel was noted, and is right now.
        auto const& until = site.window.evaluated_until;
        auto& hold = update_.holds.automatic;
        if (hold && until) hold->signal_time = std::min(hold->signal_time, *until);
    }

    void apply(permission::Hold const& decision)
    {
        auto& applied = update_.holds.applied_serial;
        // A serial that nobody can have written counts for nothing.
        if (!permission::is_plausible(applied, now_)) applied = 0;
        if (decision.serial <= applied || !permission::is_plausible(decision.serial, now_)) return;
        update_.holds.applied_serial = decision.serial;
        update_.resumed = !decision.held;
        decided_at_ = decision.since;
        note({.held = decision.held,
              .cause = "person",
              .why = decision.reason,
              .serial = decision.serial,
              .by = decision.by},
             decision.held ? permission::to_text(decision)
                           : "resumed by " + shell_quoted(decision.by));
        if (!decision.held) update_.holds.automatic.reset();
    }
    void hold(plan::HoldRequest const& request)
    {
        bool const is_later =
            request.cause == Cause::cancel && request.ended && *request.ended > decided_at_;
        if (update_.holds.automatic || (update_.resumed && !is_later)) return;
        auto const signal_time = site_.window.evaluated_until.value_or(now_);
        update_.holds.automatic = {{request.cause, request.why, {}}, now_, signal_time};
        note({.held = true,
              .cause = to_text(request.cause),
              .why = request.why,
              .signal_time = signal_time},
             "held: " + request.why);
    }
    void release()
    {
        auto& hold = update_.holds.automatic;
        if (!hold || !ends_cancel(*hold, site_.window)) return;
        note({.held = false,
              .cause = to_text(hold->request.cause),
              .why = "a new window has opened"},
             "no longer held: a new window has opened since the cancel");
        hold.reset();
    }
    // Notes when a hold of the operators begins, changes and ends.
    void apply(std::optional<permission::OperatorHold> const& hold)
    {
        auto const text = hold ? permission::to_text(*hold) : std::string();
        auto& known = update_.holds.operators;
        if (text == known) return;
        note({.held = hold.has_value(),
              .cause = "operator",
              .why = hold ? hold->reason : "the operators have ended their hold",
              .by = hold ? hold->file.string() : ""},
             hold ? text : "the operators have ended their hold");
        known = text;
    }
    [[nodiscard]] HoldUpdate take() { return std::move(update_); }

  private:
    void note(runlog::HoldChange const& change, std::string const& text)
    {
        update_.events.push_back(runlog::to_event(change, now_, id_.value));
        update_.log.push_back(id_.value + ": " + text);
    }
    SiteId const& id_;
    SiteRecord const& site_;
    Time now_;
    Time decided_at_{};  // when a person resumed the site
    HoldUpdate update_;
};

}  // namespace

HoldUpdate update_holds(SiteId const& id, SiteRecord const& site,
                        std::optional<plan::HoldRequest> const& request, Decisions const& decisions,
                        Time now)
{
    Updater updater(id, site, now);
    updater.release();
    if (decisions.person && *decisions.person) updater.apply(**decisions.person);
    updater.apply(decisions.operators);
    if (request) updater.hold(*request);
    return updater.take();
}

std::string hold_reason(HoldRecord const& holds, Decisions const& decisions)
{
    if (decisions.operators) return permission::to_text(*decisions.operators);
    auto const& saved = decisions.person;
    if (!saved) return saved.error().message();
    if (*saved && (*saved)->held) return permission::to_text(**saved, true);
    if (!holds.automatic) return {};
    auto text =
        "held since " + format_time(holds.automatic->since) + ": " + holds.automatic->request.why;
    return text + (holds.automatic->request.cause == Cause::cancel
                       ? "; it stays cancelled until a window opens after a dirty signal, or until "
                         "--resume"
                       : "; remove the cause, then use --resume");
}

}  // namespace curtail::poll
