// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rounds/messages.hpp"
#include "rounds/names.hpp"
#include "rounds/next.hpp"

namespace curtail::rounds {

/// States of docs/rounds.md.
enum class State {
    probe,
    find,
    genesis,
    fold,
    join,
    base,
    run,
    cut,
    publish,
    lease,
    wait,
    gather,
    merge,
    lone,
    commit,
    adopt,
    exited
};
[[nodiscard]] char const* to_text(State state);

/// Who takes part, and in what.
struct SiteConfig {
    Process process;  ///< its nonce drawn at random by each start
    RunSpec run;      ///< as this site's configuration has it; must be in the store or becomes it
    Rate rate{};      ///< of the site's earlier life, 0 if not known
};

/// What a site is doing, for logs, status pages and tests.
struct Status {
    State state{State::probe};
    std::string waiting_for;         ///< in words
    std::optional<MemberId> member;  ///< while in the table
    CommitNumber tip;                ///< newest record read, 0 before
    Round round;
    Round base;  ///< whose model the trainer has, 0 if none
    std::vector<MemberId> members;
    Ranges held;
    Ranges since;                   ///< trained since the last cut
    std::vector<Ranges> undecided;  ///< cut and not decided, by seq
    bool leaving{};
};

/// One process of one site in the round protocol: takes one thing that happened and returns what to
/// do. Owns no thread, clock, file or socket. A value: a copy goes on by itself from the same
/// state.
///
/// Begin with a Tick. `now` must not run backwards.
class Site {
  public:
    explicit Site(SiteConfig config);
    /// Throws std::logic_error if an answer does not fit the open question, or a report of the
    /// trainer what it was told to train.
    [[nodiscard]] std::vector<Output> on(MonoTime now, Input const& input);
    /// When the next Tick is due at the latest; nothing: only an answer can help.
    [[nodiscard]] std::optional<MonoTime> wake() const { return wake_; }
    [[nodiscard]] Status status() const;
    [[nodiscard]] Rate rate() const;  ///< measured, to be remembered for the site's next life
    [[nodiscard]] bool exited() const { return phase_ == Phase::exited; }
    [[nodiscard]] std::optional<Commit> const& tip() const { return tip_; }  ///< newest record read

  private:
    // clang-format off
    enum class Phase {
        probe_create, probe_again, run_get, run_create,
        find_commit, find_parent, find_sent, find_round, find_headers, genesis_store, genesis_create, fold, join_headers, join_create, join_read,
        base_wait, base_poll, base_load, base_forward,
        run, run_poll, run_look, cut, publish_store, publish_header, publish_read,
        lease_create, lease_read, wait, wait_poll, gather_headers, gather_pause, gather_poll,
        merge, lone_store, commit_create, commit_read, garbage, adopt_forward, adopt_apply, exited
    };
    // clang-format on
    /// What belongs to a phase: its words, what it does next, who takes the answer to its question
    /// (null: it asks nothing).
    struct Row {
        Phase phase;
        State state;
        char const* waiting_for;
        bool (Site::*act)();  ///< false: nothing to do before time goes by
        void (Site::*answered)(Input const&);
    };
    static Row const rows[];
    [[nodiscard]] Row const& row() const { return rows[static_cast<std::size_t>(phase_)]; }
    enum class Question { get, create, store, merge, load, adopt, cut };
    enum class Mode { fold, roster, merge, lone };  ///< what the commit in the making is for
    using Key = std::pair<MemberId, Seq>;

    struct OpenQuestion {
        Op op{};
        Question kind{Question::get};
        std::string name;
    };
    /// A contribution of this member that is not decided.
    struct Own {
        Header header;
        bool stored{};
        std::optional<Encoded> encoded;  ///< from the first try to create it on
        bool published{};
    };
    /// What decides the result of a merge: two equal ones have the same bits.
    struct MergeKey {
        ModelRef parent;
        std::vector<std::tuple<MemberId, Seq, float>> included;
        bool outer_step{};
        friend bool operator==(MergeKey const&, MergeKey const&) = default;
    };
    /// A stored model that waits for its commit.
    struct Made {
        MergeKey key;
        std::vector<PartRef> model;
        std::vector<PartRef> momentum;
    };
    /// Payload objects that this process made, until they are named by a record or deleted.
    struct Payload {
        std::vector<std::string> names;
        CommitNumber sent;  ///< newest number that a create naming them was sent for; 0: none
        bool settled{};  ///< that number exists with other content: no create of ours can land any
                         ///< more
        bool in_use{true};
    };
    struct Draft {
        Commit commit;
        Encoded encoded;
    };
    struct LeaseView {
        std::int64_t k{};  ///< highest seen in this round
        bool mine{};
        MonoTime until;
    };
    /// A header that is there or not, nobody can tell: every sweep was refused its read.
    struct Unread {
        MonoTime since;
        std::string why;  ///< of the last refusal
    };
    /// A walk down the commits whose payloads are too old to be kept.
    struct Garbage {
        CommitNumber next;            ///< to be read
        std::optional<Commit> newer;  ///< the commit after it
        int rounds{1};                ///< still to be collected
        int reads{1};  ///< still to be made one by one at most, before a last one of the next
                       ///< model's commit
    };

