// SPDX-License-Identifier: Apache-2.0
#include "bill/status/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/core/columns.hpp"
#include "base/core/text.hpp"
#include "bill/account/figures.hpp"
#include "run/permission/watch.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::status {
namespace {

std::string age(Time since, Time now) { return format_duration(std::max(Millis{0}, now - since)); }

std::string header_text(ChainView const& chain, Time now)
{
    auto const p = progress_of(chain);
    auto const& tip = chain.tip;
    // Rounded down: `100.0` means that the run is complete.
    double const percent = std::floor(10 * p.percent()) / 10;
    auto const per_epoch = std::max<std::int64_t>(1, chain.run.blocks_per_epoch);
    auto const epochs = (p.blocks + per_epoch - 1) / per_epoch;
    std::string text;
    if (auto const& fork = chain.run.fork)
        text =
            fmt::format("fork      of commit {} of run {}\n", fork->number.value, fork->run.value);
    text += fmt::format("commit    {} ({}, {} ago) by {}\n", tip.number.value,
                        protocol::to_text(tip.kind), age(tip.time, now), tip.by.member.value);
    text +=
        fmt::format("round     {}, began {} ago\n", tip.round.value, age(chain.round_began, now));
    text += fmt::format("tokens    {} of {} ({:.1f} %) in {} step{}\n", tip.totals.tokens.value,
                        (p.blocks * chain.run.params.block_tokens).value, percent, tip.totals.steps,
                        tip.totals.steps == 1 ? "" : "s");
    text += fmt::format("ledger    {} blocks done, {} held, {} free; epoch {} of {}\n", p.done,
                        p.held, p.free(), std::min(epochs, p.done / per_epoch + 1), epochs);
    return text + fmt::format("          done {}\n", tip.done.to_string());
}

// The time that has passed since the newest step matters only if the run does not train now.
std::string speed_text(account::TokenProgress const& progress, Time now)
{
    if (!progress.speed) return "";
    auto const& speed = *progress.speed;
    constexpr Seconds recently{60};
    auto text =
        fmt::format("speed     {:.{}f} tokens/s over the last {} of training", speed.tokens_per_s,
                    speed.tokens_per_s < 100 ? 1 : 0, account::training_text(speed.measured));
    if (now - speed.until > recently) text += ", until " + age(speed.until, now) + " ago";
    if (auto const left = progress.training_left(); left && left->count() > 0)
        text += "; " + account::training_text(*left) + " of training left";
    return text + "\n";
}

std::string amount_text(double value)
{
    double const size = std::abs(value);
    return fmt::format("{:.{}f}", value, size < 1 ? 4 : size < 100 ? 2 : 0);
}

std::string energy_text(EnergyView const& energy)
{
    auto const total = energy.total();
    auto const kwh = [](WattHours wh) { return account::three_digits(wh.value / 1000) + " kWh"; };
    auto text =
        std::string("energy    ") + energy::words(total.bound) + kwh(total.energy) + " so far, ";
    auto const carbon = total.known_carbon();
    if (!carbon) return text + "carbon unknown\n";
    text += energy::words(total.carbon_bound()) + account::three_digits(carbon->value) + " gCO2";
    bool const lacks = total.unknown.value > energy::Tally::most_unknown * total.energy.value;
    return text + (lacks ? " (intensity unknown for " + kwh(total.unknown) + ")" : "") + "\n";
}

std::string members_text(ChainView const& chain, Time now)
{
    if (chain.members.empty()) return "";
    std::vector<std::vector<std::string>> rows{
        {"member", "held", "pending", "blocks/s", "decided", "missed", "seen"}};
    for (auto const& [row, pending] : chain.members) {
        auto const rate = blocks_per_second(row);
        rows.push_back({row.id.value, std::to_string(row.held.count()),
                        std::to_string(pending.size()), rate ? fmt::format("{:.3g}", *rate) : "-",
                        std::to_string(row.seq.value), std::to_string(row.missed),
                        age(row.seen, now) + " ago"});
    }
    using enum Alignment;
    return "\n" + text_table(rows, {left, right, right, right, right, right, left});
}

std::string job_text(runlog::PollerJob const& job, Time now)
{
    auto const text =
        "job " + job.id +
        (job.running_since ? " running for " + age(*job.running_since, now) : " queued");
    return job.leaving ? text + ", asked to stop" : text;
}

// "ended" is an event in the past; every other state lasts.
std::string trainer_text(SiteView const& site, Time now)
{
    auto text = "trainer " + (site.trainer == "exchange" ? "in exchange" : site.trainer);
    if (!site.trainer_since) return text;
    auto const time = age(*site.trainer_since, now);
    return site.trainer == runlog::ended_state ? text + " " + time + " ago" : text + " for " + time;
}

bool is_held(SiteView const& site)
{
    return !site.operators.empty() || !site.hold.empty() || (site.decision && site.decision->held);
}

bool waits_for_next_attempt(SiteView const& site, Time now)
{
    return !is_held(site) && site.retry_at && *site.retry_at > now;
}

// The count stays while the next job trains: that job must end well first.
std::string failure_count_text(SiteView const& site)
{
    return fmt::format(
        "{}{} failed; the poller holds the site after {}; ",
        site.jobs.empty() ? "" : "before this job, ",
        site.failures == 1 ? "1 job" : fmt::format("{} jobs in a row", site.failures),
        site.failures_before_hold);
}

// What went wrong before, on a line of its own. A hold after failures gives the same as its reason.
std::string failures_text(SiteView const& site, Time now)
{
    bool const is_the_hold = !site.hold.empty() && site.failures >= site.failures_before_hold;
    bool const is_current = site.failures > 0 || waits_for_next_attempt(site, now);
    if (is_the_hold || !is_current || site.failure.empty()) return "";
    return fmt::format("{:<16} {}the last problem: {}\n", "",
                       site.failures > 0 ? failure_count_text(site) : "", site.failure);
}

std::string permission_text(permission::Permission const& permission, bool is_held, Time now)
{
    auto const issued = ", issued " + age(permission.issued, now) + " ago";
    // The hold is the reason if the site is held.
    auto const why = is_held ? std::string() : " (" + shell_quoted(permission.why) + ")";
    if (permission.is_withdrawn()) return "no permission" + why + issued;
    if (permission::is_from_the_future(permission, now))
        return "no usable permission: it was issued in the future (" +
               format_time(permission.issued) + "); check the clocks";
    if (permission.until <= now)
        return "permission ended " + age(permission.until, now) + " ago" + issued;
    return "permission for " + format_duration(permission.until - now) + issued;
}

// Ages of what the site's jobs depend on: poller, signal and permission.
// Who holds the site; the text is empty if nobody does.
std::string hold_text(SiteView const& site)
{
    if (!site.operators.empty()) return site.operators;
    auto const& decision = site.decision;
    if (decision && decision->held) return permission::to_text(*decision);
    return site.hold.empty() ? "" : "held: " + site.hold;
}

std::string ages_text(SiteView const& site, SiteConsumption const* energy, Time now)
{
    std::vector<std::string> parts;
    if (site.polled) parts.push_back("polled " + age(*site.polled, now) + " ago");
    if (energy != nullptr && energy->sample && site.evaluated_until)
        parts.push_back("signal " + age(energy->sample->time, *site.evaluated_until) +
                        " old at that poll");
    if (site.published_until)
        parts.push_back("logs published up to " + age(*site.published_until, now) + " ago");
    auto hold = hold_text(site);
    if (site.permission) parts.push_back(permission_text(*site.permission, !hold.empty(), now));
    if (!hold.empty()) parts.push_back(std::move(hold));
    return parts.empty() ? "" : fmt::format("{:<16} {}\n", "", fmt::join(parts, "; "));
}

std::string payloads_text(SiteView const& site)
{
    if (!site.payloads) return "";
    auto const& read = *site.payloads;
    auto const megabytes = [](Bytes bytes) {
        return amount_text(static_cast<double>(bytes.value) * 1e-6) + " MB";
    };
    auto text = fmt::format("{:<16} read {} by MPI, {} from the store", "", megabytes(read.by_mpi),
                            megabytes(read.from_store));
    if (!read.why_store.empty()) text += "; the last not by MPI: " + read.why_store;
    return text + "\n";
}

std::string site_text(SiteView const& site, Time now)
{
    auto text = fmt::format("{:<16} window {}", site.site.value,
                            site.window.empty() ? "unknown" : site.window);
    if (site.closing_since) text += " since " + format_time(*site.closing_since) + " (signal time)";
    for (auto const& job : site.jobs) text += "; " + job_text(job, now);
    if (site.submitting) text += "; submitting a job";
    if (!site.trainer.empty()) text += "; " + trainer_text(site, now);
    if (waits_for_next_attempt(site, now))
        text += "; next attempt in " + format_duration(*site.retry_at - now);
    return text + "\n";
}

std::string notes_text(std::vector<std::string> const& notes)
{
    std::string text;
    for (auto const& note : notes) text += "note: " + note + "\n";
    return text;
}

std::string models_text(std::vector<chain::RecomputedModel> const& models)
{
    using Outcome = chain::RecomputedModel::Outcome;
    std::vector<std::int64_t> same;
    std::map<Outcome, std::int64_t> others;
    for (auto const& model : models) {
        if (model.outcome == Outcome::recomputed) same.push_back(model.number.value);
        else ++others[model.outcome];
    }
    if (models.empty()) return "";
    auto text = fmt::format("models    {} recomputed with the same bits{}{}\n", same.size(),
                            same.empty() ? "" : ": commits ", fmt::join(same, ", "));
    for (auto const& [outcome, count] : others)
        text += fmt::format("          {} not: {}\n", count, to_text(outcome));
    return text;
}

}  // namespace

