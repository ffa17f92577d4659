// SPDX-License-Identifier: Apache-2.0
#include "bill/status/documents.hpp"

#include "bill/status/text.hpp"

namespace curtail::status {
namespace {

json::Value time_json(std::optional<Time> const& time)
{
    return time ? json::Value(format_time(*time)) : json::Value();
}

json::Array pending_json(std::vector<rounds::Header> const& pending)
{
    json::Array list;
    for (auto const& header : pending)
        list.push_back(json::Object{{"seq", header.seq.value},
                                    {"base_round", header.base_round.value},
                                    {"tokens", header.tokens.value},
                                    {"leaving", header.leaving},
                                    {"time", format_time(header.time)}});
    return list;
}

json::Array members_json(ChainView const& chain)
{
    json::Array list;
    for (auto const& [row, pending] : chain.members)
        list.push_back(json::Object{{"id", row.id.value},
                                    {"site", row.site.value},
                                    {"decided", row.seq.value},
                                    {"held", row.held.to_json()},
                                    {"blocks_per_s", blocks_per_second(row)},
                                    {"missed", row.missed},
                                    {"seen", format_time(row.seen)},
                                    {"pending", pending_json(pending)}});
    return list;
}

json::Array waiting_json(ChainView const& chain, Time now)
{
    json::Array list;
    for (auto const& [subject, text] : activities(chain, now))
        list.push_back(json::Object{{"who", subject}, {"what", text}});
    return list;
}

json::Value seconds_json(std::optional<FractionalSeconds> const& time)
{
    return time ? json::Value(time->count()) : json::Value();
}

json::Object progress_json(account::TokenProgress const& progress)
{
    auto const& speed = progress.speed;
    return {{"target_tokens", progress.target.value},
            {"done_tokens", progress.done.value},
            {"share", progress.share()},
            {"tokens_per_s", speed ? json::Value(speed->tokens_per_s) : json::Value()},
            {"measured_s", seconds_json(speed ? std::optional(speed->measured) : std::nullopt)},
            {"measured_until", time_json(speed ? std::optional(speed->until) : std::nullopt)},
            {"training_left_s", seconds_json(progress.training_left())}};
}

json::Value energy_json(energy::Tally const& tally)
{
    auto const carbon = tally.known_carbon();
    return json::Object{{"energy_wh", tally.energy.value},
                        {"gco2", carbon ? json::Value(carbon->value) : json::Value()},
                        {"unknown_intensity_wh", tally.unknown.value}};
}

json::Value sample_json(std::optional<SamplePoint> const& sample)
{
    if (!sample) return {};
    auto const& intensity = sample->intensity;
    return json::Object{
        {"time", format_time(sample->time)},
        {"intensity_gco2_per_kwh", intensity ? json::Value(intensity->value) : json::Value()}};
}

json::Value fork_json(rounds::RunSpec const& run)
{
    if (!run.fork) return {};
    return json::Object{{"run", run.fork->run.value},
                        {"commit", run.fork->number.value},
                        {"sha256", run.fork->sha256.hex()}};
}

json::Object chain_json(ChainView const& chain, std::optional<account::Speed> const& speed,
                        Time now)
{
    auto const p = progress_of(chain);
    auto const& tip = chain.tip;
    json::Object document{
        {"commit", json::Object{{"number", tip.number.value},
                                {"kind", rounds::to_text(tip.kind)},
                                {"time", format_time(tip.time)},
                                {"by", tip.by.member.value}}},
        {"fork", fork_json(chain.run)},
        {"round", tip.round.value},
        {"round_began", format_time(chain.round_began)},
        {"complete", tip.complete},
        {"tokens", tip.totals.tokens.value},
        {"steps", tip.totals.steps},
        {"progress", progress_json(token_progress(chain, speed))},
        {"blocks",
         json::Object{{"whole", p.blocks}, {"done", p.done}, {"held", p.held}, {"free", p.free()}}},
        {"done", tip.done.to_json()},
        {"members", members_json(chain)}};
    if (chain.lease)
        document.set("lease", json::Object{{"member", chain.lease->member.value},
                                           {"k", chain.lease->k},
                                           {"time", format_time(chain.lease->time)}});
    document.set("waiting", waiting_json(chain, now));
    return document;
}

json::Value permission_json(std::optional<permission::Permission> const& permission)
{
    if (!permission) return {};
    return json::Object{{"issued", format_time(permission->issued)},
                        {"until", format_time(permission->until)},
                        {"withdrawn", permission->is_withdrawn()},
                        {"why", permission->why}};
}

// Who holds the site; a person goes before the poller.
json::Value hold_json(SiteView const& site)
{
    auto const& decision = site.decision;
    if (decision && decision->held)
        return json::Object{{"by", decision->by},
                            {"why", decision->reason},
                            {"since", format_time(decision->since)}};
    if (site.hold.empty()) return {};
    return json::Object{{"by", "poller"}, {"why", site.hold}, {"since", json::Value()}};
}

json::Value read_json(std::optional<runlog::PayloadsRead> const& read)
{
    if (!read) return {};
    return json::Object{{"round", read->round},
                        {"mpi_bytes", read->by_mpi.value},
                        {"store_bytes", read->from_store.value},
                        {"why_store", read->why_store}};
}

json::Object site_json(SiteView const& site, SiteEnergy const* energy)
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
            {"polled", time_json(site.polled)},
            {"published_until", time_json(site.published_until)},
            {"permission", permission_json(site.permission)},
            {"hold", hold_json(site)},
            {"jobs", std::move(jobs)},
            {"submitting", site.submitting},
            {"failures", site.failures},
            {"failures_before_hold", site.failures_before_hold},
            {"failure", site.failure},
            {"retry_at", time_json(site.retry_at)},
            {"trainer", site.trainer.empty() ? json::Value() : json::Value(site.trainer)},
            {"trainer_since", time_json(site.trainer_since)},
            {"payloads_read", read_json(site.payloads)},
            {"energy", energy != nullptr ? energy_json(energy->tally) : json::Value()},
            {"signal", energy != nullptr ? sample_json(energy->sample) : json::Value()}};
}

}  // namespace

