// SPDX-License-Identifier: Apache-2.0
#include "simulator/simulator.hpp"

#include <cmath>
#include <stdexcept>

#include "simulator/trace.hpp"

namespace curtail::rounds::simulator {

Simulator::Simulator(RunSpec run, std::uint64_t seed, Chaos chaos, Policy policy)
    : SimTime(seed), run_(run), store_(std::move(run)), chaos_(chaos), policy_(policy)
{
    for (std::size_t i = 0; i < run_.sites.size(); ++i)
        speed_.push_back(std::exp(uniform(-1.2, 1.2)));
}

void Simulator::start(std::size_t site)
{
    auto p = std::make_shared<SimProcess>();
    p->site_index = site;
    p->clock_offset = Millis{pick(1, 1'000'000)};
    auto const own = nonce();
    bool const reuses = policy_.breaks(Fault::reuse_identity);
    Process const process{run_.sites[site], reuses ? 1 : own};
    SiteConfig config{process, run_, 0, store_.decoder(), policy_};
    p->skew = run_.params.skew;
    p->identity = config.process;
    p->machine = std::make_unique<Site>(config);
    p->trainer = std::make_unique<SimTrainer>(store_.blocks());
    processes_.push_back(p);
    deliver(p, Tick{});
}

bool Simulator::run_until(Millis end, std::function<bool()> const& stop)
{
    do {
        if (stop()) return true;
    } while (run_next(end) && maybe_inject_fault());
    skip_to(end);
    return stop();
}

std::shared_ptr<void> Simulator::any_living()
{
    auto const list = living();
    return list.empty() ? nullptr
                        : list[static_cast<std::size_t>(
                              pick(0, static_cast<std::int64_t>(list.size()) - 1))];
}

Site const* Simulator::site_of(std::size_t index) const
{
    for (auto it = processes_.rbegin(); it != processes_.rend(); ++it)
        if (!(*it)->dead && (*it)->site_index == index) return (*it)->machine.get();
    return nullptr;
}

bool Simulator::complete() const
{
    return !store_.chain().empty() && store_.chain().back().complete;
}

std::vector<Simulator::P> Simulator::living() const
{
    std::vector<P> list;
    for (auto const& p : processes_)
        if (!p->dead) list.push_back(p);
    return list;
}

void Simulator::deliver(P const& p, Input const& input)
{
    if (p->dead) return;
    if (p->frozen_until > now() || !p->inbox.empty()) {
        p->inbox.push_back(input);
        return;
    }
    handle(p, input);
}

void Simulator::handle(P const& p, Input const& input)
{
    MonoTime const at{now() + p->clock_offset};
    p->observe(at, input);
    auto const outputs = outputs_of(*p, input);
    if (trace_ != nullptr) trace(*trace_, now(), *p, input, outputs);
    for (auto const& output : outputs) std::visit([&](auto const& o) { execute(p, o); }, output);
    auto const status = p->machine->status();
    ++states_[status.state];
    p->signs.check_written(*p->machine, at, p->resumed);
    p->state = status.state;
    p->check_against_trainer(status);
    p->check_round(status, at);
    auto const wake = p->machine->wake();
    if (!wake || wake == p->wake) return;
    p->wake = wake;
    later(std::max(Millis{1}, wake->time_since_epoch() - p->clock_offset - now()), [this, p, wake] {
        if (p->wake != wake) return;
        p->wake.reset();
        deliver(p, Tick{});
    });
}

std::vector<Output> Simulator::outputs_of(SimProcess& p, Input const& input) const
{
    try {
        return p.machine->on(MonoTime{now() + p.clock_offset}, input);
    } catch (std::logic_error const& e) {
        throw Violation(Invariant::contract, e.what());
    }
}

void Simulator::boundary(P const& p)
{
    if (p->cut || p->adopt) ++steps_;
    if (p->cut) {
        auto const cut = *std::exchange(p->cut, {});
        auto ready = p->trainer->cut(cut.op, cut.seq);
        if (chance(chaos_.nan) && !ready.ranges.empty()) {
            ready.nonfinite = {1};
            ++p->nan_cuts;
        }
        deliver(p, ready);
    } else if (p->adopt) {
        auto const [adopt, theta] = *std::exchange(p->adopt, {});
        p->trainer->adopt(adopt, theta);
        deliver(p, Adopted{adopt.op});
    }
}

void Simulator::step(P const& p)
{
    if (p->cut || p->adopt || !p->trainer->begin_step(pick(1, 2))) return;
    auto const takes =
        Millis{static_cast<std::int64_t>(400 * speed_[p->site_index] * uniform(0.7, 1.4))};
    later(takes,
          [this, p, takes, instance = p->trainer->instance()] { end_step(p, takes, instance); });
}

void Simulator::end_step(P const& p, Millis takes, int instance)
{
    if (p->dead || instance != p->trainer->instance()) return;
    if (p->frozen_until > now())
        return later(p->frozen_until - now(), [=, this] { end_step(p, takes, instance); });
    ++steps_;
    if (p->broken || chance(chaos_.skipped)) {
        ++p->skips;
        deliver(p, Skipped{p->trainer->skip_step()});
    } else {
        p->skips = 0;
        deliver(p, Stepped{p->trainer->end_step(), takes});
    }
    boundary(p);
    step(p);
}

}  // namespace curtail::rounds::simulator
