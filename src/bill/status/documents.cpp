// SPDX-License-Identifier: Apache-2.0
#include "bill/status/documents.hpp"

#include "bill/status/text.hpp"

namespace curtail::status {
namespace {

json::Array members_json(ChainView const& chain)
{
    auto const pending_json = [](protocol::Header const& header) {
        return json::Object{{"seq", header.seq.value},
                            {"base_round", header.base_round.value},
                            {"tokens", header.tokens.value},
                            {"leaving", header.leaving},
                            {"time", format_time(header.time)}};
    };
    return json::array_of(chain.members, [&](MemberView const& member) {
        auto const& row = member.row;
        return json::Object{{"id", row.id.value},
                            {"site", row.site.value},
                            {"decided", row.seq.value},
                            {"held", row.held.to_json()},
                            {"blocks_per_s", blocks_per_second(row)},
                            {"missed", row.missed},
                            {"seen", format_time(row.seen)},
                            {"pending", json::array_of(member.pending, pending_json)}};
    });
}

json::Value seconds_json(std::optional<FractionalSeconds> const& time)
{
    return time ? json::Value(time->count()) : json::Value();
}

json::Object progress_json(account::TokenProgress const& progress)
{
    auto const& speed = progress.speed;
    return {
        {"target_tokens", progress.target.value},
        {"done_tokens", progress.done.value},
        {"share", progress.share()},
        {"tokens_per_s", speed ? json::Value(speed->tokens_per_s) : json::Value()},
        {"measured_s", seconds_json(speed ? std::optional(speed->measured) : std::nullopt)},
        {"measured_until", json::time_or_null(speed ? std::optional(speed->until) : std::nullopt)},
        {"training_left_s", seconds_json(progress.training_left())}};
}

json::Value energy_json(energy::Tally const& tally)
{
    auto const carbon = tally.known_carbon();
    return json::Object{{"energy_wh", tally.energy.value},
                        {"gco2", carbon ? json::Value(carbon->value) : json::Value()},
                        {"unknown_intensity_wh", tally.unknown.value}};
}

json::Value fork_json(protocol::RunSpec const& run)
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
                                {"kind", protocol::to_text(tip.kind)},
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
                                           {"k", chain.lease->number},
                                           {"time", format_time(chain.lease->time)}});
    document.set("waiting", json::array_of(activities(chain, now), [](Activity const& activity) {
                     return json::Object{{"who", activity.subject}, {"what", activity.text}};
                 }));
    return document;
}

// Who holds the site; operators go before a person, and a person before the poller.
json::Value hold_json(SiteView const& site)
{
    if (!site.operators.empty())
        return json::Object{{"by", "operators"}, {"why", site.operators}, {"since", json::Value()}};
    auto const& decision = site.decision;
    if (decision && decision->held)
        return json::Object{{"by", decision->by},
                            {"why", decision->reason},
                            {"since", format_time(decision->since)}};
    if (site.hold.empty()) return {};
    return json::Object{{"by", "poller"}, {"why", site.hold}, {"since", json::Value()}};
}

json::Object site_json(SiteView const& site, SiteConsumption const* energy)
{
    auto const job_json = [](runlog::PollerJob const& job) {
        return json::Object{{"id", job.id},
                            {"running_since", json::time_or_null(job.running_since)},
                            {"leaving", job.leaving}};
    };
    json::Value permission, read, signal;
    if (auto const& given = site.permission)
        permission = json::Object{{"issued", format_time(given->issued)},
                                  {"until", format_time(given->until)},
                                  {"withdrawn", given->is_withdrawn()},
                                  {"why", given->why}};
    if (auto const& payloads = site.payloads)
        read = json::Object{{"round", payloads->round},
                            {"mpi_bytes", payloads->by_mpi.value},
                            {"store_bytes", payloads->from_store.value},
                            {"why_store", payloads->why_store}};
    if (energy != nullptr && energy->sample) {
        auto const& sample = *energy->sample;
        signal =
            json::Object{{"time", format_time(sample.time)},
                         {"intensity_gco2_per_kwh",
                          sample.intensity ? json::Value(sample.intensity->value) : json::Value()}};
    }
    return {{"site", site.site.value},
            {"window", json::text_or_null(site.window)},
            {"closing_since", json::time_or_null(site.closing_since)},
            {"evaluated_until", json::time_or_null(site.evaluated_until)},
            {"polled", json::time_or_null(site.polled)},
            {"published_until", json::time_or_null(site.published_until)},
            {"permission", std::move(permission)},
            {"hold", hold_json(site)},
            {"jobs", json::array_of(site.jobs, job_json)},
            {"submitting", site.submitting},
            {"failures", site.failures},
            {"failures_before_hold", site.failures_before_hold},
            {"failure", site.failure},
            {"retry_at", json::time_or_null(site.retry_at)},
            {"trainer", json::text_or_null(site.trainer)},
            {"trainer_since", json::time_or_null(site.trainer_since)},
            {"payloads_read", std::move(read)},
            {"energy", energy != nullptr ? energy_json(energy->tally) : json::Value()},
            {"signal", std::move(signal)}};
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
            {"work", overview.work ? json::Value(account::to_json(overview.work->sites,
                                                                  overview.work->warnings))
                                   : json::Value()},
            {"sites", std::move(sites)},
            {"notes", std::move(notes)}};
}

json::Object verified_json(chain::ChainSummary const& s, journal::VerifiedJournal const& journal,
                           std::string const& store)
{
    auto const model_json = [](chain::RecomputedModel const& model) {
        return json::Object{
            {"commit", model.number.value},
            {"round", model.round.value},
            {"recomputed", model.outcome == chain::RecomputedModel::Outcome::recomputed},
            {"why", to_text(model.outcome)}};
    };
    auto const lost_json = [](chain::LostHeader const& header) {
        return json::Object{{"name", header.name}, {"why", header.why}};
    };
    auto const share_json = [](auto const& part) {
        auto const& [site, share] = part;
        return json::Object{{"site", site.value},
                            {"tokens", share.tokens.value},
                            {"contributions", share.contributions},
                            {"refused", share.refused}};
    };
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
            {"models", json::array_of(s.models, model_json)},
            {"lost", json::array_of(s.lost, lost_json)},
            {"journal", json::Object{{"sites", journal.summary.sites},
                                     {"streams", journal.summary.streams},
                                     {"pieces", journal.summary.pieces},
                                     {"bytes", journal.summary.bytes},
                                     {"fixed_bytes", journal.summary.fixed},
                                     {"closings", journal.closings}}},
            {"run_digest", journal.run_digest.hex()},
            {"warning", json::text_or_null(s.warning)},
            {"sites", json::array_of(s.sites, share_json)}};
}

}  // namespace curtail::status
