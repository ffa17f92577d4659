// SPDX-License-Identifier: Apache-2.0
#include "simulator/store.hpp"

#include "protocol/records/terms.hpp"
#include "protocol/rules/refusal.hpp"

namespace curtail::protocol::simulator {

Tickets tickets_of(Ranges const& ranges, std::size_t blocks)
{
    Tickets t(blocks, 0);
    for (auto const& r : ranges.list())
        for (auto b = r.begin; b < r.end; ++b) t[static_cast<std::size_t>(b)] = 1;
    return t;
}

Tickets operator+(Tickets a, Tickets const& b)
{
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
}

Tickets operator-(Tickets a, Tickets const& b)
{
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
    return a;
}

std::string bytes_of(Tickets const& t)
{
    std::string s;
    for (int const v : t) s += std::to_string(v) + " ";
    return s;
}

Payload::Payload(Tickets const& tickets) : Payload(tickets, values_of(tickets)) {}

Payload::Payload(Tickets tickets, Values numbers) : content(std::move(tickets)), values(numbers)
{
    auto text = bytes_of(content);
    for (float const value : values) text += exact(value);
    bytes = static_cast<std::int64_t>(text.size());
    sha256 = curtail::sha256(text);
}

SimStore::SimStore(RunSpec run)
    : run_(std::move(run)), blocks_(static_cast<std::size_t>(run_.stream_blocks()))
{
}

bool SimStore::create(std::string const& name, std::string const& bytes, bool damages)
{
    auto const [object, fresh] = small_.emplace(name, bytes);
    if (!fresh) return false;
    if (auto const lost = lost_.find(name); lost != lost_.end()) {
        require(lost->second == bytes, Invariant::commit,
                [&] { return "another commit gets the name of the lost " + name; });
        lost_.erase(lost);
        return true;
    }
    if (name.rfind("commits/", 0) == 0) committed(name, bytes);
    if (name.rfind("contrib/", 0) == 0) contributed(name, bytes);
    if (damages) object->second.back() ^= 1;
    return true;
}

void SimStore::store_again(std::string const& name, std::string const& bytes)
{
    bool const header = name.rfind("contrib/", 0) == 0;
    if (header && !headers_as_sent_.contains(name)) contributed(name, bytes);
    require(!header || headers_as_sent_.at(name) == bytes, Invariant::decision,
            [&] { return name + " is stored again with other content"; });
    small_.insert_or_assign(name, bytes);
}

std::optional<std::string> SimStore::get(std::string const& name) const
{
    auto const it = small_.find(name);
    return it == small_.end() ? std::nullopt : std::optional(it->second);
}

Ranges SimStore::listed_commits() const
{
    constexpr std::string_view folder = "commits/";
    Ranges numbers;
    for (auto it = small_.lower_bound(std::string(folder)); it != small_.end(); ++it) {
        if (!it->first.starts_with(folder)) break;
        auto const number = std::strtoll(it->first.c_str() + folder.size(), nullptr, 10);
        numbers += Ranges::between(number, number + 1);
    }
    return numbers;
}

void SimStore::lose_commit(CommitNumber number)
{
    auto const it = small_.find(commit_name(number));
    if (it == small_.end()) return;
    lost_.insert(*it);
    small_.erase(it);
}

bool SimStore::overwrite(std::string const& name, std::string const& bytes)
{
    auto const it = small_.find(name);
    if (it == small_.end()) return create(name, bytes);
    if (it->second == bytes) return false;
    require(name == commit_name(chain_.back().number), Invariant::commit,
            [&] { return name + " changes under its successor"; });
    small_.erase(it);
    chain_.pop_back();
    digests_.pop_back();
    return create(name, bytes);
}

PartRef SimStore::put(std::string const& part, std::string const& name, Payload content)
{
    auto const damaged = damaged_.find(name);
    require(damaged == damaged_.end() || damaged->second.sha256 == content.sha256, Invariant::model,
            [&] { return name + " was repaired with other content"; });
    damaged_.erase(name);
    auto const& payload = payloads_.insert_or_assign(name, std::move(content)).first->second;
    return {part, name, payload.bytes, payload.sha256};
}

void SimStore::damage(std::string const& name, bool remove)
{
    damaged_.try_emplace(name, payloads_.at(name));
    if (remove) {
        payloads_.erase(name);
        return;
    }
    auto const& payload = payloads_.at(name);
    auto content = payload.content;
    content[0] += 100;
    payloads_.at(name) = Payload(std::move(content), payload.values);
}

void SimStore::heal()
{
    for (auto const& [name, content] : damaged_) payloads_.insert_or_assign(name, content);
    damaged_.clear();
    for (auto const& [name, bytes] : headers_as_sent_) small_.insert_or_assign(name, bytes);
    restore_commits();
    remove_foreign_commits();
}

void SimStore::restore_commits()
{
    small_.merge(lost_);
    lost_.clear();
}

void SimStore::remove(std::string const& name)
{
    payloads_.erase(name);
    damaged_.erase(name);
    kept();
}

void SimStore::add_foreign_commit(std::string const& name, std::string const& bytes)
{
    if (small_.emplace(name, bytes).second) foreign_.insert(name);
}

void SimStore::remove_foreign_commit(std::string const& name)
{
    if (foreign_.erase(name) > 0) small_.erase(name);
}

void SimStore::remove_foreign_commits()
{
    for (auto const& name : foreign_) small_.erase(name);
    foreign_.clear();
}

Tickets const* SimStore::payload(PartRef const& ref) const
{
    auto const* stored = whole(ref);
    return stored == nullptr ? nullptr : &stored->content;
}

Payload const* SimStore::whole(PartRef const& ref) const
{
    auto const it = payloads_.find(ref.name);
    bool const same = it != payloads_.end() && it->second.sha256 == ref.sha256;
    return same ? &it->second : nullptr;
}

Payload const* SimStore::original(PartRef const& ref) const
{
    auto const damaged = damaged_.find(ref.name);
    return damaged == damaged_.end() ? whole(ref) : &damaged->second;
}

Values SimStore::values(PartRef const& ref) const
{
    auto const* payload = original(ref);
    return payload == nullptr ? Values{} : payload->values;
}

Tokens SimStore::announced_after(MemberId const& member, Seq decided) const
{
    Tokens sum;
    for (auto const& [key, header] : headers_)
        if (key.first == member && key.second > decided) sum += header.tokens;
    return sum;
}

chain::VerifySource SimStore::source() const
{
    return {
        [this](std::string const& name) -> Result<std::optional<std::string>> { return get(name); },
        [this](std::string const& name) -> Result<std::optional<chain::PayloadFacts>> {
            auto const it = payloads_.find(name);
            if (it == payloads_.end()) return std::nullopt;
            return chain::PayloadFacts{it->second.bytes, it->second.sha256};
        }};
}

void SimStore::committed(std::string const& name, std::string const& bytes)
{
    auto const commit = decoder_->commit(bytes, name);
    require(commit.has_value(), Invariant::commit,
            [&] { return "invalid commit: " + commit.error().message(); });
    require(commit->number.value == static_cast<std::int64_t>(chain_.size()) + 1, Invariant::commit,
            "a commit beyond the end of the chain");
    auto const error = chain_.empty() ? check_genesis(run_, sha256(small_.at(run_name)), *commit)
                                      : check(run_, chain_.back(), digests_.back(), *commit);
    require(!error, Invariant::commit, [&] { return error->message(); });
    auto const* model = original(commit->model.weights);
    require(model != nullptr, Invariant::kept, [&] {
        return "the model of commit " + std::to_string(commit->number.value) +
               " is missing in the store";
    });
    require(model->content == tickets_of(commit->done, blocks_), Invariant::model, [&] {
        return "commit " + std::to_string(commit->number.value) + " has model " +
               bytes_of(model->content) + "but ledger " + commit->done.to_string();
    });
    amended(*commit);
    decisions(*commit);
    merged(*commit);
    for (auto const& d : commit->decided) {
        if (!d.header) continue;
        auto const header = get(header_name(d.member, d.seq));
        require(header && sha256(*header) == *d.header, Invariant::decision,
                "a decided contribution has no such header in the store");
    }
    for (auto const& d : commit->decided) last_[d.member] = d.seq;
    for (auto const& r : commit->removed)
        if (r.reason == Removal::left)
            require(!headers_.contains({r.member, last_[r.member].next()}), Invariant::identity,
                    [&] { return r.member.value + " left with an undecided contribution"; });
    for (auto const& m : commit->members) {
        bool const fresh = member_parts(m.id).admitted == commit->number;
        if (fresh)
            require(ever_.insert({m.id, commit->number}).second, Invariant::identity,
                    [&] { return "id admitted twice: " + m.id.value; });
    }
    chain_.push_back(*commit);
    digests_.push_back(sha256(bytes));
    pending();
    kept();
}

void SimStore::decisions(Commit const& commit) const
{
    if (chain_.empty()) return;
    auto const& parent = chain_.back();
    auto const rules = in_force(run_, parent);
    std::map<MemberId, Ranges> held;
    for (auto const& m : parent.members) held[m.id] = m.held;
    for (auto const& d : commit.decided) {
        auto const it = headers_.find({d.member, d.seq});
        if (it != headers_.end() && d.refused != Refusal::digest)
            require(d.refused == refusal(rules, parent, held[d.member], it->second),
                    Invariant::decision, [&] {
                        return "the decision on " + d.member.value + "." +
                               std::to_string(d.seq.value) +
                               " does not follow from the parent's terms";
                    });
        held[d.member] -= d.ranges + d.skipped;
    }
}

void SimStore::merged(Commit const& commit) const
{
    if (commit.kind != Commit::Kind::merge) return;
    auto const& parent = chain_.back();
    std::vector<Term> terms;
    for (auto const& d : commit.decided) {
        if (d.refused || d.ranges.empty()) continue;
        if (d.inlined) return;
        auto const delta = tickets_of({}, blocks_) - tickets_of(d.ranges, blocks_);
        terms.push_back({values_of(delta), d.scale});
    }
    auto const outer = in_force(run_, parent).outer;
    auto const momentum = parent.outer ? values(parent.outer->momentum) : Values{};
    auto const right = merge_values(values(parent.model.weights), momentum, terms,
                                    {commit.outer_step, outer.eta, outer.mu});
    require(values(commit.model.weights) == right.model, Invariant::model,
            "the model is not the merge of the included contributions by their scales");
    require(!commit.outer_step || values(commit.outer->momentum) == right.momentum,
            Invariant::model, "the momentum is not that of the merge");
}

// The terms are those of the amendment that the commit names, or stay as they are.
void SimStore::amended(Commit const& commit) const
{
    if (chain_.empty() || commit.amended == chain_.back().amended) return;
    auto const name = amendment_name(commit.amended->number);
    auto const bytes = get(name);
    require(bytes && sha256(*bytes) == commit.amended->sha256, Invariant::terms,
            "a commit names no such amendment");
    auto const amendment = decode_amendment(*bytes, name);
    auto before = commit;
    before.terms = chain_.back().terms;
    bool const valid = amendment && amendment->previous == last_amendment();
    auto const after = valid
                           ? protocol::amended(run_, before, *amendment)
                           : tl::expected<Terms, std::string>(tl::unexpected(std::string("void")));
    bool const changed = commit.terms != before.terms;
    require(!changed || (after && commit.terms == *after), Invariant::terms,
            "the terms are not those of the amendment");
    require(!after || commit.terms == *after, Invariant::terms,
            "a valid amendment was taken for void");
}

Digest SimStore::last_amendment() const
{
    auto const& last = chain_.back().amended;
    return last ? last->sha256 : sha256(small_.at(run_name));
}

void SimStore::contributed(std::string const& name, std::string const& bytes)
{
    auto const header = decoder_->header(bytes, name);
    require(header.has_value(), Invariant::pending,
            [&] { return "invalid header: " + header.error().message(); });
    headers_[{header->member, header->seq}] = *header;
    headers_as_sent_.emplace(name, bytes);
    pending();
}

void SimStore::pending() const
{
    if (chain_.empty()) return;
    for (auto const& m : chain_.back().members) {
        auto held = m.held;
        for (Seq seq = m.seq.next(); headers_.contains({m.id, seq}); seq = seq.next()) {
            auto const& h = headers_.at({m.id, seq});
            auto const which = [&] { return m.id.value + "." + std::to_string(seq.value); };
            require(held.contains(h.ranges), Invariant::pending, [&] {
                return "pending contribution " + which() +
                       " is outside the blocks that its member holds";
            });
            held -= h.ranges;
            if (!h.delta) continue;
            auto const it = payloads_.find(h.delta->payload.name);
            require(it != payloads_.end(), Invariant::pending,
                    [&] { return "delta of pending " + which() + " is missing"; });
            auto const right = tickets_of({}, blocks_) - tickets_of(h.ranges, blocks_);
            require(payload(h.delta->payload) == nullptr || it->second.content == right,
                    Invariant::pending,
                    [&] { return which() + " contains other work than announced"; });
        }
    }
}

void SimStore::kept() const
{
    if (chain_.empty()) return;
    auto const newest = chain_.back().round.value;
    auto const keep = run_.params.keep_models;
    for (auto const& c : chain_)
        if (c.kind != Commit::Kind::roster && c.round.value > newest - keep)
            require(original(c.model.weights) != nullptr, Invariant::kept, [&] {
                return "model of round " + std::to_string(c.round.value) + " was deleted";
            });
}

}  // namespace curtail::protocol::simulator
