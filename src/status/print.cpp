// SPDX-License-Identifier: Apache-2.0
#include "status/print.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace curtail::status {
namespace {

/// Blocks and tokens of a run at its tip.
struct Progress {
    std::int64_t blocks;
    std::int64_t done;
    std::int64_t held;
    [[nodiscard]] std::int64_t free() const { return blocks - done - held; }
    [[nodiscard]] double percent() const
    {
        return blocks > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(blocks) : 0;
    }
};

Progress progress_of(ChainView const& chain)
{
    Progress p{chain.run.stream_blocks(), chain.tip.done.count(), 0};
    for (auto const& member : chain.tip.members) p.held += member.held.count();
    return p;
}

std::string ago(Time then, Time now)
{
    return format_duration(std::max(Millis{0}, now - then)) + " ago";
}

char const* kind_name(rounds::Commit::Kind kind)
{
    switch (kind) {
        case rounds::Commit::Kind::genesis:
            return "genesis";
        case rounds::Commit::Kind::roster:
            return "roster";
        case rounds::Commit::Kind::merge:
            return "merge";
    }
    __builtin_unreachable();
}

/// In the shortest form: `1.25`, `-` while it is not known.
std::string rate_text(rounds::Rate rate)
{
    return rate == 0 ? "-" : fmt::format("{:.3g}", static_cast<double>(rate) * 1e-6);
}

std::string chain_text(ChainView const& chain, Time now)
{
    auto const p = progress_of(chain);
    auto const& tip = chain.tip;
    auto text = fmt::format("commit    {} ({}, {}) by {}\n", tip.number.value, kind_name(tip.kind),
                            ago(tip.time, now), tip.by.member.value);
    text += fmt::format("round     {}, begun {}\n", tip.round.value, ago(chain.round_began, now));
    text += fmt::format("tokens    {} of {} ({:.1f} %) in {} steps\n", tip.totals.tokens,
                        p.blocks * chain.run.params.block_tokens, p.percent(), tip.totals.steps);
    text += fmt::format(
        "ledger    {} blocks done, {} held, {} free; epoch {} of {}\n", p.done, p.held, p.free(),
        std::min(chain.run.epochs,
                 p.done / std::max<std::int64_t>(1, chain.run.blocks_per_epoch) + 1),
        chain.run.epochs);
    text += fmt::format("          done {}\n", tip.done.to_string());
    if (chain.members.empty()) return text;
    text += fmt::format("\n{:<34} {:>6} {:>7} {:>10} {:>9} {:>7}  {}\n", "member", "held",
                        "pending", "blocks/s", "decided", "missed", "seen");
    for (auto const& [row, pending] : chain.members)
        text += fmt::format("{:<34} {:>6} {:>7} {:>10} {:>9} {:>7}  {}\n", row.id.value,
                            row.held.count(), pending.size(), rate_text(row.rate), row.seq.value,
                            row.missed, ago(row.seen, now));
    return text;
}

std::string for_how_long(Time since, Time now)
{
    return " for " + format_duration(std::max(Millis{0}, now - since));
}

std::string job_text(JobView const& job, Time now)
{
    auto const text =
        "job " + job.id +
        (job.running_since ? " running" + for_how_long(*job.running_since, now) : " queued");
    return job.leaving ? text + ", leaving" : text;
}

std::string site_text(SiteView const& site, Time now)
{
    auto text = fmt::format("{:<16} window {}", site.site.value,
                            site.window.empty() ? "unknown" : site.window);
    if (site.closing_since) text += " since " + format_time(*site.closing_since);
    for (auto const& job : site.jobs) text += "; " + job_text(job, now);
    if (site.submitting) text += "; a job is being submitted";
    if (!site.trainer.empty())
        text += "; trainer " + site.trainer +
                (site.trainer_since ? for_how_long(*site.trainer_since, now) : "");
    if (site.failures > 0)
        text +=
            fmt::format("; {} failed: {}",
                        site.failures == 1 ? "last job" : std::to_string(site.failures) + " jobs",
                        site.failure);
    if (site.retry_at && *site.retry_at > now)
        text += "; next try in " + format_duration(*site.retry_at - now);
    return text + "\n";
}

json::Value time_json(std::optional<Time> const& time)
{
    return time ? json::Value(format_time(*time)) : json::Value();
}

json::Object chain_json(ChainView const& chain, Time now)
{
    auto const p = progress_of(chain);
    auto const& tip = chain.tip;
    json::Array members;
    for (auto const& [row, pending] : chain.members) {
        json::Array waiting;
        for (auto const& header : pending)
            waiting.push_back(json::Object{{"seq", header.seq.value},
                                           {"base_round", header.base_round.value},
                                           {"tokens", header.tokens},
                                           {"leaving", header.leaving},
                                           {"time", format_time(header.time)}});
        members.push_back(json::Object{
            {"id", row.id.value},
            {"site", row.site.value},
            {"decided", row.seq.value},
            {"held", row.held.to_json()},
            {"blocks_per_s",
             row.rate == 0 ? json::Value() : json::Value(static_cast<double>(row.rate) * 1e-6)},
            {"missed", row.missed},
            {"seen", format_time(row.seen)},
            {"pending", std::move(waiting)}});
    }
    json::Array waits;
    for (auto const& [who, what] : who_waits(chain, now))
        waits.push_back(json::Object{{"who", who}, {"what", what}});
    json::Object document{
        {"commit", json::Object{{"number", tip.number.value},
                                {"kind", kind_name(tip.kind)},
                                {"time", format_time(tip.time)},
                                {"by", tip.by.member.value}}},
        {"round", tip.round.value},
        {"round_began", format_time(chain.round_began)},
        {"complete", tip.complete},
        {"tokens", tip.totals.tokens},
        {"steps", tip.totals.steps},
        {"blocks",
         json::Object{{"whole", p.blocks}, {"done", p.done}, {"held", p.held}, {"free", p.free()}}},
        {"done", tip.done.to_json()},
        {"members", std::move(members)}};
    if (chain.lease)
        document.set("lease", json::Object{{"member", chain.lease->member.value},
                                           {"k", chain.lease->k},
                                           {"time", format_time(chain.lease->time)}});
    document.set("waiting", std::move(waits));
    return document;
}

json::Object site_json(SiteView const& site)
{
    json::Array jobs;
    for (auto const& job : site.jobs)
        jobs.push_back(json::Object{{"id", job.id},
                                    {"running_since", time_json(job.running_since)},
                                    {"leaving", job.leaving}});
    return {{"site", site.site.value},
            {"window", site.window.empty() ? json::Value() : json::Value(site.window)},
            {"closing_since", time_json(site.closing_since)},
            {"evaluated_until", time_json(site.evaluated_until)},
            {"jobs", std::move(jobs)},
            {"submitting", site.submitting},
            {"failures", site.failures},
            {"failure", site.failure},
            {"retry_at", time_json(site.retry_at)},
            {"trainer", site.trainer.empty() ? json::Value() : json::Value(site.trainer)},
            {"trainer_since", time_json(site.trainer_since)}};
}

}  // namespace

