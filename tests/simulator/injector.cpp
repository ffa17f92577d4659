// SPDX-License-Identifier: Apache-2.0
#include "simulator/injector.hpp"

#include "protocol/records/terms.hpp"
#include "simulator/foreign_objects.hpp"
#include "simulator/recompute.hpp"

namespace curtail::protocol::simulator {

enum class Injector::Kind : int {
    start,
    crash,
    short_freeze,
    long_freeze,
    stop_request,
    full_store,
    foreign_object,
    hidden_headers,
    broken_hardware,
    outage,
    partition,
    refusal,
    clock_jump,
    amendment,
    damage,
    lost_commit,
    older_store,
    foreign_commit
};

void Injector::run()
{
    // The more often a fault is in this list, the more often it happens.
    static constexpr Kind kinds[] = {
        Kind::start,          Kind::start,          Kind::start,           Kind::crash,
        Kind::crash,          Kind::crash,          Kind::short_freeze,    Kind::long_freeze,
        Kind::stop_request,   Kind::stop_request,   Kind::full_store,      Kind::foreign_object,
        Kind::foreign_object, Kind::hidden_headers, Kind::broken_hardware, Kind::outage,
        Kind::partition,      Kind::refusal,        Kind::clock_jump,      Kind::amendment,
        Kind::damage,         Kind::damage,         Kind::damage,          Kind::lost_commit,
        Kind::older_store,    Kind::lost_commit,    Kind::older_store,     Kind::foreign_commit};
    // The faults that hit one process.
    static constexpr Kind of_processes[] = {
        Kind::start,        Kind::start,       Kind::start,        Kind::crash,
        Kind::short_freeze, Kind::long_freeze, Kind::stop_request, Kind::broken_hardware};
    auto const elapsed = now() - last_check_;
    last_check_ = now();
    if (!chance(chaos_.faults_per_s * static_cast<double>(elapsed.count()) / 1000)) return;
    if (chaos_.gentle) inject(any_of(of_processes));
    else inject(any_of(kinds));
}

void Injector::inject(Kind kind)
{
    switch (kind) {
        case Kind::full_store:
            return fill_store(Millis{pick(1'000, 20'000)});
        case Kind::outage:
            return take_store_away(Millis{pick(1'000, 20'000)});
        case Kind::hidden_headers:
            return shared_.availability.hide_headers_until(now() + Millis{pick(1'000, 20'000)});
        case Kind::clock_jump:
            return shared_.availability.set_clock(
                Millis{pick(-most_clock_offset.count(), most_clock_offset.count())});
        case Kind::amendment:
            return amend();
        case Kind::damage:
            return damage_newest();
        case Kind::lost_commit:
            return lose_commit();
        case Kind::older_store:
            return set_back();
        case Kind::foreign_commit:
            return add_foreign_commit();
        case Kind::foreign_object:
            return add_foreign_object(
                static_cast<int>(pick(0, foreign_header_types + foreign_lease_types - 1)));
        default:
            break;
    }
    auto const living = processes_.living();
    if (kind == Kind::start || living.empty())
        return processes_.start(static_cast<std::size_t>(pick(0, std::ssize(run_.sites) - 1)));
    inject(any_of(living), kind);
}

void Injector::inject(P const& p, Kind kind)
{
    switch (kind) {
        case Kind::crash:
            log_line(p, "is killed");
            p->dead = true;
            return;
        case Kind::partition:
            log_line(p, "cannot reach the store");
            return cut_off(p->site_index, Millis{pick(1'000, 40'000)}, false);
        case Kind::refusal:
            log_line(p, "is refused by the store");
            return cut_off(p->site_index, Millis{pick(1'000, 40'000)}, true);
        case Kind::short_freeze:
            return processes_.freeze(p, Millis{pick(100, 4'000)});
        case Kind::long_freeze:
            return processes_.freeze(p, Millis{pick(100, 40'000)});
        case Kind::broken_hardware:
            p->hardware.broken = true;
            p->healthy = false;
            log_line(p, "breaks");
            return;
        case Kind::stop_request:
            log_line(p, "receives a stop request");
            return processes_.request_stop(p, Millis{pick(500, 30'000)});
        default:
            return;
    }
}

void Injector::fill_store(Millis duration) { shared_.availability.fill_until(now() + duration); }

void Injector::take_store_away(Millis duration)
{
    shared_.availability.take_away_until(now() + duration);
}

void Injector::cut_off(std::size_t site, Millis duration, bool refused)
{
    shared_.availability.cut_off(site, now(), {now() + duration, refused});
}

bool Injector::has_open_run() const
{
    return !store_.chain().empty() && !store_.chain().back().complete;
}

void Injector::damage_newest()
{
    if (!has_open_run()) return;
    auto const& tip = store_.chain().back();
    auto const& part = tip.outer && chance(0.3) ? tip.outer->momentum : tip.model.weights;
    // Nobody may read the momentum before what it was made from has expired. So a copy must stay.
    bool const model = part.part.starts_with('w');
    bool const recomputable = model && can_recompute(store_, run_.params);
    bool const kept = shared_.copies.find(0, part.sha256) != nullptr;
    if (store_.payload(part) == nullptr || !(recomputable || kept)) return;
    if (recomputable && chance(0.7)) shared_.copies.lose(part.sha256);
    shared_.causes.add_damaged_payload(part.name);
    ++shared_.history.notes["damaged"];
    store_.damage(part.name, chance(0.5));
}

// Returns whether a living member has copies of all commits from `first` on.
bool Injector::can_mend(CommitNumber first) const
{
    auto const has_copies = [&](P const& p) {
        auto const member = p->machine->status().member;
        if (!member || store_.chain().back().find(*member) == nullptr) return false;
        for (auto n = first; n <= store_.chain().back().number; n = n.next())
            if (shared_.copies.commit({p->site_index, p->folder}, commit_name(n)) == nullptr)
                return false;
        return true;
    };
    auto const living = processes_.living();
    return std::any_of(living.begin(), living.end(), has_copies);
}

void Injector::lose(CommitNumber first, CommitNumber last)
{
    for (auto n = first; n <= last; n = n.next()) store_.lose_commit(n);
    ++shared_.history.notes["lost-commits"];
}

void Injector::lose_commit()
{
    if (!has_open_run()) return;
    auto const newest = store_.chain().back().number;
    CommitNumber const number{pick(1, newest.value)};
    bool const lost = number < newest || (is_known_to_all(newest) && newest_told() == newest);
    if (lost && can_mend(number) && !may_create(number)) lose(number, number);
}

// Sets the commits back to an earlier time. A site's status must tell a starting process of it.
void Injector::set_back()
{
    if (!has_open_run()) return;
    auto const newest = store_.chain().back().number;
    CommitNumber const first{newest.value - pick(0, 3)};
    bool const known = is_known_to_all(newest) && newest_told() == newest;
    if (first.value > 1 && known && can_mend(first)) lose(first, newest);
}

// Somebody removes the object later.
void Injector::add_foreign_commit()
{
    if (!has_open_run()) return;
    auto const& tip = store_.chain().back();
    CommitNumber const number{tip.number.value + pick(1, 6)};
    auto const name = commit_name(number);
    shared_.causes.add_foreign_commit(number);
    ++shared_.history.notes["foreign-commits"];
    store_.add_foreign_commit(name, foreign_commit(tip, number, chance(0.5)));
    Millis const time{pick(1'000, 20'000)};
    shared_.availability.confuse_until(now() + time);
    later(time, [this, name] { store_.remove_foreign_commit(name); });
}

// The newest commit that a site's status names; 0: none.
CommitNumber Injector::newest_told() const
{
    CommitNumber told;
    for (auto const& site : run_.sites)
        if (auto const bytes = store_.get(status_name(site)))
            told = std::max(told, decode_status(*bytes, status_name(site)).value().tip);
    return told;
}

// Returns whether a process may just have found that nobody has created the commit yet.
bool Injector::may_create(CommitNumber number) const
{
    auto const living = processes_.living();
    return std::any_of(living.begin(), living.end(), [&](P const& p) {
        auto const& tip = p->machine->tip();
        return (tip ? tip->number.next() : CommitNumber{1}) == number;
    });
}

// A process without a tip will read the statuses.
bool Injector::is_known_to_all(CommitNumber newest) const
{
    auto const living = processes_.living();
    return std::all_of(living.begin(), living.end(), [&](P const& p) {
        auto const& tip = p->machine->tip();
        return !tip || tip->number >= newest;
    });
}

void Injector::amend()
{
    if (!has_open_run()) return;
    auto const& tip = store_.chain().back();
    Amendment a;
    a.run = run_.run;
    a.number = tip.amended ? tip.amended->number + 1 : 1;
    a.previous = chance(0.1) ? sha256("another run") : store_.last_amendment();
    a.base = tip.number;
    auto terms = tip.terms;
    terms.params.round_time = Millis{pick(2'000, 4'000)};
    terms.params.max_undecided = pick(1, 3);
    terms.params.max_staleness = pick(0, 2);
    if (chance(0.5)) terms.outer.eta = uniform(0.3, 1);
    if (chance(0.5)) terms.outer.mu = uniform(0, 0.9);
    a.zero_momentum = chance(0.3);
    if (chance(0.3)) terms.budget = Tokens{pick(1, 8 * static_cast<std::int64_t>(store_.blocks()))};
    terms.sites = {run_.sites.front()};
    for (std::size_t i = 1; i < run_.sites.size(); ++i)
        if (chance(0.7)) terms.sites.push_back(run_.sites[i]);
    a.changes = changes(tip.terms, terms);
    auto bytes = encode(a).bytes;
    if (chance(0.1)) bytes = "{}";
    store_.create(amendment_name(a.number), bytes);
}

void Injector::add_foreign_object(int type)
{
    if (!has_open_run()) return;
    auto const& tip = store_.chain().back();
    if (type < foreign_header_types) return add_foreign_header(tip, type);
    std::int64_t k = 1;
    while (store_.get(lease_name(tip.round, k))) ++k;
    store_.create(lease_name(tip.round, k), foreign_lease(k, type - foreign_header_types));
}

void Injector::add_foreign_header(Commit const& tip, int type)
{
    std::vector<Member> open;
    for (auto const& m : tip.members)
        if (!store_.get(header_name(m.id, m.seq.next()))) open.push_back(m);
    if (open.empty()) return;
    auto const& m = any_of(open);
    auto const name = header_name(m.id, m.seq.next());
    shared_.causes.add_foreign_header(name);
    store_.inject(name, foreign_header(run_, tip, m, type));
}

}  // namespace curtail::protocol::simulator
