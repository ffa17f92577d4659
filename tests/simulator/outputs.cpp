// SPDX-License-Identifier: Apache-2.0
#include "simulator/outputs.hpp"

#include "protocol/records/terms.hpp"
#include "protocol/site/notes.hpp"
#include "protocol/upkeep/sweep.hpp"

namespace curtail::protocol::simulator {

void Outputs::execute(P const& p, Get const& o)
{
    p->header_reads.ask(o.name);
    later(Millis{pick(1, 60)}, [this, p, o] {
        ++steps_;
        get(p, o);
    });
}

void Outputs::execute(P const& p, GetCopy const& o)
{
    later(Millis{pick(1, 5)}, [this, p, o] {
        auto const* copy = shared_.copies.commit({p->site_index, p->folder}, o.name);
        if (copy != nullptr && sha256(*copy) == o.sha256) reply(p, Got{o.op, *copy});
        else reply(p, Missing{o.op});
    });
}

void Outputs::execute(P const& p, KeepCommit const& o)
{
    shared_.copies.keep_commit({p->site_index, p->folder}, o.number, o.bytes);
}

// A listing may lack the newest commit.
void Outputs::execute(P const& p, List const& o)
{
    later(Millis{pick(1, 60)}, [this, p, o] {
        ++steps_;
        if (chance(chaos_.stalled)) return reply_late(p, Unknown{o.op, "time-out"});
        if (is_unanswered(p)) return reply(p, Unknown{o.op, "no answer", failure(p)});
        auto numbers = store_.listed_commits() - Ranges::between(0, o.after.value + 1);
        constexpr Seconds stale{5};
        auto const newest = std::ssize(store_.chain());
        if (now() - last_commit_ < stale && chance(chaos_.stale_404))
            numbers -= Ranges::between(newest, newest + 1);
        reply(p, Listed{o.op, o.after, numbers});
    });
}

bool Outputs::fails(P const& p, Get const& o)
{
    bool const header = o.name.rfind("contrib/", 0) == 0;
    bool const dark = header && shared_.availability.hides_headers(now());
    if (dark && shared_.availability.refuses_headers()) {
        p->header_reads.refuse(o.name, now());
        reply(p, Unknown{o.op, "input/output error", ExitCode::io});
        return true;
    }
    if (chance(chaos_.stalled)) {
        reply_late(p, Unknown{o.op, "time-out"});
        return true;
    }
    if (!dark && !is_unanswered(p)) return false;
    if (header && failure(p) == ExitCode::permission) p->header_reads.refuse(o.name, now());
    reply(p, Unknown{o.op, "no answer", failure(p)});
    return true;
}

void Outputs::get(P const& p, Get const& o)
{
    p->header_reads.begin(o.name);
    if (fails(p, o)) return;
    // Only the statuses tell of the newest commits if these are lost. More faults are too many.
    bool const told = store_.has_lost_commits() && o.name.rfind("status/", 0) == 0;
    bool const stale = chance(chaos_.stale_404) && !told;
    auto bytes = stale ? std::nullopt : store_.get(o.name);
    if (bytes && chance(chaos_.corrupt_get) && !told) corrupt(*bytes);
    auto const* answer = bytes ? &*bytes : nullptr;
    p->header_reads.answer(o.name, answer, *store_.decoder(), now());
    p->signs.read(o.name, answer, now());
    if (bytes) reply(p, Got{o.op, *bytes});
    else reply(p, Missing{o.op});
}

// Cuts a record short, or changes one of its bytes.
void Outputs::corrupt(std::string& bytes)
{
    auto const at = static_cast<std::size_t>(pick(0, std::ssize(bytes) - 1));
    if (chance(0.5)) bytes.resize(at);
    else bytes[at] = bytes[at] == '0' ? '1' : '0';
}

bool Outputs::creates(Create const& o)
{
    bool const is_commit = o.name.rfind("commits/", 0) == 0;
    bool const overwrites = shared_.has(Fault::overwrite_commits) && is_commit;
    bool const damages = o.name.rfind("contrib/", 0) == 0 && chance(chaos_.damaged_header);
    if (is_commit) last_commit_ = now();
    bool const created =
        overwrites ? store_.overwrite(o.name, o.bytes) : store_.create(o.name, o.bytes, damages);
    auto const& chain = store_.chain();
    if (created && is_commit && chaos_.gentle && chain.size() > 1)
        check_included(processes_.living(), chain[chain.size() - 2], chain.back());
    return created;
}

void Outputs::execute(P const& p, Create const& o)
{
    require(!p->stop_delivered || o.name.rfind("merge/", 0) != 0, Invariant::leaving,
            "a leaving site takes the lease");
    p->open_records.insert(o.name);
    p->check_removals(o, *store_.decoder(), now() - run_.params.drop_after - run_.params.skew,
                      now());
    later(Millis{pick(1, 60)}, [this, p, o] {
        ++steps_;
        if (refuses_writes(p)) {
            ++shared_.history.creates_refused;
            p->open_records.erase(p->open_records.find(o.name));
            return reply(p, Unknown{o.op, "full", failure(p), true});
        }
        if (chance(chaos_.lost_request)) return reply(p, Unknown{o.op, "lost"});
        if (chance(chaos_.delayed)) {
            later(Millis{pick(1, 40'000)}, [this, o] {
                // Nobody can keep it out if another commit had this number and is lost.
                if (!store_.is_lost(o.name)) static_cast<void>(creates(o));
            });
            return reply(p, Unknown{o.op, "time-out"});
        }
        bool const created = creates(o);
        if (created) log_line(p, "created", o.name);
        if (chance(chaos_.stalled)) return reply_late(p, Unknown{o.op, "time-out"});
        if (chance(chaos_.lost_reply)) return reply(p, Unknown{o.op, "reply lost"});
        if (created) reply(p, Created{o.op, shared_.availability.clock(now())});
        else reply(p, Exists{o.op});
    });
}

void Outputs::put(P const& p, Op op, PayloadPlace const& place, Payload const& content,
                  bool may_spoil)
{
    later(Millis{pick(20, 400)}, [=, this] {
        ++steps_;
        if (refuses_writes(p)) return reply(p, Unavailable{op, "full", failure(p)});
        bool const late = chance(chaos_.stalled);
        bool const lost = late || chance(chaos_.no_answer);
        auto const stored = store_.put(place.part, place.name, content);
        if (!may_spoil && !lost) shared_.copies.keep(p->site_index, place.name, content);
        if (may_spoil && chance(chaos_.spoiled)) store_.damage(place.name, false);
        if (late) reply_late(p, Unavailable{op, "time-out"});
        else if (lost) reply(p, Unavailable{op, "no answer"});
        else reply(p, Stored{op, stored});
    });
}

void Outputs::execute(P const& p, StoreDelta const& o)
{
    p->check_transfer(p->last_input);
    put(p, o.op, o.place, Payload(p->trainer->delta(o.seq)), true);
}

void Outputs::execute(P const& p, StoreModel const& o)
{
    p->check_transfer(p->last_input);
    put(p, o.op, o.place, Payload(p->trainer->model_of_cut()), false);
    processes_.interrupt(p);
}

void Outputs::execute(P const& p, MakeInitial const& o)
{
    put(p, o.op, o.place, Payload(Tickets(store_.blocks(), 0)), false);
}

void Outputs::execute(P const& p, Overwrite const& o)
{
    if (o.name.rfind("status/", 0) == 0) p->signs.written(p->last_input);
    else p->open_records.insert(o.name);
    later(Millis{pick(1, 60)}, [this, p, o] {
        if (!refuses_writes(p) && !is_unanswered(p)) store_.store_again(o.name, o.bytes);
    });
}

void Outputs::execute(P const& p, Delete const& o)
{
    log_line(p, "deletes", o.name);
    later(Millis{pick(1, 5'000)}, [this, o] {
        ++steps_;
        store_.remove(o.name);
    });
}

// Takes payloads of any age. A real sweep spares the young ones.
void Outputs::execute(P const& p, Sweep const& o)
{
    log_line(p, "sweeps", "");
    later(Millis{pick(1, 5'000)}, [this, o] {
        ++steps_;
        upkeep::NeededPayloads needed(in_force(run_, store_.chain().back()).params);
        for (auto const& commit : store_.chain()) needed.add(commit);
        for (auto const& [name, content] : store_.payloads()) {
            upkeep::StoredObject const object{name, {}, o.now - o.sweep_after};
            auto const reason = upkeep::decide(needed, object, o.now, {o.sweep_after});
            bool const sweeps_pending = shared_.has(Fault::sweep_pending_deltas) &&
                                        reason == upkeep::SweepReason::pending_delta;
            if (upkeep::is_deletion(reason) || sweeps_pending)
                later(Millis{pick(1, 5'000)}, [this, name = name] { store_.remove(name); });
        }
    });
}

void Outputs::execute(P const& p, Note const& o)
{
    ++shared_.history.notes[o.type];
    Tokens const tokens{o.details.integer_at("tokens").value_or(0)};
    if (is_loss(o)) p->ledger.lost += tokens;
    if (o.type == "unanswered") {
        p->ledger.unanswered += tokens;
        auto const name = std::string(o.details.text_at("name"));
        require(p->open_records.contains(name), Invariant::account,
                [&] { return "a process waits for no answer about " + name; });
    }
    log_line(p, o.type, json::to_string(o.details));
}

void Outputs::execute(P const& p, Exit const& o)
{
    shared_.history.exits.push_back(o);
    auto const refused_for = shared_.availability.refused_for(p->site_index, now());
    bool const fine = o.code == ExitCode::permission
                          ? refused_for && p->may_give_up(*refused_for, run_.params.drop_after)
                          : shared_.causes.explain(o, *p, store_);
    require(fine, Invariant::exit,
            [&] { return "a site exited: " + (o.error ? o.error->message() : "without error"); });
    if (o.code == ExitCode::ok) p->check_leaving(store_);
    p->check_account(store_);
    log_line(p, "exit");
    p->dead = true;
}

}  // namespace curtail::protocol::simulator
