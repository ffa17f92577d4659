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

/// The states of docs/rounds.md.
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

/// Identity of a site's process and the run it takes part in.
struct SiteConfig {
    Process process;  ///< each start draws its nonce at random
    RunSpec run;      ///< from this site's configuration; stored unless the store has a run.json,
                      ///< which must then be equal
    Rate rate{};      ///< measured by the site's earlier instance; 0: unknown
};

/// Current state of a site, for logs, status pages and tests.
struct Status {
    State state{State::probe};
    std::string waiting_for;         ///< for people
    std::optional<MemberId> member;  ///< set while in the member table
    CommitNumber tip;                ///< newest record read; 0: none yet
    Round round;
    Round base;  ///< of the trainer's model; 0: no model yet
    std::vector<MemberId> members;
    Ranges held;
    Ranges since;                   ///< trained since the last cut
    std::vector<Ranges> undecided;  ///< cut but not decided, by seq
    bool leaving{};
};

/// State machine of one site's process in the round protocol: takes one input and returns the
/// outputs to carry out. Owns no thread, clock, file or socket. A value: a copy continues
/// independently from the same state.
///
/// Start with a Tick. `now` must not decrease.
class Site {
  public:
    explicit Site(SiteConfig config);
    /// Throws std::logic_error if an answer does not match the open question or a Stepped reports
    /// blocks that the trainer had no order to train.
    [[nodiscard]] std::vector<Output> on(MonoTime now, Input const& input);
    /// Latest time of the next Tick; empty: only an answer can change the state.
    [[nodiscard]] std::optional<MonoTime> wake() const { return wake_; }
    [[nodiscard]] Status status() const;
    [[nodiscard]] Rate rate() const;  ///< measured; keep it for the site's next instance
    [[nodiscard]] bool exited() const { return phase_ == Phase::exited; }
    [[nodiscard]] std::optional<Commit> const& tip() const { return tip_; }  ///< newest record read

  private:
    // clang-format off
    enum class Phase {
        probe_create, probe_again, run_get, run_create,
        find_commit, find_parent, find_sent, find_round, find_headers, genesis_store, genesis_create, fold, join_headers, join_create, join_read,
        base_wait, base_poll, base_load, base_forward,
        run, run_poll, run_scan, cut, publish_store, publish_header, publish_read,
        lease_create, lease_read, wait, wait_poll, gather_headers, gather_pause, gather_poll,
        merge, lone_store, commit_create, commit_read, garbage, adopt_forward, adopt_apply, exited
    };
    // clang-format on
    /// One phase: its texts, its next action and the handler of the answer (null: it asks no
    /// question).
    struct Row {
        Phase phase;
        State state;
        char const* waiting_for;
        bool (Site::*act)();  ///< false: nothing to do until time has passed
        void (Site::*answered)(Input const&);
    };
    static Row const rows[];
    [[nodiscard]] Row const& row() const { return rows[static_cast<std::size_t>(phase_)]; }
    enum class Question { get, create, store, merge, load, adopt, cut };
    enum class Mode { fold, roster, merge, lone };  ///< purpose of the next commit
    using Key = std::pair<MemberId, Seq>;

    struct OpenQuestion {
        Op op{};
        Question question{Question::get};
        std::string name;
    };
    /// An undecided contribution of this member.
    struct Own {
        Header header;
        bool stored{};
        std::optional<Encoded> encoded;  ///< set by the first try to create it
        bool published{};
    };
    /// All inputs of a merge: equal keys give a model with equal bits.
    struct MergeKey {
        ModelRef parent;
        std::vector<std::tuple<MemberId, Seq, float>> included;
        bool outer_step{};
        friend bool operator==(MergeKey const&, MergeKey const&) = default;
    };
    /// A stored model that no commit names yet.
    struct Made {
        MergeKey key;
        std::vector<PartRef> model;
        std::vector<PartRef> momentum;
    };
    /// Payload objects of this process, until a record names them or they are deleted.
    struct Payload {
        std::vector<std::string> names;
        CommitNumber sent;  ///< newest number under which a commit naming them was sent; 0: none
        bool settled{};     ///< that number has other content, so a late create cannot land
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
    /// A header whose existence is unknown: the store refuses every read.
    struct Unread {
        MonoTime since;
        std::string why;  ///< reason of the last refusal
    };
    /// A walk down the commits whose payloads have expired.
    struct Garbage {
        CommitNumber next;            ///< next commit to read
        std::optional<Commit> newer;  ///< the commit after it
        int rounds{1};                ///< rounds left to collect
        int reads{1};                 ///< single steps left; one last step jumps to the next model
    };

