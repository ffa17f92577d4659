// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "simulator/process.hpp"
#include "simulator/time.hpp"

namespace curtail::rounds::simulator {

/// Probabilities of faults, and one rate. Each probability applies to every operation that its
/// comment names.
struct Chaos {
    double lost_reply{0};      ///< of a create: applied, but the site gets no answer
    double lost_request{0};    ///< of a create: not applied, and no answer
    double delayed{0};         ///< of a create: applied later, even if its writer is dead by then
    double stale_404{0};       ///< of a get, a delta in a merge, a model load: wrongly missing
    double no_answer{0};       ///< of a get, a model load, a stored payload, a merge
    double spoiled{0};         ///< of a stored delta: its content is wrong
    double stalled{0};         ///< of a get: no answer for up to 30 s
    double damaged_header{0};  ///< of a new header: the store keeps wrong bytes
    double refused{0};         ///< of a contribution in a merge: refused although valid
    double faults_per_s{
        0};  ///< rate per simulated second of all other faults: crashes, starts,
             ///< second instances, freezes, stop requests, failing writes, outages, jumps of
             ///< the store's clock, amendments,
             ///< broken hardware, unreadable headers, and objects that Curtail did not write
    /// Of a lone commit: its site freezes for 5 to 15 s, and another site starts.
    double interrupted{0};
    double nan{0};      ///< of a cut: its delta has values that are not finite
    double skipped{0};  ///< of a step: its gradient is not finite, so it is skipped
};

/// Several sites, a store and injected faults, in one thread and simulated time. One seed
/// determines every choice.
class Simulator : public SimTime {
  public:
    /// All sites follow `policy`. The simulator itself checks by the correct one.
    Simulator(RunSpec run, std::uint64_t seed, Chaos chaos, Policy policy = {});

    void start(std::size_t site);

    /// Runs until `end` or until `stop` returns true. Returns the last result of `stop`.
    bool run_until(Millis end, std::function<bool()> const& stop);

    void set_chaos(Chaos chaos) { chaos_ = chaos; }
    /// Refuses all writes for `duration`; reads still work.
    void fill_store(Millis duration) { full_until_ = now() + duration; }
    /// Answers no question about the store for `duration`.
    void take_store_away(Millis duration) { away_until_ = now() + duration; }
    [[nodiscard]] int creates_refused() const { return creates_refused_; }
    /// Adds an object that no program of Curtail writes, under a name that a site will read: the
    /// next header of a member, alive or dead, or the next lease. The types below
    /// foreign_header_types are those of foreign_header(). The types from there on are those of
    /// foreign_lease().
    void inject(int type);
    /// Proposes the next amendment: other times, another budget, or a site that retires or returns.
    /// The first site is always listed. Some amendments are damaged.
    void amend();
    void kill_all_but(std::shared_ptr<void> const& survivor);
    void kill(std::size_t nth);
    [[nodiscard]] std::shared_ptr<void> any_living();
    [[nodiscard]] std::size_t living_count() const { return living().size(); }
    /// The newest living process of site `index`, or null.
    [[nodiscard]] Site const* site_of(std::size_t index) const;
    /// Damages or deletes the newest model, or its momentum. Either the first site has a copy, or
    /// the merge can be computed once more. In the latter case, all copies may be lost too.
    void damage_newest();
    void stop(std::size_t index, Millis grace);
    /// From now on, the living processes of site `index` skip every step.
    void break_site(std::size_t index);
    /// Exits of processes, in order. Killed processes are not listed.
    [[nodiscard]] std::vector<Exit> const& exits() const { return exits_; }
    [[nodiscard]] bool complete() const;
    [[nodiscard]] SimStore& store() { return store_; }
    [[nodiscard]] SimStore const& store() const { return store_; }
    /// Number of operations on the store and of events of trainers until now.
    [[nodiscard]] std::int64_t steps() const { return steps_; }
    [[nodiscard]] std::vector<std::string> const& log() const { return log_; }
    /// Writes every input and output of every Site to `trace` from now on.
    void trace_to(std::ostream* trace) { trace_ = trace; }
    /// Number of notes of each type.
    [[nodiscard]] std::map<std::string, int> const& notes() const { return notes_; }
    /// For each state, the number of inputs after which a site was in this state.
    [[nodiscard]] std::map<State, std::int64_t> const& states() const { return states_; }
    void keep_log(bool keep) { keep_log_ = keep; }

