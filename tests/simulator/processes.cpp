// SPDX-License-Identifier: Apache-2.0
#include "simulator/processes.hpp"

#include <algorithm>
#include <stdexcept>

#include "simulator/part.hpp"
#include "simulator/trace.hpp"

namespace curtail::protocol::simulator {

void Processes::start(std::size_t site)
{
    auto p = std::make_shared<SimProcess>();
    auto& time = shared_.time;
    auto const& run = shared_.run;
    p->site_index = site;
    p->clock_offset = Millis{time.pick(1, 1'000'000)};
    auto const own = time.nonce();
    p->folder = free_folder(site);
    p->ended = ended_in(site, p->folder);
    SiteConfig config{
        {run.sites[site], own}, run, 0, p->ended, shared_.copies.newest_commit({site, p->folder}),
        shared_.store.decoder()};
    config.run.fork.reset();  // only run.json names the origin
    p->saboteur = saboteur_of(shared_.fault, run, shared_.store);
    p->saboteur->configure(config);
    p->skew = run.params.skew;
    p->identity = config.process;
    p->machine = std::make_unique<Site>(config);
    p->trainer = std::make_unique<SimTrainer>(shared_.store.blocks());
    for (auto const& other : all_)
        if (!other->dead && other->site_index == site) p->healthy = other->healthy = false;
    all_.push_back(p);
    deliver(p, Tick{});
}

// The first folder that no living process of the site uses, or by chance another one.
int Processes::free_folder(std::size_t site)
{
    std::set<int> used;
    for (auto const& p : all_)
        if (!p->dead && p->site_index == site) used.insert(p->folder);
    int folder = shared_.time.chance(0.1) ? 1 : 0;
    while (used.contains(folder)) ++folder;
    return folder;
}

std::set<std::uint32_t> Processes::ended_in(std::size_t site, int folder) const
{
    std::set<std::uint32_t> ended;
    for (auto const& p : all_)
        if (p->site_index == site && p->folder == folder) ended.insert(p->identity.nonce);
    return ended;
}

void Processes::deliver(P const& p, Input const& input)
{
    if (p->dead) return;
    if (p->frozen_until > shared_.time.now() || !p->inbox.empty()) {
        p->inbox.push_back(input);
        return;
    }
    handle(p, input);
}

void Processes::handle(P const& p, Input const& input)
{
    auto& history = shared_.history;
    auto const now = shared_.time.now();
    MonoTime const at{now + p->clock_offset};
    p->observe(at, input);
    auto const outputs = outputs_of(*p, at, input);
    if (history.trace != nullptr) trace(*history.trace, now, *p, input, outputs);
    for (auto const& output : outputs) execute_(p, output);
    auto const status = p->machine->status();
    ++history.states[status.state];
    p->signs.check_written(*p->machine, status, at, p->vigil.resumed());
    p->state = status.state;
    p->check_against_trainer(status);
    p->check_round(status, at, shared_.availability.confuses(now));
    wake(p);
}

void Processes::wake(P const& p)
{
    auto const wake = p->machine->wake();
    if (!wake || wake == p->wake) return;
    p->wake = wake;
    auto const delay = wake->time_since_epoch() - p->clock_offset - shared_.time.now();
    shared_.time.later(std::max(Millis{1}, delay), [this, p, wake] {
        if (p->wake != wake) return;
        p->wake.reset();
        deliver(p, Tick{});
    });
}

std::vector<Output> Processes::outputs_of(SimProcess& p, MonoTime at, Input const& input) const
{
    try {
        return p.saboteur->on(*p.machine, at, input);
    } catch (std::logic_error const& e) {
        throw Violation(Invariant::contract, e.what());
    }
}

std::vector<Processes::P> Processes::living() const
{
    std::vector<P> list;
    for (auto const& p : all_)
        if (!p->dead) list.push_back(p);
    return list;
}

Processes::P Processes::newest_of(std::size_t index) const
{
    auto const p = std::find_if(all_.rbegin(), all_.rend(), [&](P const& candidate) {
        return !candidate->dead && candidate->site_index == index;
    });
    return p == all_.rend() ? nullptr : *p;
}

bool Processes::is_newest(P const& p) const
{
    return *std::find_if(all_.rbegin(), all_.rend(), [&](P const& candidate) {
        return candidate->site_index == p->site_index;
    }) == p;
}

void Processes::check_losses() const
{
    for (auto const& p : all_) p->check_losses(shared_.store);
}

void Processes::kill_all_but(std::shared_ptr<void> const& survivor)
{
    for (auto& p : all_)
        if (p != survivor) p->dead = true;
}

void Processes::freeze(P const& p, Millis duration)
{
    auto const now = shared_.time.now();
    p->frozen_until = now + duration;
    p->healthy = false;
    shared_.history.add_line(now, *p, "freezes");
    shared_.time.later(duration, [this, p] { thaw(p); });
}

void Processes::thaw(P const& p)
{
    if (p->frozen_until > shared_.time.now()) return;
    for (; !p->inbox.empty() && !p->dead; p->inbox.pop_front()) handle(p, p->inbox.front());
}

void Processes::interrupt(P const& p)
{
    auto& time = shared_.time;
    auto const sites = static_cast<std::int64_t>(shared_.run.sites.size());
    if (sites < 2 || !time.chance(shared_.chaos.interrupted)) return;
    freeze(p, Millis{time.pick(5'000, 15'000)});
    auto const other = static_cast<std::int64_t>(p->site_index) + time.pick(1, sites - 1);
    start(static_cast<std::size_t>(other % sites));
}

void Processes::request_stop(P const& p, Millis grace)
{
    p->stopping = true;
    p->healthy = false;
    MonoTime const begun{shared_.time.now() + p->clock_offset};
    deliver(p, StopRequested{begun + grace * 9 / 10, begun + grace});
}

}  // namespace curtail::protocol::simulator