    // machine: site.cpp
    void accept(Op op, Input const& input);
    [[nodiscard]] bool fits(Input const& input) const;  ///< it answers the open question
    void stop_requested(StopRequested const& stop);
    void settle();
    void out_of_time();
    bool act_nothing() { return false; }
    bool act_next_commit();  ///< asks for the commit after the tip
    bool refused_at_start(Input const& input);
    void stepped(Stepped const& step);
    Op ask(Question question, std::string name = {});
    void get(std::string name);
    void create(std::string name, std::string bytes, bool want_time = false);
    void go(Phase phase);     ///< resets the number of tries
    void retry(Phase phase);  ///< after a pause that grows with each try
    bool reached(MonoTime t);
    Millis jitter(Millis most);
    void note(std::string type, json::Object details);
    void finish(ExitCode code, std::optional<Error> error = {});
    /// Handles an invalid record: reads it again, exits at the sixth time.
    void refuse(Error error);
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
    [[nodiscard]] CommitNumber unsettled_create() const;
    bool act_find_round();
    void answered_find_round(Input const& input);
    void choose_entry();
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
    [[nodiscard]] bool has_lone_partner() const;
    bool act_base_wait();
    void answered_base_poll(Input const& input);
    bool act_base_load();
    void answered_base_load(Input const& input);
    void answered_base_forward(Input const& input);
    bool load_failed(Input const& input);  ///< true if the process exits
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
    bool act_run_scan();
    void run_scan_done();
    void begin_cut(bool leaving);
    void answered_cut(Input const& input);
    [[nodiscard]] bool lone_possible() const;
    [[nodiscard]] Own* next_unpublished();
    [[nodiscard]] bool has_published() const;
    bool act_publish_store();
    bool act_publish_header();
    bool act_publish_read();
    void answered_publish(Input const& input);
    void header_exists(std::string const& bytes);
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
    void polled_during_merge(Input const& input, Phase back);
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
    void begin_scan(std::vector<MemberId> members);
    [[nodiscard]] std::vector<MemberId> others() const;
    [[nodiscard]] std::vector<MemberId> earlier_instances() const;
    bool act_scan();  ///< false: nothing left to read
    void answered_scan(Input const& input);
    bool retry_unanswered(Unknown const& unknown);
    [[nodiscard]] bool unreadable_for_long(Key const& key) const;
    bool found_header(std::string const& bytes);
    [[nodiscard]] Found const* header_of(MemberId const& id) const;  ///< its next one, if found
    [[nodiscard]] bool suspect(Member const& m) const;
    void propose_removal(MemberId const& id, Removal reason);
    void forget_decided();

    // chain: site_chain.cpp
    bool take_next(std::string const& bytes);  ///< false: invalid, or the run is complete
    void own_decisions();
    void begin_commit(Mode mode);
    [[nodiscard]] std::optional<Commit> build() const;
    bool act_commit_create();
    void answered_commit_create(Input const& input);
    bool set_draft(Commit commit);  ///< false: readers would refuse it; the phase has changed
    bool refuse_widest();           ///< false: no readable contribution is left
    [[nodiscard]] bool lone_valid(Commit const& next) const;
    void answered_commit_read(Input const& input);
    void landed();
    void after_commit();
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
    std::int64_t attempt_{0};  ///< makes names of this process's payloads and probes unique
    Millis store_offset_{0};   ///< store's time - monotonic time

    RunSpec run_;
    Digest run_sha256_;
    std::optional<Commit> tip_;
    Digest tip_sha256_;
    std::optional<Time> round_began_;  ///< `time` of the merge commit that began the tip's round
    int bad_reads_{0};
    int misses_{0};             ///< in a row, of a commit that must exist
    int refusals_at_start_{0};  ///< in a row, lasting ones, by the store
    CommitNumber found_;        ///< greatest number seen while there is no tip
    CommitNumber missing_;      ///< smallest missing number above it; 0: none
    std::string found_bytes_;
    std::map<MemberId, Seq> presumed_dead_;  ///< folded members, with the last seq known then

    std::optional<MemberId> member_;
    Round base_;
    Round loading_;
    MonoTime round_taken_{};
    MonoTime last_cut_{};
    MonoTime base_until_{};
    std::int64_t steps_in_round_{0};
    Ranges since_;
    std::vector<Own> undecided_;
    std::vector<Seq> dropped_;  ///< decided, but not yet dropped by the trainer
    Seq next_seq_{1};
    std::optional<Removal> removal_;
    double measured_blocks_{0};
    double measured_seconds_{0};
    int load_failures_{0};
    int not_finite_{0};  ///< own contributions in a row refused as `nan`

    std::optional<MonoTime> deadline_;  ///< of a stop request
    bool loaded_{};                     ///< the trainer has a model
    bool base_merged_{};                ///< a merge commit arrived while waiting for a base
    bool leaving_{};                    ///< the last cut is ordered
    bool collected_{};                  ///< this process has collected others' remains

    MonoTime next_poll_{};
    MonoTime publish_after_{};
    MonoTime merge_after_{};
    MonoTime scan_after_{};
    MonoTime gather_until_{};
    LeaseView lease_;
    Phase back_{Phase::run};  ///< phase after ADOPT if the round is the same

    std::map<Key, Found> headers_;  ///< pending contributions found so far
    std::map<std::string, int> bad_headers_;
    std::map<Key, int> absent_payloads_;  ///< number of such answers
    std::vector<MemberId> scanned_;
    std::size_t scan_at_{0};
    Key asked_;
    std::map<Key, Unread> unread_;   ///< unread by every scan since then
    std::set<MemberId> unresolved_;  ///< the last scan got no answer for their next header

    Mode mode_{Mode::roster};
    Intents intents_;
    std::map<MemberId, Seq> scanned_seq_;  ///< last decided seq of each member in intents_.remove
                                           ///< at the scan for its next header
    std::optional<Made> made_;
    std::optional<Digest> lone_sent_;  ///< digest of the last lone commit sent
    std::optional<Draft> draft_;
    std::vector<Payload> payloads_;
    std::optional<Garbage> garbage_;
};

}  // namespace curtail::rounds
