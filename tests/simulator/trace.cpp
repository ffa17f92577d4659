// SPDX-License-Identifier: Apache-2.0
#include "simulator/trace.hpp"

#include <string>
#include <variant>

#include "base/core/json.hpp"

namespace curtail::protocol::simulator {
namespace {

std::ostream& operator<<(std::ostream& out, PayloadPlace const& place)
{
    return out << place.part << "=" << place.name;
}
std::ostream& operator<<(std::ostream& out, PartRef const& p)
{
    return out << p.part << "=" << p.name << "(" << p.bytes << "," << p.sha256.hex() << ")";
}
template <class T>
void put_list(std::ostream& out, std::vector<T> const& list)
{
    for (auto const& value : list) out << " " << value;
}
void put_seqs(std::ostream& out, std::vector<Seq> const& list)
{
    for (auto const seq : list) out << " " << seq.value;
}

// ---- inputs

void put(std::ostream& out, Tick const&) { out << "Tick"; }
void put(std::ostream& out, Created const& i)
{
    out << "Created " << i.op;
    if (i.stored_at) out << " at " << to_unix_ms(*i.stored_at);
}
void put(std::ostream& out, Exists const& i) { out << "Exists " << i.op; }
void put(std::ostream& out, Got const& i) { out << "Got " << i.op << " " << sha256(i.bytes).hex(); }
void put(std::ostream& out, Missing const& i) { out << "Missing " << i.op; }
void put(std::ostream& out, Listed const& i)
{
    out << "Listed " << i.op << " " << i.after.value << " " << i.numbers.to_string();
}
void put(std::ostream& out, Unknown const& i)
{
    out << "Unknown " << i.op << " " << static_cast<int>(i.code) << " " << i.why;
}
void put(std::ostream& out, Stored const& i) { out << "Stored " << i.op << " " << i.payload; }
void put(std::ostream& out, Loaded const& i) { out << "Loaded " << i.op; }
void put(std::ostream& out, Adopted const& i) { out << "Adopted " << i.op; }
void put(std::ostream& out, Merged const& i)
{
    out << "Merged " << i.op;
    for (auto const& b : i.refused)
        out << " bad " << b.member.value << "." << b.seq.value << " " << to_text(b.reason)
            << (b.absent ? " absent" : "");
    if (i.weights) out << " " << *i.weights;
    if (i.momentum) out << " " << *i.momentum;
}
void put(std::ostream& out, Restored const& i)
{
    out << "Restored " << i.op;
    put_list(out, i.stored);
    out << " damaged";
    put_list(out, i.damaged);
}
void put(std::ostream& out, Corrupt const& i)
{
    out << "Corrupt " << i.op << " " << i.name << " " << i.why;
}
void put(std::ostream& out, Unavailable const& i)
{
    out << "Unavailable " << i.op << " " << static_cast<int>(i.code) << " " << i.why;
}
void put(std::ostream& out, Stepped const& i)
{
    out << "Stepped " << i.blocks.to_string() << " " << exact(i.seconds.count());
}
void put(std::ostream& out, Published const& i)
{
    out << "Published";
    for (auto const& [stream, head] : i.heads) out << " " << stream << "=" << head.number;
}
void put(std::ostream& out, Skipped const& i) { out << "Skipped " << i.blocks.to_string(); }
void put(std::ostream& out, SimProcess const& p, CutReady const& i)
{
    auto const& [ranges, steps] = p.trainer->last_cut();
    out << "CutReady " << i.op << " " << ranges.to_string() << " " << steps << " " << i.sumsq << " "
        << i.nonfinite;
}
void put(std::ostream& out, StopRequested const& i)
{
    out << "StopRequested " << i.begin_until.time_since_epoch().count() << " "
        << i.end.time_since_epoch().count();
}

// ---- outputs

void put(std::ostream& out, Get const& o) { out << "Get " << o.op << " " << o.name; }
void put(std::ostream& out, GetCopy const& o)
{
    out << "GetCopy " << o.op << " " << o.name << " " << o.sha256.hex();
}
void put(std::ostream& out, List const& o) { out << "List " << o.op << " " << o.after.value; }
void put(std::ostream& out, Create const& o)
{
    out << "Create " << o.op << " " << o.name << (o.want_time ? " want_time " : " ") << o.bytes;
}
void put(std::ostream& out, StoreDelta const& o)
{
    out << "StoreDelta " << o.op << " " << o.seq.value << " " << o.place;
}
void put(std::ostream& out, StoreModel const& o) { out << "StoreModel " << o.op << " " << o.place; }
void put(std::ostream& out, MakeInitial const& o)
{
    out << "MakeInitial " << o.op << " " << o.seed << " " << o.place;
}
void put(std::ostream& out, Merge const& o)
{
    out << "Merge " << o.op << " round " << o.model.round.value << " " << o.model.weights;
    if (o.outer) out << " " << o.outer->momentum;
    for (auto const& c : o.include)
        out << " include " << c.member.value << "." << c.seq.value << " " << exact(c.scale) << " "
            << c.delta.payload << " " << exact(c.delta.sumsq) << " 0";
    out << (o.outer_step ? " outer_step " : " average ") << exact(o.eta) << " " << exact(o.mu);
    out << " " << o.weights;
    if (o.momentum) out << " " << *o.momentum;
}
void put(std::ostream& out, Restore const& o)
{
    out << "Restore " << o.op;
    put_list(out, o.parts);
    if (o.recompute) put(out << " recipe ", *o.recompute);
}
void put(std::ostream& out, LoadModel const& o)
{
    out << "LoadModel " << o.op << " round " << o.model.round.value << " " << o.model.weights;
}
void put(std::ostream& out, Cut const& o)
{
    out << "Cut " << o.op << " " << o.seq.value << (o.leaving ? " leaving" : "")
        << (o.with_model ? " with_model" : "");
}
void put(std::ostream& out, Adopt const& o)
{
    out << "Adopt " << o.op << " commit " << o.commit.value << " round " << o.model.round.value
        << (o.keeps_weights ? " keeps_weights" : "") << " " << o.model.weights;
    put_seqs(out, o.dropped);
}
// The status below says which of these blocks the site has used.
void put(std::ostream& out, SimProcess const& p, Train const& o)
{
    out << "Train " << p.machine->status().held.to_string() << " " << o.tokens_before.value;
}
void put(std::ostream& out, Discard const&) { out << "Discard"; }
void put(std::ostream& out, Delete const& o) { out << "Delete " << o.name; }
void put(std::ostream& out, Overwrite const& o) { out << "Overwrite " << o.name; }
void put(std::ostream& out, Sweep const&) { out << "Sweep"; }
void put(std::ostream& out, Keep const& o)
{
    out << "Keep";
    put_list(out, o.parts);
}
void put(std::ostream& out, KeepCommit const& o)
{
    out << "KeepCommit " << o.number.value << " " << sha256(o.bytes).hex();
}
void put(std::ostream& out, Note const& o)
{
    out << "Note " << o.type << " " << json::to_string(o.details);
}
void put(std::ostream& out, Exit const& o)
{
    out << "Exit " << static_cast<int>(o.code) << " " << (o.error ? o.error->message() : "");
}

// ---- state

void put(std::ostream& out, Status const& s)
{
    out << to_text(s.state) << " (" << s.waiting_for << ") member "
        << (s.member ? s.member->value : "-") << " tip " << s.tip.value << " round "
        << s.round.value << " base " << s.base.value << " members";
    for (auto const& id : s.members) out << " " << id.value;
    out << " held " << s.held.to_string() << " since " << s.since.to_string() << " undecided";
    for (auto const& ranges : s.undecided) out << " " << ranges.to_string();
    out << (s.leaving ? " leaving" : "");
}

template <class Message>
void put(std::ostream& out, SimProcess const&, Message const& message)
{
    put(out, message);
}

}  // namespace

void trace(std::ostream& out, Millis now, SimProcess const& p, Input const& input,
           std::vector<Output> const& outputs)
{
    out << now.count() << " " << p.identity.text() << " < ";
    std::visit([&](auto const& i) { put(out, p, i); }, input);
    for (auto const& output : outputs) {
        out << "\n  > ";
        std::visit([&](auto const& o) { put(out, p, o); }, output);
    }
    out << "\n  = ";
    put(out, p.machine->status());
    auto const wake = p.machine->wake();
    out << " rate " << p.machine->rate() << " wake "
        << (wake ? std::to_string(wake->time_since_epoch().count()) : "-") << "\n";
}

}  // namespace curtail::protocol::simulator