    // frame: site.cpp
    void accept(Op op, Input const& input);
    [[nodiscard]] bool fits(Input const& input) const;  ///< the open question
    void stop_requested(StopRequested const& stop);
    void settle();
    void out_of_time();
    bool act_nothing() { return false; }
    bool act_next_commit();  ///< asks for the commit after the tip
    bool refused_at_start(Input const& input);
    void stepped(Stepped const& step);
    Op ask(Question kind, std::string name = {});
    void get(std::string name);
    void create(std::string name, std::string bytes, bool want_time = false);
    void go(Phase phase);     ///< with fresh retries
    void retry(Phase phase);  ///< after a pause that grows with each try
    bool reached(MonoTime t);
    Millis jitter(Millis most);
    void note(std::string type, json::Object details);
    void finish(ExitCode code, std::optional<Error> error = {});
    void refuse(
        Error error);  ///< a record that cannot be verified: read again, exit at the sixth time
    [[nodiscard]] Time store_now() const;
    [[nodiscard]] MemberId writer() const;
    [[nodiscard]] std::vector<Target> targets(Round round,
                                              std::string (*part_name)(std::string_view)) const;

    // start: site_start.cpp
    bool act_probe_create();
    bool act_probe_again();
    void answered_probe(Input const& input);
    bool act_run_get();
    bool act_run_create();
    void answered_run(Input const& input);
    bool act_find_commit();
    [[nodiscard]] CommitNumber number_to_find() const;
    void answered_find(Input const& input);
    void found_newest();
    bool act_find_parent();
    void answered_find_parent(Input const& input);
    bool act_find_headers();
    void retry_absent(Phase phase, Input const& input, CommitNumber absent);
    bool act_find_sent();
    void answered_find_sent(Input const& input);
    [[nodiscard]] CommitNumber passed_over() const;
    bool act_find_round();
    void answered_find_round(Input const& input);
    void choose_way_in();
    [[nodiscard]] bool alive(Member const& m) const;
    bool act_genesis_store();
    void answered_genesis_store(Input const& input);
    bool act_genesis_create();
    void answered_genesis_create(Input const& input);
    bool act_fold();
    bool act_join_headers();
    bool act_join();
    void answered_join(Input const& input);

    // base: site_base.cpp
    void begin_base();
    [[nodiscard]] bool lone_partner() const;
    bool act_base_wait();
    void answered_base_poll(Input const& input);
    bool act_base_load();
    void answered_base_load(Input const& input);
    void answered_base_forward(Input const& input);
    bool load_failed(Input const& input);  ///< true if the process has given up
    void removed();

    // work: site_work.cpp
    void enter_run();
    bool act_run();
    [[nodiscard]] bool lone() const;
    [[nodiscard]] Ranges trainable() const;
    [[nodiscard]] bool cut_possible() const;
    bool due();
    bool round_over();
    [[nodiscard]] Millis poll_interval() const;
    [[nodiscard]] bool wants_rate() const;
    [[nodiscard]] bool wants_publishing() const;
    void answered_run_poll(Input const& input);
    bool act_run_look();
    void look_done();
    void begin_cut(bool leaving);
    void answered_cut(Input const& input);
    [[nodiscard]] bool lone_possible() const;
    [[nodiscard]] Own* next_unpublished();
    [[nodiscard]] bool has_published() const;
    bool act_publish_store();
    bool act_publish_header();
    bool act_publish_read();
    void answered_publish(Input const& input);
    void name_taken(std::string const& bytes);
    void contributed();
    void published_all();
    void leave();

    // merging: site_merge.cpp
    void begin_lease();
    bool act_lease_create();
    void answered_lease_create(Input const& input);
    bool act_lease_read();
    void answered_lease_read(Input const& input);
    bool act_wait();
    void answered_wait_poll(Input const& input);
    void begin_gather();
    bool act_gather_headers();
    bool act_gather_pause();
    void answered_gather_poll(Input const& input);
    void came_by(Input const& input, Phase back);
    void gather_done();
    [[nodiscard]] bool all_found() const;
    bool act_merge();
    void answered_merge(Input const& input);
    void merge_refused(std::vector<Merged::Bad> const& bad);
    void answered_merge_failed(Input const& input);
    bool act_lone_store();
    void answered_lone_store(Input const& input);
    [[nodiscard]] static MergeKey key_of(Commit const& commit);

