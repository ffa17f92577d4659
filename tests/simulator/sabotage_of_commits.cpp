// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "protocol/records/terms.hpp"
#include "protocol/rules/clipping.hpp"
#include "protocol/rules/refusal.hpp"
#include "protocol/rules/skips.hpp"
#include "simulator/sabotage.hpp"

namespace curtail::protocol::simulator {
namespace {

/// What a saboteur of commits knows.
struct Scene {
    RunSpec const& run;
    SimStore& store;
    Process process;  ///< that writes the commit
};

/// Changes commits before they are sent.
class CommitSaboteur : public Saboteur {
  public:
    CommitSaboteur(RunSpec const& run, SimStore& store) : scene_{run, store, {}} {}

    void configure(SiteConfig& config) override { scene_.process = config.process; }
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        observe(input);
        auto outputs = site.on(now, input);
        for (auto const& output : outputs) observe(output);
        each<Create>(outputs, [&](Create& create) {
            if (!is_commit_name(create.name) || !site.tip()) return;
            auto const right = scene_.store.decoder()->commit(create.bytes, create.name);
            auto wrong = *right;
            change(*site.tip(), wrong);
            if (wrong != *right) create.bytes = encode(wrong).bytes;
        });
        return outputs;
    }

  private:
    virtual void observe(Input const&) {}
    virtual void observe(Output const&) {}
    /// Changes `commit`, which follows `parent`.
    virtual void change(Commit const& parent, Commit& commit) = 0;

  protected:
    Scene scene_;
};

// ---- faults without a memory

void take_back_grants(Commit const& parent, Commit& commit)
{
    for (auto& m : commit.members) {
        auto const* before = parent.find(m.id);
        m.held = before == nullptr ? Ranges{} : m.held & before->held;
    }
}

void sort(std::vector<ContributionDecision>& decided)
{
    std::sort(decided.begin(), decided.end(),
              [](ContributionDecision const& a, ContributionDecision const& b) {
                  return std::tie(a.member, a.seq) < std::tie(b.member, b.seq);
              });
}

void sort(std::vector<Member>& members)
{
    std::sort(members.begin(), members.end(),
              [](Member const& a, Member const& b) { return a.id < b.id; });
}

void free_blocks_of_suspects(Scene const& scene, Commit const& parent, Commit& commit)
{
    for (auto& m : commit.members)
        if (m.missed > 0) m.held = {};
    grant(in_force(scene.run, parent), commit);
}

void decide_twice(Scene const&, Commit const& parent, Commit& commit)
{
    if (commit.decided.empty()) return;
    commit.decided.insert(commit.decided.end(), parent.decided.begin(), parent.decided.end());
    sort(commit.decided);
}

void drop_without_record(Scene const&, Commit const&, Commit& commit)
{
    std::erase_if(commit.removed, [](RemovedMember const& r) {
        return r.reason == Removal::silent || r.reason == Removal::succeeded;
    });
}

// The header of this name; empty: there is none, or it is damaged.
std::optional<Header> header_of(Scene const& scene, std::string const& name)
{
    auto const bytes = is_header_name(name) ? scene.store.get(name) : std::nullopt;
    if (!bytes) return std::nullopt;
    auto const header = scene.store.decoder()->header(*bytes, name);
    return header ? std::optional(*header) : std::nullopt;
}

void include_removed(Scene const& scene, Commit const& parent, Commit& commit)
{
    if (commit.kind != Commit::Kind::merge) return;
    for (auto const& [name, bytes] : scene.store.small()) {
        auto const header = header_of(scene, name);
        if (!header || header->ranges.empty() || parent.find(header->member) != nullptr ||
            commit.done.overlaps(header->ranges))
            continue;
        ContributionDecision d{header->member, header->seq,    {},
                               sha256(bytes),  header->ranges, header->tokens,
                               header->steps,  header->skipped};
        d.norm = delta_norm(*header);
        commit.decided.push_back(d);
        sort(commit.decided);
        commit.done += header->ranges;
        commit.totals.tokens += header->tokens;
        commit.totals.steps += header->steps;
        return;
    }
}

void join_twice(Scene const& scene, Commit const& parent, Commit& commit)
{
    auto const own =
        std::find_if(parent.members.begin(), parent.members.end(),
                     [&](Member const& m) { return member_parts(m.id).process == scene.process; });
    if (own == parent.members.end()) return;
    auto again = *own;
    again.id = member_id(scene.process, commit.number);
    again.seq = {};
    again.held = {};
    again.since_round = commit.round;
    commit.members.push_back(again);
    sort(commit.members);
    grant(in_force(scene.run, parent), commit);
}

void reuse_id(Scene const&, Commit const& parent, Commit& commit)
{
    for (auto& m : commit.members)
        if (parent.find(m.id) == nullptr)
            m.id = member_id(member_parts(m.id).process, CommitNumber{2});
    sort(commit.members);
}

void set_aside_at_first_skip(Scene const& scene, Commit const& parent, Commit& commit)
{
    for (auto const& d : commit.decided)
        for (int more = 0; more < 2 && !d.refused; ++more)
            count_skipped(in_force(scene.run, parent), member_parts(d.member).process.site,
                          d.skipped, commit);
}

void grant_skipped_again(Scene const& scene, Commit const& parent, Commit& commit)
{
    take_back_grants(parent, commit);
    auto skips = std::exchange(commit.skips, {});
    grant(in_force(scene.run, parent), commit);
    commit.skips = std::move(skips);
}

void obey_amendments_early(Scene const& scene, Commit const& parent, Commit& commit)
{
    if (commit.terms == parent.terms) return;
    take_back_grants(parent, commit);
    grant(with_terms(scene.run, commit.terms), commit);
}

void ignore_amendments(Scene const&, Commit const& parent, Commit& commit)
{
    commit.terms = parent.terms;
}

void refuse_by_own_parameters(Scene const& scene, Commit const& parent, Commit& commit)
{
    std::map<MemberId, Ranges> held;
    for (auto const& m : parent.members) held[m.id] = m.held;
    for (auto& d : commit.decided) {
        auto const header = header_of(scene, header_name(d.member, d.seq));
        if (header && !d.inlined && d.refused != Refusal::digest)
            d.refused = refusal(scene.run, parent, held[d.member], *header);
        held[d.member] -= d.ranges + d.skipped;
    }
}

void clip_without_record(Scene const&, Commit const& parent, Commit& commit)
{
    auto const factors = clip_factors(parent.norms, commit.decided);
    for (std::size_t i = 0; i < factors.size(); ++i)
        if (factors[i] < 1)
            commit.decided[i].scale = static_cast<float>(commit.decided[i].scale / factors[i]);
}

class PlainCommitSaboteur final : public CommitSaboteur {
  public:
    using Change = void (*)(Scene const&, Commit const&, Commit&);
    PlainCommitSaboteur(RunSpec const& run, SimStore& store, Change function)
        : CommitSaboteur(run, store), change_(function)
    {
    }

