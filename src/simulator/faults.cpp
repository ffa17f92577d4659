// SPDX-License-Identifier: Apache-2.0
#include "simulator/simulator.hpp"

#include "simulator/foreign_objects.hpp"

namespace curtail::rounds::simulator {

void Simulator::kill_all_but(std::shared_ptr<void> const& survivor)
{
    for (auto& p : processes_)
        if (p != survivor) p->dead = true;
}

void Simulator::kill(std::size_t nth)
{
    auto const list = living();
    if (nth < list.size()) list[nth]->dead = true;
}

void Simulator::stop(std::size_t index, Millis grace)
{
    for (auto& p : living())
        if (p->site_index == index) {
            p->stopping = true;
            deliver(p, stop_request(p, grace));
        }
}

void Simulator::break_site(std::size_t index)
{
    for (auto& p : living())
        if (p->site_index == index) p->broken = true;
}

bool Simulator::maybe_inject_fault()
{
    auto const elapsed = now() - last_fault_check_;
    last_fault_check_ = now();
    if (chance(chaos_.faults_per_s * static_cast<double>(elapsed.count()) / 1000)) inject_fault();
    return true;
}

void Simulator::inject_fault()
{
    auto const list = living();
    auto const fault = pick(0, 20);
    if (fault == 10) return fill_store(Millis{pick(1'000, 20'000)});
    if (fault == 15) return take_store_away(Millis{pick(1'000, 20'000)});
    if (fault == 17) return amend();
    if (fault >= 18) return damage_newest();
    if (fault == 16) return move_clock(Millis{pick(-3'600'000, 3'600'000)});
    if (fault == 13) {
        headers_unreadable_until_ = now() + Millis{pick(1'000, 20'000)};
        return;
    }
    if (fault == 11 || fault == 12)
        return inject(static_cast<int>(pick(0, foreign_header_types + foreign_lease_types - 1)));
    if (list.empty() || fault <= 2)
        return start(
            static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(run_.sites.size()) - 1)));
    auto const& p =
        list[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(list.size()) - 1))];
    if (fault <= 5) {
        log_line(p, "is killed");
        p->dead = true;
    } else if (fault <= 7) {
        freeze(p, Millis{pick(100, fault == 6 ? 4'000 : 40'000)});
    } else if (fault == 14) {
        p->broken = true;
        log_line(p, "breaks");
    } else {
        p->stopping = true;
        log_line(p, "receives a stop request");
        deliver(p, stop_request(p, Millis{pick(500, 30'000)}));
    }
}

// A quarantine ends by the store's clock. If that jumped back, the site would wait for too long.
void Simulator::move_clock(Millis offset)
{
    auto const& chain = store_.chain();
    if (chain.empty() || chain.back().quarantine.empty()) clock_offset_ = offset;
}

bool Simulator::can_recompute()
{
    // With one model, the merge itself deletes what it was made from.
    if (run_.params.keep_models < 2) return false;
    auto const& chain = store_.chain();
    auto made = chain.rbegin();
    while (made->kind == Commit::Kind::roster) ++made;
    if (made->kind != Commit::Kind::merge) return false;
    if (store_.payload((made + 1)->model.parts.at(0)) == nullptr) return false;
    bool const first_outer = !(made + 1)->outer;
    if (made->outer_step && !first_outer &&
        store_.payload((made + 1)->outer->parts.at(0)) == nullptr)
        return false;
    for (auto const& d : made->decided) {
        if (d.refused || d.ranges.empty()) continue;
        auto const name = header_name(d.member, d.seq);
        auto const bytes = store_.get(name);
        if (!d.header || !bytes || sha256(*bytes) != *d.header) return false;
        auto const header = decode_header(*bytes, name);
        if (store_.payload(header->parts.at(0).payload) == nullptr) return false;
    }
    return true;
}

void Simulator::damage_newest()
{
    if (store_.chain().empty() || store_.chain().back().complete) return;
    auto const& tip = store_.chain().back();
    auto const& part = tip.outer && chance(0.3) ? tip.outer->parts.at(0) : tip.model.parts.at(0);
    auto const digest = part.sha256.hex();
    // Nobody may read the momentum before what it was made from has expired. So a copy must stay.
    bool const model = part.part.starts_with('w');
    bool const recomputable = model && can_recompute();
    if (store_.payload(part) == nullptr || !(recomputable || kept_[0].contains(digest))) return;
    if (recomputable && chance(0.7))
        for (auto& [site, copies] : kept_) copies.erase(digest);
    damaged_.insert(part.name);
    ++notes_["damaged"];
    store_.damage(part.name, chance(0.5));
}

void Simulator::freeze(P const& p, Millis duration)
{
    p->frozen_until = now() + duration;
    log_line(p, "freezes");
    later(duration, [this, p] { thaw(p); });
}

void Simulator::interrupt(P const& p)
{
    if (run_.sites.size() < 2 || !chance(chaos_.interrupted)) return;
    freeze(p, Millis{pick(5'000, 15'000)});
    auto const sites = static_cast<std::int64_t>(run_.sites.size());
    auto const other = static_cast<std::int64_t>(p->site_index) + pick(1, sites - 1);
    start(static_cast<std::size_t>(other % sites));
}

void Simulator::thaw(P const& p)
{
    if (p->frozen_until > now()) return;
    for (; !p->inbox.empty() && !p->dead; p->inbox.pop_front()) handle(p, p->inbox.front());
}

void Simulator::amend()
{
    if (store_.chain().empty() || store_.chain().back().complete) return;
    auto const& tip = store_.chain().back();
    Amendment a;
    a.run = run_.run;
    a.n = tip.amended ? tip.amended->n + 1 : 1;
    a.previous = chance(0.1) ? sha256("another run") : store_.last_amendment();
    a.terms = tip.terms;
    a.terms.params.round_time = Millis{pick(2'000, 4'000)};
    a.terms.params.max_undecided = pick(1, 3);
    a.terms.params.max_staleness = pick(0, 2);
    if (chance(0.3)) a.terms.budget = Tokens{pick(1, 8 * static_cast<int>(store_.blocks()))};
    a.terms.sites = {run_.sites.front()};
    for (std::size_t i = 1; i < run_.sites.size(); ++i)
        if (chance(0.7)) a.terms.sites.push_back(run_.sites[i]);
    auto bytes = encode(a).bytes;
    if (chance(0.1)) bytes = "{}";
    store_.create(amendment_name(a.n), bytes);
}

void Simulator::inject(int type)
{
    if (store_.chain().empty() || store_.chain().back().complete) return;
    auto const& tip = store_.chain().back();
    if (type >= foreign_header_types) {
        std::int64_t k = 1;
        while (store_.get(lease_name(tip.round, k))) ++k;
        store_.create(lease_name(tip.round, k), foreign_lease(k, type - foreign_header_types));
        return;
    }
    std::vector<Member> open;
    for (auto const& m : tip.members)
        if (!store_.get(header_name(m.id, m.seq.next()))) open.push_back(m);
    if (open.empty()) return;
    auto const& m =
        open[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(open.size()) - 1))];
    auto const name = header_name(m.id, m.seq.next());
    injected_.insert(name);
    store_.inject(name, foreign_header(run_, tip, m, type));
}

}  // namespace curtail::rounds::simulator
