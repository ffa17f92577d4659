// SPDX-License-Identifier: Apache-2.0
#include "operate/chain_plan.hpp"

#include <algorithm>
#include <thread>

#include "protocol/records/names.hpp"

namespace curtail::operate {
namespace {

using protocol::commit_name;
using protocol::Ranges;
using Form = StoredObject::Form;

Ranges one(CommitNumber number) { return Ranges::between(number.value, number.value + 1); }

// The greatest commit of which the status of a site tells; 0: none tells of any.
Result<CommitNumber> newest_in_statuses(chain::RunObjects const& objects)
{
    auto const folder = store::ObjectFolder::parse("runs/" + objects.run().value + "/status");
    if (!folder) return tl::unexpected(folder.error());
    auto const listed = objects.store().list_all(*folder, objects.call());
    if (!listed) return tl::unexpected(listed.error());
    CommitNumber newest;
    auto const before = objects.run().value.size() + sizeof "runs/";
    for (auto const& object : *listed) {
        auto const name = object.name.substr(before);
        auto const bytes = objects.record(name);
        if (!bytes && !protocol::is_bad_record(bytes.error().code))
            return tl::unexpected(bytes.error());
        if (!bytes || !*bytes) continue;
        if (auto const status = protocol::decode_status(**bytes, name))
            newest = std::max(newest, status->tip);
    }
    return newest;
}

class Planner {
  public:
    Planner(RunId const& run, Digest const& run_sha256, StoredCommits const& stored,
            chain::RecordCache& copies, CommitNumber in_statuses)
        : run_(run),
          run_sha256_(run_sha256),
          stored_(stored),
          copies_(copies),
          in_statuses_(in_statuses),
          in_copies_(copies.greatest_commit())
    {
    }

    ChainPlan plan()
    {
        auto const end = linked_end();
        auto const known = std::max(end, in_copies_);
        for (auto const& [number, object] : stored_.objects)
            if (object.is_commit() && number <= known) plan_.newest = number;
        auto const greatest = beyond(known);
        // A status may name any number, so nothing goes through all of them.
        plan_.lost += Ranges::between(known.value + 1, std::max(greatest, in_statuses_).value + 1) -
                      plan_.damaged - plan_.foreign - isolated_;
        for (auto number = known; number.value > 0 && !plan_.refusal; --number.value) at(number);
        if (!plan_.refusal) end_gap(run_sha256_);
        if (plan_.refusal) plan_ = {.newest = plan_.newest, .refusal = plan_.refusal};
        return std::move(plan_);
    }

  private:
    // The greatest number of a commit that others confirm: it follows by the rules, its parent is
    // there, too, or this site has a copy of it.
    CommitNumber linked_end()
    {
        CommitNumber end = stored_.sound;
        for (auto const& [number, object] : stored_.objects) {
            if (!object.is_commit()) continue;
            bool const linked = number > stored_.sound.next() && stored_.links({number.value - 1});
            if (linked || copies_.find(commit_name(number), object.sha256))
                end = std::max(end, number);
        }
        return end;
    }

    // Judges the objects after all commits that others confirm. Returns the greatest number of
    // those that may be commits; 0: there is none.
    CommitNumber beyond(CommitNumber known)
    {
        CommitNumber greatest{0};
        for (auto it = stored_.objects.upper_bound(known); it != stored_.objects.end(); ++it) {
            auto const& [number, object] = *it;
            if (object.form == Form::other_format) {
                refuse(object.error);
            } else if (is_foreign(number, object, known)) {
                plan_.foreign += one(number);
                plan_.seen[number] = object.sha256;
            } else if (object.is_commit() && number > known.next()) {
                isolated_ += one(number);
                greatest = number;
            } else {
                plan_.damaged += one(number);
                greatest = number;
            }
        }
        return greatest;
    }

    bool is_foreign(CommitNumber number, StoredObject const& object, CommitNumber known)
    {
        if (object.form == Form::other_run) return number > in_statuses_;
        bool const unknown = in_statuses_ <= known && in_copies_ == known && known.value > 0;
        if (!unknown) return false;
        if (object.is_commit() || number > known.next()) return true;
        // The next commit, whose write has failed, begins like any other one.
        auto const newest = copies_.newest(commit_name(known));
        bool const begins_so = newest && newest->starts_with(object.begin);
        return !begins_so || is_copy_of_another(number, object);
    }

    // Somebody has stored a commit under this number, too.
    bool is_copy_of_another(CommitNumber number, StoredObject const& object)
    {
        return std::ranges::any_of(stored_.objects, [&](auto const& other) {
            return other.first != number && other.second.sha256 == object.sha256;
        });
    }

    // Goes down the chain.
    void at(CommitNumber number)
    {
        auto const* object = stored_.find(number);
        if (object == nullptr) return take_copy(number, object);
        bool const named = object->is_commit() && (!expected_ || object->sha256 == *expected_);
        if (named && !contradicts_copies(number, *object)) return accept(*object);
        if (auto error = refusal_at(number, *object, named)) return refuse(std::move(*error));
        take_copy(number, object);
    }

    // `named`: the commit above the object does not contradict it.
    std::optional<Error> refusal_at(CommitNumber number, StoredObject const& object, bool named)
    {
        if (object.form == Form::other_format && !anchored_) return object.error;
        if (!object.is_commit()) return std::nullopt;
        if (named && (expected_ || is_linked(number, object))) return other_history(number);
        if (named || !is_other_history(number, object)) return std::nullopt;
        return other_history(anchored_ ? number.next() : number);
    }

