// SPDX-License-Identifier: Apache-2.0
#include "status/overview.hpp"

namespace curtail::status {
namespace {

void append(std::vector<std::string>& notes, std::vector<std::string> more)
{
    notes.insert(notes.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

// An unavailable store leaves the chain empty.
Result<void> read_store(Overview& overview,
                        Result<std::unique_ptr<store::ObjectStore>> const& store)
{
    if (!store && store.error().code != ExitCode::unavailable) return tl::unexpected(store.error());
    if (!store) {
        overview.store_error = store.error().message();
        return {};
    }
    auto chain = read_chain_view({**store, overview.run});
    if (!chain) return tl::unexpected(chain.error());
    overview.chain = std::move(*chain);
    return {};
}

}  // namespace

Result<Overview> read_overview(config::Run const& run,
                               Result<std::unique_ptr<store::ObjectStore>> const& store, Time now)
{
    Overview overview{run.run, run.store, now, {}, read_sites(run)};
    if (auto read = read_store(overview, store); !read) return tl::unexpected(read.error());
    auto work = read_work(run);
    auto energy = read_energy(run, work);
    overview.speed = account::speed_of(work.all());
    overview.energy = std::move(energy.energy);
    append(overview.sites.notes, std::move(work.notes));
    append(overview.sites.notes, std::move(energy.notes));
    return overview;
}

}  // namespace curtail::status