json::Object overview_json(Overview const& overview)
{
    json::Array sites;
    for (std::size_t s = 0; s < overview.sites.sites.size(); ++s)
        sites.push_back(site_json(overview.sites.sites[s],
                                  overview.energy ? &overview.energy->sites.at(s) : nullptr));
    json::Array notes;
    if (overview.chain)
        for (auto const& note : overview.chain->notes) notes.push_back(note);
    for (auto const& note : overview.sites.notes) notes.push_back(note);
    return {{"run", overview.run.value},
            {"store", overview.store},
            {"store_error",
             overview.store_error ? json::Value(overview.store_error->message()) : json::Value()},
            {"time", format_time(overview.now)},
            {"chain", overview.chain
                          ? json::Value(chain_json(*overview.chain, overview.speed, overview.now))
                          : json::Value()},
            {"energy", overview.energy ? energy_json(overview.energy->total()) : json::Value()},
            {"held_out", overview.held_out ? held_out_json(*overview.held_out) : json::Value()},
            {"sites", std::move(sites)},
            {"notes", std::move(notes)}};
}

namespace {

json::Array models_json(std::vector<chain::RecomputedModel> const& models)
{
    json::Array list;
    for (auto const& model : models)
        list.push_back(json::Object{
            {"commit", model.number.value},
            {"round", model.round.value},
            {"recomputed", model.outcome == chain::RecomputedModel::Outcome::recomputed},
            {"why", to_text(model.outcome)}});
    return list;
}

json::Array lost_json(std::vector<chain::LostHeader> const& lost)
{
    json::Array list;
    for (auto const& header : lost)
        list.push_back(json::Object{{"name", header.name}, {"why", header.why}});
    return list;
}

}  // namespace

json::Object verified_json(chain::ChainSummary const& s, journal::JournalSummary const& journal,
                           std::string const& store)
{
    json::Array sites;
    for (auto const& [site, share] : s.sites)
        sites.push_back(json::Object{{"site", site.value},
                                     {"tokens", share.tokens.value},
                                     {"contributions", share.contributions},
                                     {"refused", share.refused}});
    return {{"run", s.run.run.value},
            {"store", store},
            {"sound", true},
            {"fork", fork_json(s.run)},
            {"commits", s.commits},
            {"merges", s.merges},
            {"lone", s.lone},
            {"averaged", s.averaged},
            {"rosters", s.rosters},
            {"members", s.members},
            {"round", s.tip.round.value},
            {"complete", s.tip.complete},
            {"tokens", s.tip.totals.tokens.value},
            {"steps", s.tip.totals.steps},
            {"blocks_done", s.tip.done.count()},
            {"blocks", s.run.stream_blocks()},
            {"refused", s.refused},
            {"headers", s.headers},
            {"payloads", s.payloads},
            {"models", models_json(s.models)},
            {"lost", lost_json(s.lost)},
            {"journal", json::Object{{"sites", journal.sites},
                                     {"streams", journal.streams},
                                     {"pieces", journal.pieces},
                                     {"bytes", journal.bytes}}},
            {"warning", s.warning.empty() ? json::Value() : json::Value(s.warning)},
            {"sites", std::move(sites)}};
}

}  // namespace curtail::status