std::string overview_text(Overview const& overview)
{
    auto text = fmt::format("run       {} in {}\n", overview.run.value, overview.store);
    if (overview.chain) {
        text += chain_text(*overview.chain, overview.now);
        text += "\n";
        for (auto const& [who, what] : who_waits(*overview.chain, overview.now))
            text += fmt::format("{} {}\n", who, what);
    } else {
        text += "          has not begun: the store holds no commit of it\n";
    }
    text += "\n";
    for (auto const& site : overview.sites.sites) text += site_text(site, overview.now);
    if (overview.chain)
        for (auto const& note : overview.chain->notes) text += "note: " + note + "\n";
    for (auto const& note : overview.sites.notes) text += "note: " + note + "\n";
    return text;
}

json::Object overview_json(Overview const& overview)
{
    json::Array sites;
    for (auto const& site : overview.sites.sites) sites.push_back(site_json(site));
    json::Array notes;
    if (overview.chain)
        for (auto const& note : overview.chain->notes) notes.push_back(note);
    for (auto const& note : overview.sites.notes) notes.push_back(note);
    return {{"run", overview.run.value},
            {"store", overview.store},
            {"time", format_time(overview.now)},
            {"chain", overview.chain ? json::Value(chain_json(*overview.chain, overview.now))
                                     : json::Value()},
            {"sites", std::move(sites)},
            {"notes", std::move(notes)}};
}

std::string verified_text(rounds::ChainSummary const& s, std::string const& store)
{
    auto text = fmt::format("run {} in {} is sound\n", s.run.run.value, store);
    text += fmt::format(
        "commits   {}: genesis, {} merges ({} by one site alone, {} of several sites), {} rosters; "
        "{} members in all\n",
        s.commits, s.merges, s.lone, s.averaged, s.rosters, s.members);
    text += fmt::format("round     {}{}\n", s.tip.round.value, s.tip.complete ? ", complete" : "");
    text += fmt::format("ledger    {} of {} blocks, each in the model exactly once\n",
                        s.tip.done.count(), s.run.stream_blocks());
    text +=
        fmt::format("tokens    {}, the sum of all contributions; {} contributions were refused\n",
                    s.tip.totals.tokens, s.refused);
    text += fmt::format("digests   of run.json, {} commits, {} headers and {} payloads are right\n",
                        s.commits, s.headers, s.payloads);
    for (auto const& [site, share] : s.sites)
        text += fmt::format("{:<16} {} tokens in {} contributions, {} refused\n", site.value,
                            share.tokens, share.contributions, share.refused);
    return text;
}

json::Object verified_json(rounds::ChainSummary const& s, std::string const& store)
{
    json::Array sites;
    for (auto const& [site, share] : s.sites)
        sites.push_back(json::Object{{"site", site.value},
                                     {"tokens", share.tokens},
                                     {"contributions", share.contributions},
                                     {"refused", share.refused}});
    return {{"run", s.run.run.value},
            {"store", store},
            {"sound", true},
            {"commits", s.commits},
            {"merges", s.merges},
            {"lone", s.lone},
            {"averaged", s.averaged},
            {"rosters", s.rosters},
            {"members", s.members},
            {"round", s.tip.round.value},
            {"complete", s.tip.complete},
            {"tokens", s.tip.totals.tokens},
            {"steps", s.tip.totals.steps},
            {"blocks_done", s.tip.done.count()},
            {"blocks", s.run.stream_blocks()},
            {"refused", s.refused},
            {"headers", s.headers},
            {"payloads", s.payloads},
            {"sites", std::move(sites)}};
}

}  // namespace curtail::status