char const* to_text(chain::RecomputedModel::Outcome outcome)
{
    using Outcome = chain::RecomputedModel::Outcome;
    switch (outcome) {
        case Outcome::recomputed:
            return "the result has the same bits";
        case Outcome::lone:
            return "a lone site committed its own weights";
        case Outcome::inputs_deleted:
            return "the run no longer keeps the result or an input";
        case Outcome::header_lost:
            return "the header of a contribution is lost";
        case Outcome::other_form:
            return "a payload has not the form that this version of Curtail writes";
    }
    __builtin_unreachable();
}

std::string overview_text(Overview const& overview)
{
    auto text = fmt::format("run       {} in {}\n", overview.run.value, overview.store);
    if (auto const& chain = overview.chain)
        text += header_text(*chain, overview.now) +
                speed_text(token_progress(*chain, overview.speed), overview.now);
    else if (overview.store_error)
        text += "          cannot be shown: " + overview.store_error->message() + "\n";
    else text += "          has not started: its store holds no commit\n";
    if (overview.energy) text += energy_text(*overview.energy);
    if (overview.held_out) text += held_out_text(*overview.held_out, overview.now);
    if (overview.work)
        text += warnings_text(*overview.work) + work_text(*overview.work, overview.now);
    if (auto const& chain = overview.chain) {
        text += members_text(*chain, overview.now) + "\n";
        for (auto const& [subject, does] : activities(*chain, overview.now))
            text += fmt::format("{} {}\n", subject, does);
    }
    text += "\n";
    for (std::size_t s = 0; s < overview.sites.sites.size(); ++s) {
        auto const& site = overview.sites.sites[s];
        text += site_text(site, overview.now);
        text += ages_text(site, overview.energy ? &overview.energy->sites.at(s) : nullptr,
                          overview.now);
        text += failures_text(site, overview.now);
        text += payloads_text(site);
    }
    if (overview.chain) text += notes_text(overview.chain->notes);
    return text + notes_text(overview.sites.notes);
}