  private:
    using P = std::shared_ptr<SimProcess>;
    [[nodiscard]] std::vector<P> living() const;
    /// Returns whether a read that begins now gets no answer.
    [[nodiscard]] bool is_unanswered() { return now() < away_until_ || chance(chaos_.no_answer); }
    /// Returns whether a write that begins now fails.
    [[nodiscard]] bool refuses_writes() const { return now() < std::max(full_until_, away_until_); }
    template <class... Text>
    void log_line(P const& p, Text const&... text)
    {
        if (!keep_log_) return;
        std::string line =
            std::to_string(now().count()) + " " +
            p->machine->status().member.value_or(MemberId{run_.sites[p->site_index].value}).value;
        ((line += std::string(" ") + text), ...);
        log_.push_back(line);
    }

    /// Delivers one input to a process, and carries out the outputs. If the process is frozen,
    /// delivers the input after the freeze; the order of inputs stays the same.
    void deliver(P const& p, Input const& input);
    void handle(P const& p, Input const& input);
    /// Passes one input to the state machine. Throws Violation if the machine throws.
    [[nodiscard]] std::vector<Output> outputs_of(SimProcess& p, Input const& input) const;

    void reply(P const& p, Input input);

    void execute(P const& p, Get const& o);
    void execute(P const& p, Create const& o);
    /// Creates an object as `o` asks. Returns whether it is new.
    [[nodiscard]] bool creates(Create const& o);
    void put(P const& p, Op op, std::vector<Target> const& parts, Payload const& content,
             bool may_spoil);
    void execute(P const& p, StoreDelta const& o);
    void execute(P const& p, StoreModel const& o);
    void execute(P const& p, MakeInitial const& o);

    void execute(P const& p, Merge const& o);
    /// Returns whether the store has all that is needed to make the newest model again.
    [[nodiscard]] bool can_recompute();
    /// The tickets that a merge makes. Null: an input is damaged or missing.
    [[nodiscard]] MergedPayloads merge_payloads(Merge const& o, Tickets result,
                                                std::vector<Term> const& terms) const;
    void keep(SimProcess const& p, Payload const& payload);
    [[nodiscard]] std::optional<MergedPayloads> merged(Merge const& o) const;
    void execute(P const& p, Restore const& o);
    void execute(P const& p, LoadModel const& o);
    void execute(P const& p, Adopt const& o);
    void execute(P const& p, Cut const& o);
    void execute(P const& p, Train const& o);
    void execute(P const& p, Discard const&) { p->trainer->discard(); }
    void execute(P const& p, Delete const& o);
    void execute(P const& p, Sweep const& o);
    void execute(P const& p, Overwrite const& o);
    void execute(P const& p, Keep const& o);
    void execute(P const& p, Note const& o);
    void execute(P const& p, Exit const& o);
    /// Checks that a process that leaves has read its pending headers back.
    void check_leaver(SimProcess const& p) const;

    /// Carries out the cut or the adoption that waits for the end of a step.
    void boundary(P const& p);
    void step(P const& p);
    void end_step(P const& p, Millis takes, int instance);

    /// Injects a fault by chance. Always returns true, so that run_until() can call it in the
    /// condition of its loop.
    bool maybe_inject_fault();
    void inject_fault();
    void move_clock(Millis offset);
    void freeze(P const& p, Millis duration);
    void thaw(P const& p);
    /// Freezes a site that stores its own weights, and starts another one, by chance.
    void interrupt(P const& p);
    /// A request to leave within `grace`, of which the last tenth is too late for a transfer.
    [[nodiscard]] StopRequested stop_request(P const& p, Millis grace) const
    {
        MonoTime const begun{now() + p->clock_offset};
        return {begun + grace * 9 / 10, begun + grace};
    }

    RunSpec run_;
    SimStore store_;
    Chaos chaos_;
    Policy policy_;
    std::vector<double> speed_;
    Millis last_fault_check_{0};
    Millis full_until_{0};
    Millis away_until_{0};
    Millis clock_offset_{0};              ///< error of the store's clock
    Millis headers_unreadable_until_{0};  ///< until then, gets of headers get no answer; if the
                                          ///< number is odd, the store refuses them
    int creates_refused_{0};
    std::int64_t steps_{0};
    std::set<std::string> injected_;  ///< names of foreign headers
    /// By site: the payloads that its machine keeps, by digest. They outlive its processes.
    std::map<std::size_t, std::map<std::string, Payload>> kept_;
    std::set<std::string> damaged_;  ///< names of all payloads that damage_newest() damaged
    std::vector<Exit> exits_;
    std::vector<P> processes_;
    std::ostream* trace_{nullptr};
    bool keep_log_{false};
    std::vector<std::string> log_;
    std::map<std::string, int> notes_;
    std::map<State, std::int64_t> states_;
};

}  // namespace curtail::rounds::simulator