    // headers: site_headers.cpp
    void begin_sweep(std::vector<MemberId> members);
    [[nodiscard]] std::vector<MemberId> others() const;
    [[nodiscard]] std::vector<MemberId> earlier_lives() const;
    bool act_sweep();  ///< false: nothing left to read
    void answered_sweep(Input const& input);
    bool unanswered(Unknown const& unknown);
    [[nodiscard]] bool unreadable_for_long(Key const& key) const;
    bool found_header(std::string const& bytes);
    [[nodiscard]] Found const* header_of(MemberId const& id) const;  ///< its next one, if found
    [[nodiscard]] bool suspect(Member const& m) const;
    void want_removal(MemberId const& id, Removal reason);
    void forget_decided();

    // chain: site_chain.cpp
    bool take_next(std::string const& bytes);  ///< false: refused, or the run is complete
    void own_decisions();
    void begin_commit(Mode mode);
    [[nodiscard]] std::optional<Commit> build() const;
    bool act_commit_create();
    void answered_commit_create(Input const& input);
    bool set_draft(Commit commit);  ///< false: readers would refuse it, and something else is done
    bool spoil_widest();            ///< false: no contribution is left to be doubted
    [[nodiscard]] bool lone_valid(Commit const& next) const;
    void answered_commit_read(Input const& input);
    void landed();
    void go_on_from_commit();
    void give_up();
    void abandon_payloads();
    void settle_payloads(Commit const& record);
    void answered_adopt_forward(Input const& input);
    bool act_adopt_apply();
    void answered_adopt(Input const& input);
    void resume();
    // garbage: site_garbage.cpp
    void begin_garbage();
    bool act_garbage();
    void answered_garbage(Input const& input);
    void delete_garbage(Commit const& old, Commit const& newer);
    void delete_deltas(MemberId const& member, Seq first, Seq last, Round since, Round newest);
    void delete_delta(MemberId const& member, Seq seq, Round base);

    SiteConfig config_;
    Phase phase_{Phase::probe_create};
    int tries_{0};
    MonoTime now_{};
    std::optional<MonoTime> wake_;
    std::vector<Output> out_;
    Op last_op_{0};
    std::optional<OpenQuestion> open_;
    MonoTime not_before_{};
    std::uint64_t random_;
    std::int64_t attempt_{0};  ///< makes the names of this process's payloads and probes unique
    Millis store_offset_{0};   ///< store's time - monotonic time

    RunSpec run_;
    Digest run_sha256_;
    std::optional<Commit> tip_;
    Digest tip_sha256_;
    std::optional<Time> round_began_;  ///< `time` of the merge commit of the tip's round
    int bad_reads_{0};
    int misses_{0};             ///< of a commit that must be there, in a row
    int refusals_at_start_{0};  ///< in a row, by a store that waiting does not mend
    CommitNumber found_;        ///< greatest number seen while there is no tip
    CommitNumber missing_;      ///< smallest number that answered 404 above it, 0: none
    std::string found_bytes_;
    std::map<MemberId, Seq> judged_dead_;  ///< by a fold, with the last seq known then

    std::optional<MemberId> member_;
    Round base_;
    Round loading_;
    MonoTime round_taken_{};
    MonoTime last_cut_{};
    MonoTime base_until_{};
    std::int64_t steps_in_round_{0};
    Ranges since_;
    std::vector<Own> undecided_;
    std::vector<Seq> dropped_;  ///< decided, but the trainer does not know yet
    Seq next_seq_{1};
    std::optional<Removal> removal_;
    double measured_blocks_{0};
    double measured_seconds_{0};
    int load_failures_{0};
    int not_finite_{0};  ///< own contributions in a row that were refused for it

    std::optional<MonoTime> deadline_;  ///< of a stop request
    bool loaded_{};                     ///< the trainer has a model
    bool base_merged_{};                ///< a merge commit came while waiting for a base
    bool leaving_{};                    ///< the last cut is made
    bool collected_{};                  ///< this process has looked for what others left behind

    MonoTime next_poll_{};
    MonoTime publish_after_{};
    MonoTime merge_after_{};
    MonoTime look_after_{};
    MonoTime gather_until_{};
    LeaseView lease_;
    Phase back_{Phase::run};  ///< where ADOPT goes if the round is the same

    std::map<Key, Found> headers_;  ///< pending contributions that were found
    std::map<std::string, int> bad_headers_;
    std::map<Key, int> absent_payloads_;  ///< how often the store said so
    std::vector<MemberId> sweep_;
    std::size_t sweep_at_{0};
    Key asked_;
    std::map<Key, Unread> unread_;  ///< by every sweep since then
    std::set<MemberId>
        not_looked_for_;  ///< by the last sweep: the store did not answer for their next header

    Mode mode_{Mode::roster};
    Intents intents_;
    std::map<MemberId, Seq> looked_;  ///< last decided seq of those in intents_.remove when their
                                      ///< next header was looked for
    std::optional<Made> made_;
    std::optional<Digest> lone_sent_;  ///< digest of the last lone commit of this base
    std::optional<Draft> draft_;
    std::vector<Payload> payloads_;
    std::optional<Garbage> garbage_;
};

}  // namespace curtail::rounds
