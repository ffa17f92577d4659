// SPDX-License-Identifier: Apache-2.0
#include "bill/account/balance.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "bill/account/files.hpp"
#include "bill/account/text.hpp"
#include "protocol/site/notes.hpp"

namespace curtail::account {
namespace {

// The reasons in commits and events, in words.
constexpr std::pair<std::string_view, std::string_view> reasons[] = {
    {"nan", "a value of the delta was not finite"},
    {"digest", "the delta was missing or damaged"},
    {"norm", "the length of the delta was wrong"},
    {"stale", "the work was too old"},
    {"not-held", "the member did not hold the blocks"},
    {"wrong-run", "the header did not fit the run"},
    {"bad-tokens", "the number of tokens was wrong"},
    {"silent", "the member was silent"},
    {"succeeded", "a newer process of the site joined"},
    {"quarantined", "three contributions in a row were refused"}};

std::string words_of(std::string_view reason)
{
    auto const* const found =
        std::ranges::find(reasons, reason, &std::pair<std::string_view, std::string_view>::first);
    return found == std::end(reasons) ? printable(reason) : std::string(found->second);
}

void add_loss(WorkBalance& balance, WorkLoss loss)
{
    if (!balance.last_loss || balance.last_loss->time <= loss.time)
        balance.last_loss = std::move(loss);
}

void add(WorkBalance& balance, Contribution const& c, CommitSummary const& commit)
{
    if (!c.included) {
        balance.refused += c.tokens;
        ++balance.refusals;
        ++balance.setbacks;
        return add_loss(balance, {commit.time, words_of(c.refusal), commit.number, c.tokens});
    }
    balance.clipped += c.clipped ? 1 : 0;
    if (c.tokens == Tokens{}) return;
    balance.included += c.tokens;
    balance.last_included = commit.time;
    balance.setbacks = 0;
}

bool was_wanted(protocol::Removal reason)
{
    return reason == protocol::Removal::left || reason == protocol::Removal::complete;
}

// The commits must come before the log.
void add(WorkBalance& balance, WorkLog const& log)
{
    balance.has_log = !log.publication.is_missing;
    balance.lacks_lines = log.publication.lacks_lines;
    for (auto const& step : log.steps) {
        balance.trained += step.tokens;
        if (balance.last_included && step.time <= *balance.last_included) continue;
        balance.waiting += step.tokens;
        balance.waiting_time += step.duration;
    }
    for (auto const& event : log.events) {
        protocol::Note const note{event.type, event.details};
        Tokens const tokens{event.integer("tokens").value_or(0)};
        // The commits tell what is refused.
        if (!protocol::is_loss(note) || event.type == "refused") continue;
        balance.dropped += tokens;
        auto const commit = event.integer("commit");
        add_loss(balance,
                 {event.time,
                  commit ? words_of(event.text("why")) : "the trainer ended before it was stored",
                  commit, tokens});
    }
}

std::string stuck_text(WorkBalance const& b)
{
    auto const what = b.waiting > Tokens{}
                          ? fmt::format("has trained on {} tokens", grouped(b.waiting.value))
                          : fmt::format("was removed, or its work refused, {} times", b.setbacks);
    return b.site.value + " " + what +
           (b.last_included
                ? " since a commit last included its work, at " + format_time(*b.last_included)
                : ", and the model includes no work of the site");
}

// Finds a site, or adds it.
WorkBalance& of_site(std::vector<WorkBalance>& balances, SiteId const& site)
{
    auto const found = std::ranges::find(balances, site, &WorkBalance::site);
    return found != balances.end() ? *found : balances.emplace_back(WorkBalance{.site = site});
}

json::Value json_of(std::optional<WorkLoss> const& loss)
{
    if (!loss) return {};
    return json::Object{
        {"time", format_time(loss->time)},
        {"why", loss->why},
        {"commit", loss->commit},
        {"tokens", loss->tokens ? json::Value(loss->tokens->value) : json::Value()}};
}

json::Object json_of(WorkBalance const& b)
{
    auto const logged = [&](Tokens tokens) {
        return b.has_log ? json::Value(tokens.value) : json::Value();
    };
    json::Value quarantine;
    if (b.quarantine)
        quarantine = json::Object{{"until", format_time(b.quarantine->until)},
                                  {"reason", protocol::to_text(b.quarantine->reason)}};
    return {{"site", json::text_or_null(b.site.value)},
            {"trained_tokens", logged(b.trained)},
            {"is_at_least", b.lacks_lines},
            {"included_tokens", b.included.value},
            {"refused_tokens", b.refused.value},
            {"dropped_tokens", logged(b.dropped)},
            {"waiting_tokens", logged(b.waiting)},
            {"refused", b.refusals},
            {"clipped", b.clipped},
            {"removed", b.removals},
            {"last_included", json::time_or_null(b.last_included)},
            {"last_loss", json_of(b.last_loss)},
            {"quarantine", std::move(quarantine)}};
}

}  // namespace

std::vector<WorkBalance> balances_of(std::span<CommitSummary const> commits,
                                     std::span<WorkLog const> logs)
{
    std::vector<WorkBalance> balances;
    for (auto const& log : logs) balances.push_back({.site = log.site});
    for (auto const& commit : commits) {
        for (auto const& [site, reason] : commit.removed) {
            if (was_wanted(reason)) continue;
            auto& balance = of_site(balances, site);
            ++balance.removals;
            ++balance.setbacks;
            add_loss(balance,
                     {commit.time, words_of(protocol::to_text(reason)), commit.number, {}});
        }
        for (auto const& c : commit.contributions) add(of_site(balances, c.site), c, commit);
    }
    if (!commits.empty())
        for (auto const& q : commits.back().quarantine) of_site(balances, q.site).quarantine = q;
    for (std::size_t s = 0; s < logs.size(); ++s) add(balances[s], logs[s]);
    return balances;
}

WorkBalance sum_of(std::span<WorkBalance const> sites)
{
    WorkBalance sum;
    for (auto const& b : sites) {
        sum.has_log = sum.has_log || b.has_log;
        sum.lacks_lines = sum.lacks_lines || b.lacks_lines || !b.has_log;
        sum.trained += b.trained;
        sum.included += b.included;
        sum.refused += b.refused;
        sum.dropped += b.dropped;
        sum.waiting += b.waiting;
        sum.refusals += b.refusals;
        sum.clipped += b.clipped;
        sum.removals += b.removals;
    }
    return sum;
}

std::vector<std::string> warnings_of(std::span<WorkBalance const> sites,
                                     protocol::Params const& params)
{
    FractionalSeconds const round = std::max(params.round_time, params.checkpoint_interval);
    std::vector<std::string> warnings;
    for (auto const& b : sites) {
        if (b.waiting_time > 3 * round || b.setbacks >= 3) warnings.push_back(stuck_text(b));
        if (b.quarantine)
            warnings.push_back(fmt::format(
                "{} is in quarantine until {}: three contributions in a row were refused, the last "
                "because {}",
                b.site.value, format_time(b.quarantine->until),
                words_of(protocol::to_text(b.quarantine->reason))));
    }
    return warnings;
}

json::Object to_json(std::span<WorkBalance const> sites, std::vector<std::string> const& warnings)
{
    json::Array all;
    for (auto const& b : sites) all.emplace_back(json_of(b));
    return {{"sites", std::move(all)},
            {"all", json_of(sum_of(sites))},
            {"warnings", json::Array(warnings.begin(), warnings.end())}};
}

}  // namespace curtail::account
