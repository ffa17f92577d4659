// SPDX-License-Identifier: Apache-2.0
#include "simulator/simulator.hpp"

namespace curtail::protocol::simulator {

Simulator::Simulator(RunSpec const& run, std::uint64_t seed, Chaos chaos,
                     std::optional<Fault> fault)
    : shared_{run, fault, chaos, SimTime(seed), SimStore(run)},
      processes_(shared_, [this](P const& p, Output const& output) {
          std::visit([&](auto const& o) { execute(p, o); }, output);
      })
{
}

void Simulator::store_fork(Origin const& origin)
{
    auto& history = shared_.history;
    if (history.keeps_log) history.log.emplace_back("0 the run begins as a fork");
    simulator::store_fork(shared_.store, shared_.run, origin, shared_.has(Fault::restart_fork));
}

template <class O>
void Simulator::execute(P const& p, O const& o)
{
    if constexpr (requires { outputs_.execute(p, o); }) outputs_.execute(p, o);
    else if constexpr (requires { merges_.execute(p, o); }) merges_.execute(p, o);
    else training_.execute(p, o);
}

bool Simulator::run_until(Millis end, std::function<bool()> const& stop)
{
    while (!stop()) {
        if (!shared_.time.run_next(end)) {
            shared_.time.skip_to(end);
            return stop();
        }
        injector_.run();
    }
    return true;
}

void Simulator::kill(std::size_t nth)
{
    auto const list = processes_.living();
    if (nth < list.size()) list[nth]->dead = true;
}

std::shared_ptr<void> Simulator::any_living()
{
    auto const list = processes_.living();
    if (list.empty()) return nullptr;
    return list[static_cast<std::size_t>(shared_.time.pick(0, std::ssize(list) - 1))];
}

Site const* Simulator::site_of(std::size_t index) const
{
    auto const p = processes_.newest_of(index);
    return p ? p->machine.get() : nullptr;
}

void Simulator::stop(std::size_t index, Millis grace)
{
    for (auto& p : processes_.living())
        if (p->site_index == index) processes_.request_stop(p, grace);
}

void Simulator::break_site(std::size_t index)
{
    for (auto& p : processes_.living())
        if (p->site_index == index) p->hardware.broken = true, p->healthy = false;
}

bool Simulator::complete() const
{
    return !store().chain().empty() && store().chain().back().complete;
}

}  // namespace curtail::protocol::simulator