    void accept(StoredObject const& object)
    {
        end_gap(object.sha256);
        expected_ = object.parent;
        anchored_ = true;
    }

    // The site has read other bytes under this number, and not these.
    bool contradicts_copies(CommitNumber number, StoredObject const& object)
    {
        auto const name = commit_name(number);
        return copies_.newest(name) && !copies_.find(name, object.sha256);
    }

    [[nodiscard]] bool is_linked(CommitNumber number, StoredObject const& object) const
    {
        if (number.value == 1) return object.parent == run_sha256_;
        return stored_.links({number.value - 1});
    }

    // `object` is a commit, but not the one that the commit above it names.
    bool is_other_history(CommitNumber number, StoredObject const& object)
    {
        auto const name = commit_name(number);
        if (anchored_) return copies_.find(name, object.sha256) && !copies_.find(name, *expected_);
        return is_linked(number, object);
    }

    void take_copy(CommitNumber number, StoredObject const* object)
    {
        auto const name = commit_name(number);
        auto bytes = expected_ ? copies_.find(name, *expected_)
                               : (gap_lost_ ? std::nullopt : copies_.newest(name));
        auto const commit =
            bytes ? std::optional(protocol::decode_commit(*bytes, name)) : std::nullopt;
        gap_ += one(number);
        if (object != nullptr) in_the_way_ += one(number);
        if (object != nullptr) plan_.seen[number] = object->sha256;
        if (!commit || !*commit || (*commit)->run != run_) {
            if (anchored_) restore();
            expected_.reset();
            anchored_ = false;
            gap_lost_ = true;
            return;
        }
        expected_ = (*commit)->parent;
        found_[number] = std::move(*bytes);
    }

    void restore()
    {
        for (auto& [number, bytes] : found_) {
            if (in_the_way_.contains(one(number))) plan_.replaced += one(number);
            plan_.restored[number] = std::move(bytes);
            gap_ -= one(number);
        }
        found_.clear();
    }

    // The commit below the gap has the digest `below`.
    void end_gap(Digest const& below)
    {
        if (gap_.empty()) return;
        if (!gap_lost_ && expected_ != below) {
            CommitNumber const lowest{gap_.list().front().begin};
            return refuse(other_history({lowest.value - 1}));
        }
        if (!gap_lost_) restore();
        plan_.damaged += gap_ & in_the_way_;
        plan_.lost += gap_ - in_the_way_;
        gap_ = {};
        in_the_way_ = {};
        found_.clear();
        gap_lost_ = false;
    }

    void refuse(Error error)
    {
        if (!plan_.refusal) plan_.refusal = std::move(error);
    }

    [[nodiscard]] static Error other_history(CommitNumber number)
    {
        return {ExitCode::protocol, "cannot repair the chain",
                (number.value == 0 ? std::string(protocol::run_name) : commit_name(number)) +
                    " in the store does not belong to the copies of this site: other sites have "
                    "gone on from an older copy of the store, or the run began again",
                "stop all sites, and start a new run with `curtail-store fork`"};
    }

    RunId const& run_;
    Digest const& run_sha256_;
    StoredCommits const& stored_;
    chain::RecordCache& copies_;
    CommitNumber in_statuses_;
    CommitNumber in_copies_;
    ChainPlan plan_;
    Ranges isolated_;  // commits after lost ones
    // On the way down: the digest of the next commit, as the one above names it. `anchored_`: a
    // commit in the store says so, perhaps through copies.
    std::optional<Digest> expected_;
    bool anchored_{false};
    // Commits below the last one in the store that is undamaged.
    Ranges gap_;
    Ranges in_the_way_;  // those of them whose damaged objects are there
    bool gap_lost_{false};
    std::map<CommitNumber, std::string> found_;
};

Result<ChainPlan> look(chain::RunObjects const& objects, chain::RecordCache& copies)
{
    // A site writes its status later than the commit that it names.
    auto const in_statuses = newest_in_statuses(objects);
    if (!in_statuses) return tl::unexpected(in_statuses.error());
    auto const run = objects.record(protocol::run_name);
    if (!run) return tl::unexpected(run.error());
    auto const decoded = *run ? std::optional(protocol::decode_run(**run)) : std::nullopt;
    if (decoded && !*decoded) return tl::unexpected(decoded->error());
    chain::StoredRun const record{decoded ? **decoded : protocol::RunSpec{},
                                  *run ? sha256(**run) : Digest{}};
    auto const stored = read_stored_commits(objects, record, copies.greatest_commit());
    if (!stored) return tl::unexpected(stored.error());
    if (!*run && stored->objects.empty())
        return fail(ExitCode::no_input, "cannot repair run " + objects.run().value,
                    "the store has no such run", "check the name of the run and the store");
    if (!*run)
        return fail(ExitCode::protocol, "cannot repair run " + objects.run().value,
                    "run.json is missing, and this site has no copy",
                    "run this command at the other sites, or restore run.json from a copy of the "
                    "store");
    return Planner(objects.run(), record.sha256, *stored, copies, *in_statuses).plan();
}

}  // namespace

Result<ChainPlan> plan_chain_repair(chain::RunObjects const& objects, chain::RecordCache& copies,
                                    Millis pause)
{
    constexpr int most_looks = 10;
    auto plan = look(objects, copies);
    for (int looks = 1; plan && looks < most_looks; ++looks) {
        ChainPlan const nothing{.newest = plan->newest};
        if (*plan == nothing) break;
        std::this_thread::sleep_for(pause);
        auto again = look(objects, copies);
        if (again == plan) break;
        plan = std::move(again);
    }
    return plan;
}

}  // namespace curtail::operate