std::string verified_text(chain::ChainSummary const& s, journal::VerifiedJournal const& journal,
                          std::string const& store)
{
    auto const& fork = s.run.fork;
    auto const first =
        fork ? fmt::format("fork of commit {} of run {}", fork->number.value, fork->run.value)
             : std::string("genesis");
    auto text = fmt::format("run {} in {} is sound\n", s.run.run.value, store);
    text += fmt::format(
        "commits   {}: {}, {} merges ({} by a lone site, {} of two or more sites), {} roster "
        "changes\n",
        s.commits, first, s.merges, s.lone, s.averaged, s.rosters);
    text += fmt::format("members   {} over the whole run\n", s.members);
    text += fmt::format("round     {}{}\n", s.tip.round.value, s.tip.complete ? ", complete" : "");
    text += fmt::format("ledger    {} of {} blocks, each in the model exactly once\n",
                        s.tip.done.count(), s.run.stream_blocks());
    text += fmt::format("tokens    {}, the sum of all contributions; {} contributions refused\n",
                        s.tip.totals.tokens.value, s.refused);
    text +=
        fmt::format("digests   of run.json, {} commits, {} headers and {} payloads are correct\n",
                    s.commits, s.headers, s.payloads);
    text += models_text(s.models);
    for (auto const& lost : s.lost)
        text += fmt::format("lost      {}: {}\n", printable(lost.name), printable(lost.why));
    auto const& [sites, streams, pieces, bytes, fixed, logs] = journal.summary;
    text += fmt::format("journal   {} streams of {} sites, with {} pieces and {} bytes\n", streams,
                        sites, pieces, bytes);
    text += fmt::format(
        "fixed     {} of these bytes by commits; {} sites have closed their "
        "journal\n",
        fixed, journal.closings);
    for (auto const& [site, share] : s.sites)
        text += fmt::format("{:<16} {} tokens in {} contributions, {} refused\n", site.value,
                            share.tokens.value, share.contributions, share.refused);
    text += fmt::format("run digest\n          {}\n", journal.run_digest.hex());
    if (!s.warning.empty()) text += fmt::format("warning   {}\n", s.warning);
    return text;
}

}  // namespace curtail::status
