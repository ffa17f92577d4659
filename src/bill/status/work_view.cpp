// SPDX-License-Identifier: Apache-2.0
#include "bill/status/work_view.hpp"

#include <fmt/format.h>

#include "base/core/columns.hpp"
#include "bill/account/files.hpp"

namespace curtail::status {
namespace {

using account::WorkBalance;

// `>`: the site's log lacks lines, or there is none.
std::string tokens_text(Tokens tokens, WorkBalance const& b)
{
    if (!b.has_log && tokens == Tokens{}) return "-";
    return (b.lacks_lines || !b.has_log ? ">" : "") + std::to_string(tokens.value);
}

std::vector<std::string> row_of(WorkBalance const& b, std::string name)
{
    return {std::move(name),           tokens_text(b.trained, b),  std::to_string(b.included.value),
            tokens_text(b.lost(), b),  std::to_string(b.refusals), std::to_string(b.clipped),
            std::to_string(b.removals)};
}

std::string loss_text(WorkBalance const& b, Time now)
{
    if (!b.last_loss) return "";
    auto const& loss = *b.last_loss;
    return fmt::format(
        "lost      {}, {} ago{}: {} ({})\n", b.site.value,
        format_duration(std::max(Millis{0}, now - loss.time)),
        loss.commit ? fmt::format(" at commit {}", *loss.commit) : "", loss.why,
        loss.tokens ? fmt::format("{} tokens", loss.tokens->value) : std::string("tokens unknown"));
}

}  // namespace

Result<WorkView> read_work(config::Run const& run, chain::RunObjects const& objects,
                           LogView const& logs, ChainView const& chain)
{
    auto list = account::read_commits(objects);
    if (!list) return tl::unexpected(list.error());
    // Others may have created newer commits meanwhile.
    std::erase_if(list->commits,
                  [&](auto const& commit) { return commit.number > chain.tip.number.value; });
    std::vector<account::WorkLog> of_sites;
    for (std::size_t s = 0; s < run.sites.size(); ++s) {
        auto& log = of_sites.emplace_back(account::WorkLog{.site = run.sites[s].site});
        log.publication.is_missing = true;
        if (!logs.sites.at(s)) continue;
        auto const& site = *logs.sites[s];
        log = {log.site, site.events, site.metrics, account::publication_of(site)};
    }
    WorkView view{account::balances_of(list->commits, of_sites), {}};
    view.warnings = account::warnings_of(view.sites, chain.run.params);
    return view;
}

std::string warnings_text(WorkView const& view)
{
    std::string text;
    for (auto const& warning : view.warnings) text += "warning   " + warning + "\n";
    return text;
}

std::string work_text(WorkView const& view, Time now)
{
    std::vector<std::vector<std::string>> rows{
        {"site", "trained", "in the model", "lost", "refused", "clipped", "removed"}};
    std::string losses;
    for (auto const& site : view.sites) {
        rows.push_back(row_of(site, site.site.value));
        losses += loss_text(site, now);
    }
    if (view.sites.size() > 1) rows.push_back(row_of(account::sum_of(view.sites), "all sites"));
    using enum Alignment;
    return "\n" + text_table(rows, {left, right, right, right, right, right, right}) + losses;
}

}  // namespace curtail::status
