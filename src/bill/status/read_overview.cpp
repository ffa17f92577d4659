// SPDX-License-Identifier: Apache-2.0
#include "bill/status/overview.hpp"

#include <fmt/format.h>

namespace curtail::status {
namespace {

void append(std::vector<std::string>& notes, std::vector<std::string> more)
{
    notes.insert(notes.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

// A store that cannot be read leaves the chain empty.
void read_store(Overview& overview, chain::RunObjects const& objects)
{
    auto chain = read_chain_view(objects);
    if (chain) overview.chain = std::move(*chain);
    else overview.store_error = chain.error();
}

// Without the logs, the commits still tell what the model includes.
void add_work(Overview& overview, config::Run const& run, chain::RunObjects const& objects,
              LogView const& logs)
{
    if (!overview.chain) return;
    auto work = read_work(run, objects, logs, *overview.chain);
    if (work) overview.work = std::move(*work);
    else
        overview.chain->notes.push_back(
            work.error().with_context("the sites' work is unknown").message());
}

std::string budget_text(std::optional<Tokens> const& budget)
{
    return budget ? fmt::format("a budget of {} tokens", budget->value) : "no budget";
}

// Trainers use the budget of the run's terms.
void note_budget(Overview& overview, config::Run const& run)
{
    if (!overview.chain) return;
    if (auto warning = config::zero_rate_warning(run, overview.chain->run.end()))
        overview.chain->notes.push_back(std::move(*warning));
    if (overview.chain->run.budget == run.training.budget) return;
    overview.chain->notes.push_back(
        fmt::format("{} states {}, but the run's terms state {}, which jobs use", run.file.string(),
                    budget_text(run.training.budget), budget_text(overview.chain->run.budget)));
}

}  // namespace

Overview read_overview(config::Run const& run,
                       Result<std::shared_ptr<store::ObjectStore>> const& store, Time now,
                       chain::CacheSettings const& cache)
{
    Overview overview{.run = run.run, .store = run.store.url, .now = now};
    chain::RecordCache records(cache, run.store, run.run);
    std::optional<chain::RunObjects> objects;
    if (store) read_store(overview, objects.emplace(**store, run.run, &records));
    else overview.store_error = store.error();
    note_budget(overview, run);
    journal::LogReader const reader(run, overview.store_error ? nullptr : *store);
    auto const logs = read_logs(run, reader);
    overview.sites = read_sites(run, logs);
    auto energy = read_energy(run, logs);
    overview.speed = account::speed_of(logs.work());
    overview.energy = std::move(energy.energy);
    if (overview.chain) overview.held_out = read_held_out(run, logs, *overview.chain);
    if (objects) add_work(overview, run, *objects, logs);
    append(overview.sites.notes, logs.notes());
    append(overview.sites.notes, std::move(energy.notes));
    return overview;
}

}  // namespace curtail::status