  private:
    void change(Commit const& parent, Commit& commit) override { change_(scene_, parent, commit); }
    Change change_;
};

// ---- faults with a memory

/// Remembers the last commit that the site has sent, and whether another one has its number.
class LostCommit {
  public:
    /// Takes a commit that the site sends.
    void sent(Commit const& commit) { last_ = {commit, encode(commit).sha256}; }
    /// Returns the commit that was sent before `next` and has lost its number; null: none.
    [[nodiscard]] Commit const* before(Commit const& next) const
    {
        bool const lost =
            last_ && last_->first.number.next() == next.number && last_->second != next.parent;
        return lost ? &last_->first : nullptr;
    }

  private:
    std::optional<std::pair<Commit, Digest>> last_;
};

class CreateWithoutRebuild final : public CommitSaboteur {
    using CommitSaboteur::CommitSaboteur;
    void change(Commit const&, Commit& commit) override
    {
        auto const right = commit;
        if (auto const* lost = last_.before(right)) {
            commit = *lost;
            commit.number = right.number;
            commit.parent = right.parent;
        }
        last_.sent(right);
    }
    LostCommit last_;
};

[[nodiscard]] bool is_lone(Commit const& commit)
{
    return commit.kind == Commit::Kind::merge &&
           std::any_of(commit.decided.begin(), commit.decided.end(),
                       [](ContributionDecision const& d) { return d.inlined; });
}

class CommitStaleLoneModel final : public CommitSaboteur {
    using CommitSaboteur::CommitSaboteur;
    void observe(Output const& output) override
    {
        if (auto const* store = std::get_if<StoreModel>(&output)) asked_ = store->op;
    }
    void observe(Input const& input) override
    {
        auto const* stored = std::get_if<Stored>(&input);
        if (stored == nullptr || stored->op != asked_) return;
        earlier_ = std::exchange(newest_, stored->payload);
    }
    void change(Commit const&, Commit& commit) override
    {
        if (is_lone(commit) && earlier_) commit.model.weights = *earlier_;
    }
    Op asked_{};
    std::optional<PartRef> newest_;
    std::optional<PartRef> earlier_;
};

}  // namespace

std::unique_ptr<Saboteur> saboteur_of_commits(Fault fault, RunSpec const& run, SimStore& store)
{
    auto const plain = [&](PlainCommitSaboteur::Change function) {
        return std::make_unique<PlainCommitSaboteur>(run, store, function);
    };
    switch (fault) {
        case Fault::free_blocks_of_suspects:
            return plain(free_blocks_of_suspects);
        case Fault::decide_twice:
            return plain(decide_twice);
        case Fault::drop_without_record:
            return plain(drop_without_record);
        case Fault::include_removed:
            return plain(include_removed);
        case Fault::join_twice:
            return plain(join_twice);
        case Fault::reuse_id:
            return plain(reuse_id);
        case Fault::set_aside_at_first_skip:
            return plain(set_aside_at_first_skip);
        case Fault::grant_skipped_again:
            return plain(grant_skipped_again);
        case Fault::obey_amendments_early:
            return plain(obey_amendments_early);
        case Fault::ignore_amendments:
            return plain(ignore_amendments);
        case Fault::clip_without_record:
            return plain(clip_without_record);
        case Fault::refuse_by_own_parameters:
            return plain(refuse_by_own_parameters);
        case Fault::create_without_rebuild:
            return std::make_unique<CreateWithoutRebuild>(run, store);
        case Fault::commit_stale_lone_model:
            return std::make_unique<CommitStaleLoneModel>(run, store);
        default:
            return nullptr;
    }
}

}  // namespace curtail::protocol::simulator
