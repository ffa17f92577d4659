// SPDX-License-Identifier: Apache-2.0
#include "simulator/simulator.hpp"

#include <algorithm>

#include "rounds/terms.hpp"
#include "upkeep/sweep.hpp"

namespace curtail::rounds::simulator {

void Simulator::reply(P const& p, Input input)
{
    later(Millis{pick(1, 60)}, [this, p, input = std::move(input)] { deliver(p, input); });
}

void Simulator::execute(P const& p, Get const& o)
{
    p->read_back.insert(o.name);
    later(Millis{pick(1, 60)}, [this, p, o] {
        ++steps_;
        p->answered_missing[o.name] = false;
        bool const dark = now() < headers_unreadable_until_ && o.name.rfind("contrib/", 0) == 0;
        bool const refused = dark && headers_unreadable_until_.count() % 2 == 1;
        if (refused) p->refused_since.try_emplace(o.name, now());
        if (refused) return reply(p, Unknown{o.op, "input/output error", ExitCode::io});
        if (chance(chaos_.stalled))
            return later(Millis{pick(1'000, 30'000)}, [this, p, o] {
                deliver(p, Unknown{o.op, "time-out"});
            });
        if (dark || is_unanswered()) return reply(p, Unknown{o.op, "no answer"});
        p->refused_since.erase(o.name);
        auto const bytes = chance(chaos_.stale_404) ? std::nullopt : store_.get(o.name);
        if (bytes && o.name.rfind("contrib/", 0) == 0 && !store_.decoder()->header(*bytes, o.name))
            ++p->damaged_reads.try_emplace(o.name, 0, now()).first->second.first;
        p->signs.read(o.name, bytes ? &*bytes : nullptr, now());
        if (bytes) return reply(p, Got{o.op, *bytes});
        p->answered_missing[o.name] = true;
        reply(p, Missing{o.op});
    });
}

bool Simulator::creates(Create const& o)
{
    bool const overwrites =
        policy_.breaks(Fault::overwrite_commits) && o.name.rfind("commits/", 0) == 0;
    bool const damages = o.name.rfind("contrib/", 0) == 0 && chance(chaos_.damaged_header);
    return overwrites ? store_.overwrite(o.name, o.bytes) : store_.create(o.name, o.bytes, damages);
}

void Simulator::execute(P const& p, Create const& o)
{
    require(!p->stop_delivered || o.name.rfind("merge/", 0) != 0, Invariant::leaving,
            "a leaving site takes the lease");
    p->check_removals(o, *store_.decoder(), now() - run_.params.drop_after - run_.params.skew,
                      now());
    later(Millis{pick(1, 60)}, [this, p, o] {
        ++steps_;
        if (refuses_writes()) {
            ++creates_refused_;
            return reply(p, Unknown{o.op, "full"});
        }
        if (chance(chaos_.lost_request)) return reply(p, Unknown{o.op, "lost"});
        if (chance(chaos_.delayed)) {
            later(Millis{pick(1, 40'000)}, [this, o] { static_cast<void>(creates(o)); });
            return reply(p, Unknown{o.op, "time-out"});
        }
        bool const created = creates(o);
        if (created) log_line(p, "created", o.name);
        if (chance(chaos_.lost_reply)) return reply(p, Unknown{o.op, "reply lost"});
        if (created)
            reply(p, Created{o.op, Time{now() + clock_offset_ + Millis{1'700'000'000'000}}});
        else reply(p, Exists{o.op});
    });
}

void Simulator::put(P const& p, Op op, std::vector<Target> const& parts, Payload const& content,
                    bool may_spoil)
{
    later(Millis{pick(20, 400)}, [=, this] {
        ++steps_;
        if (refuses_writes()) return reply(p, Unavailable{op, "full"});
        Stored stored{op, {}};
        bool const lost = chance(chaos_.no_answer);
        for (auto const& target : parts) {
            stored.parts.push_back(store_.put(target.part, target.name, content));
            if (!may_spoil) keep(*p, content);
            if (may_spoil && chance(chaos_.spoiled)) store_.spoil(target.name);
        }
        if (lost) reply(p, Unavailable{op, "no answer"});
        else reply(p, stored);
    });
}

void Simulator::execute(P const& p, StoreDelta const& o)
{
    p->check_transfer(p->last_input);
    put(p, o.op, o.parts, Payload(p->trainer->delta(o.seq)), true);
}

void Simulator::execute(P const& p, StoreModel const& o)
{
    p->check_transfer(p->last_input);
    put(p, o.op, o.parts, Payload(p->trainer->anchor()), false);
    interrupt(p);
}

void Simulator::execute(P const& p, MakeInitial const& o)
{
    put(p, o.op, o.parts, Payload(Tickets(store_.blocks(), 0)), false);
}

void Simulator::execute(P const& p, Merge const& o)
{
    require(!p->stop_delivered, Invariant::leaving, "a leaving site starts a merge");
    p->check_merge_base(o);
    later(Millis{pick(50, 800)}, [this, p, o] {
        ++steps_;
        if (is_unanswered() || refuses_writes()) return reply(p, Unavailable{o.op, "no answer"});
        auto const* theta = store_.payload(o.model.parts.at(0));
        if (theta == nullptr) return reply(p, Corrupt{o.op, o.model.parts.at(0).name, "missing"});
        Merged merged{o.op, {}, {}, {}};
        auto result = *theta;
        std::vector<Term> terms;
        for (auto const& c : o.include) {
            auto const* d = store_.payload(c.parts.at(0).payload);
            if (chance(chaos_.stale_404))
                merged.refused.push_back({c.member, c.seq, Refusal::digest, true});
            else if (d == nullptr || chance(chaos_.refused))
                merged.refused.push_back({c.member, c.seq, Refusal::digest});
            else {
                result = result - *d;
                terms.push_back({values_of(*d), c.scale});
            }
        }
        if (merged.refused.empty() && o.outer_step && o.outer &&
            store_.payload(o.outer->parts.at(0)) == nullptr)
            return reply(p, Corrupt{o.op, o.outer->parts.at(0).name, "missing"});
        if (merged.refused.empty()) {
            auto const made = merge_payloads(o, std::move(result), terms);
            merged.model.push_back(
                store_.put(o.weights.at(0).part, o.weights.at(0).name, made.model));
            keep(*p, made.model);
            if (o.outer_step) {
                merged.momentum.push_back(
                    store_.put(o.momentum.at(0).part, o.momentum.at(0).name, made.momentum));
                keep(*p, made.momentum);
            }
        }
        reply(p, merged);
    });
}

void Simulator::keep(SimProcess const& p, Payload const& payload)
{
    kept_[p.site_index].insert_or_assign(payload.sha256.hex(), payload);
}

MergedPayloads Simulator::merge_payloads(Merge const& o, Tickets result,
                                         std::vector<Term> const& terms) const
{
    auto const momentum = o.outer ? store_.values(o.outer->parts.at(0)) : Values{};
    auto const values = merge_values(store_.values(o.model.parts.at(0)), momentum, terms,
                                     {o.outer_step, o.eta, o.mu});
    return {Payload(result, values.model), Payload(result, values.momentum)};
}

std::optional<MergedPayloads> Simulator::merged(Merge const& o) const
{
    auto const* theta = store_.payload(o.model.parts.at(0));
    if (theta == nullptr) return std::nullopt;
    auto result = *theta;
    std::vector<Term> terms;
    for (auto const& c : o.include) {
        auto const* d = store_.payload(c.parts.at(0).payload);
        if (d == nullptr) return std::nullopt;
        result = result - *d;
        terms.push_back({values_of(*d), c.scale});
    }
    return merge_payloads(o, std::move(result), terms);
}

void Simulator::execute(P const& p, Restore const& o)
{
    require(!p->stop_delivered, Invariant::leaving, "a leaving site repairs a payload");
    later(Millis{pick(20, 800)}, [this, p, o] {
        ++steps_;
        if (is_unanswered() || refuses_writes()) return reply(p, Unavailable{o.op, "no answer"});
        auto const& kept = kept_[p->site_index];
        auto const computed = o.recipe ? merged(*o.recipe) : std::nullopt;
        Restored restored{o.op, {}, {}};
        for (auto const& part : o.parts) {
            if (store_.payload(part) != nullptr && !chance(chaos_.stale_404)) continue;
            auto const copy = kept.find(part.sha256.hex());
            Payload const* content = nullptr;
            if (computed)
                content =
                    part.sha256 == computed->model.sha256 ? &computed->model : &computed->momentum;
            if (!o.recipe && copy != kept.end()) content = &copy->second;
            bool const right = content != nullptr && content->sha256 == part.sha256;
            if (right) store_.put(part.part, part.name, *content);
            if (right) ++notes_[o.recipe ? "repaired by a recipe" : "repaired by a copy"];
            (right ? restored.stored : restored.damaged).push_back(part.name);
        }
        reply(p, restored);
    });
}

void Simulator::execute(P const& p, Overwrite const& o)
{
    if (o.name.rfind("status/", 0) == 0) p->signs.written(p->last_input);
    later(Millis{pick(1, 60)}, [this, p, o] {
        if (!refuses_writes() && !is_unanswered()) store_.store_again(o.name, o.bytes);
    });
}

void Simulator::execute(P const& p, Keep const& o)
{
    // An older process of the site that still lives has lost the folder to a newer one.
    auto const newest = std::find_if(processes_.rbegin(), processes_.rend(),
                                     [&](P const& q) { return q->site_index == p->site_index; });
    if (*newest != p) return;
    auto& kept = kept_[p->site_index];
    std::erase_if(kept, [&](auto const& copy) {
        return std::none_of(o.parts.begin(), o.parts.end(),
                            [&](PartRef const& part) { return part.sha256.hex() == copy.first; });
    });
}

void Simulator::execute(P const& p, LoadModel const& o)
{
    later(Millis{pick(20, 300)}, [this, p, o] {
        if (p->dead) return;
        ++steps_;
        if (is_unanswered()) return reply(p, Unavailable{o.op, "no answer"});
        auto const* whole = store_.whole(o.model.parts.at(0));
        if (whole == nullptr || chance(chaos_.stale_404))
            return reply(p, Corrupt{o.op, o.model.parts.at(0).name, "missing"});
        keep(*p, *whole);
        p->trainer->load(whole->content);
        deliver(p, Loaded{o.op});
    });
}

void Simulator::execute(P const& p, Adopt const& o)
{
    later(Millis{pick(5, 300)}, [this, p, o] {
        if (p->dead) return;
        ++steps_;
        auto const& part = o.model.parts.at(0);
        auto const* whole = o.keeps_weights ? store_.original(part) : store_.whole(part);
        if (is_unanswered()) return reply(p, Unavailable{o.op, "no answer"});
        if (whole == nullptr || chance(chaos_.stale_404))
            return reply(p, Corrupt{o.op, part.name, "missing"});
        if (!o.keeps_weights) keep(*p, *whole);
        p->adopt = {o, whole->content};
        if (!p->trainer->stepping()) boundary(p);
    });
}

void Simulator::execute(P const& p, Cut const& o)
{
    p->cut = o;
    if (!p->trainer->stepping()) boundary(p);
}

void Simulator::execute(P const& p, Train const& o)
{
    p->trainer->train(o.held);
    step(p);
}

void Simulator::execute(P const& p, Delete const& o)
{
    log_line(p, "deletes", o.name);
    later(Millis{pick(1, 5'000)}, [this, o] {
        ++steps_;
        store_.remove(o.name);
    });
}

// Takes payloads of any age. A real sweep spares the young ones.
void Simulator::execute(P const& p, Sweep const& o)
{
    log_line(p, "sweeps", "");
    later(Millis{pick(1, 5'000)}, [this, o] {
        ++steps_;
        upkeep::Kept kept(in_force(run_, store_.chain().back()).params);
        for (auto const& commit : store_.chain()) kept.add(commit);
        for (auto const& [name, content] : store_.payloads()) {
            upkeep::Stored const object{name, {}, o.now - o.sweep_after};
            if (upkeep::is_deletion(upkeep::decide(kept, object, o.now, {o.sweep_after})))
                later(Millis{pick(1, 5'000)}, [this, name = name] { store_.remove(name); });
        }
    });
}

void Simulator::execute(P const& p, Note const& o)
{
    ++notes_[o.type];
    log_line(p, o.type, json::to_string(o.details));
}

void Simulator::check_leaver(SimProcess const& p) const
{
    auto const status = p.machine->status();
    bool const in_time = !p.stop || p.last_input < p.stop->end;
    if (!status.leaving || !status.member || !in_time || store_.chain().empty()) return;
    auto const* m = store_.chain().back().find(*status.member);
    if (m == nullptr) return;
    for (auto seq = m->seq.next(); store_.get(header_name(m->id, seq)); seq = seq.next())
        require(p.read_back.contains(header_name(m->id, seq)), Invariant::leaving,
                "a site leaves without reading its header back");
}

void Simulator::execute(P const& p, Exit const& o)
{
    exits_.push_back(o);
    bool const not_finite = o.code == ExitCode::data && (p->nan_cuts >= 3 || p->skips >= 3);
    bool const name_taken =
        o.code == ExitCode::protocol &&
        std::any_of(injected_.begin(), injected_.end(), [&](std::string const& name) {
            return o.error->message().find(name) != std::string::npos;
        });
    bool const retired = o.code == ExitCode::config && p->is_retired();
    bool const no_record = o.code == ExitCode::protocol && !store_.get(run_name);
    bool const damaged =
        o.code == ExitCode::temporary &&
        std::any_of(damaged_.begin(), damaged_.end(), [&](std::string const& name) {
            return o.error->message().find(name) != std::string::npos;
        });
    bool const fine = o.code == ExitCode::ok || damaged || retired || not_finite || name_taken ||
                      no_record || (p->stopping && o.code == ExitCode::unavailable);
    require(fine, Invariant::exit,
            [&] { return "a site exited: " + (o.error ? o.error->message() : "without error"); });
    if (o.code == ExitCode::ok) check_leaver(*p);
    log_line(p, "exit");
    p->dead = true;
}

}  // namespace curtail::rounds::simulator
