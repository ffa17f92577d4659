// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "foreign_objects.hpp"
#include "sim_process.hpp"
#include "sim_time.hpp"
#include "sim_trace.hpp"

namespace curtail::rounds::test {

/// Probabilities of faults, and one rate. Each probability applies to every operation that its
/// comment names.
struct Chaos {
    double lost_reply{0};    ///< of a create: applied, but the site gets no answer
    double lost_request{0};  ///< of a create: not applied, and no answer
    double delayed{0};       ///< of a create: applied later, even if its writer is dead by then
    double stale_404{0};     ///< of a get, a delta in a merge, a model load: wrongly missing
    double no_answer{0};     ///< of a get, a model load, a stored payload, a merge
    double spoiled{0};       ///< of a stored delta: its content is wrong
    double refused{0};       ///< of a contribution in a merge: refused although valid
    double faults_per_s{0};  ///< rate per simulated second of all other faults: crashes, starts,
                             ///< second instances, freezes, stop requests, failing writes,
                             ///< unreadable headers, and objects that Curtail did not write
    double nan{0};           ///< of a cut: its delta has values that are not finite
};

/// Several sites, a store and injected faults, in one thread and simulated time. One seed
/// determines every choice.
class Simulator : public SimTime {
  public:
    Simulator(RunSpec run, std::uint64_t seed, Chaos chaos)
        : SimTime(seed), run_(run), store_(std::move(run)), chaos_(chaos)
    {
        for (std::size_t i = 0; i < run_.sites.size(); ++i)
            speed_.push_back(std::exp(uniform(-1.2, 1.2)));
    }

    void start(std::size_t site)
    {
        auto p = std::make_shared<SimProcess>();
        p->site_index = site;
        p->clock_offset = Millis{pick(1, 1'000'000)};
        SiteConfig config{{run_.sites[site], nonce()}, run_, 0};
        p->identity = config.process;
        p->machine = std::make_unique<Site>(config);
        p->trainer = std::make_unique<SimTrainer>(store_.blocks());
        processes_.push_back(p);
        deliver(p, Tick{});
    }

    /// Runs until `end` or until `stop` returns true. Returns the last result of `stop`.
    bool run_until(Millis end, std::function<bool()> const& stop)
    {
        do {
            if (stop()) return true;
        } while (run_next(end) && maybe_inject_fault());
        skip_to(end);
        return stop();
    }

    void set_chaos(Chaos chaos) { chaos_ = chaos; }
    /// Refuses all writes for `duration`; reads still work.
    void fill_store(Millis duration) { full_until_ = now() + duration; }
    [[nodiscard]] int creates_refused() const { return creates_refused_; }
    /// Adds an object that no program of Curtail writes, under a name that a site will read: the
    /// next header of a member, alive or dead, or the next lease. The types below
    /// foreign_header_types are those of foreign_header(). The types from there on are those of
    /// foreign_lease().
    void inject(int type);
    void kill_all_but(std::shared_ptr<void> const& survivor)
    {
        for (auto& p : processes_)
            if (p != survivor) p->dead = true;
    }
    void kill(std::size_t nth)
    {
        auto const list = living();
        if (nth < list.size()) list[nth]->dead = true;
    }
    [[nodiscard]] std::shared_ptr<void> any_living()
    {
        auto const list = living();
        return list.empty() ? nullptr
                            : list[static_cast<std::size_t>(
                                  pick(0, static_cast<std::int64_t>(list.size()) - 1))];
    }
    [[nodiscard]] std::size_t living_count() const { return living().size(); }
    /// The newest living process of site `index`, or null.
    [[nodiscard]] Site const* site_of(std::size_t index) const
    {
        for (auto it = processes_.rbegin(); it != processes_.rend(); ++it)
            if (!(*it)->dead && (*it)->site_index == index) return (*it)->machine.get();
        return nullptr;
    }
    void stop(std::size_t index, Millis grace)
    {
        for (auto& p : living())
            if (p->site_index == index) {
                p->stopping = true;
                deliver(p, StopRequested{MonoTime{now() + p->clock_offset + grace}});
            }
    }
    /// Exits of processes, in order. Killed processes are not listed.
    [[nodiscard]] std::vector<Exit> const& exits() const { return exits_; }
    [[nodiscard]] bool complete() const
    {
        return !store_.chain().empty() && store_.chain().back().complete;
    }
    [[nodiscard]] SimStore& store() { return store_; }
    [[nodiscard]] std::vector<std::string> const& log() const { return log_; }
    /// Writes every input and output of every Site to `trace` from now on.
    void trace_to(std::ostream* trace) { trace_ = trace; }
    /// Number of notes of each type.
    [[nodiscard]] std::map<std::string, int> const& notes() const { return notes_; }
    /// For each state, the number of inputs after which a site was in this state.
    [[nodiscard]] std::map<std::string, int> const& states() const { return states_; }
    void keep_log(bool keep) { keep_log_ = keep; }

  private:
    using P = std::shared_ptr<SimProcess>;
    [[nodiscard]] std::vector<P> living() const
    {
        std::vector<P> list;
        for (auto const& p : processes_)
            if (!p->dead) list.push_back(p);
        return list;
    }
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
    void deliver(P const& p, Input const& input)
    {
        if (p->dead) return;
        if (p->frozen_until > now() || !p->inbox.empty()) {
            p->inbox.push_back(input);
            return;
        }
        handle(p, input);
    }
    void handle(P const& p, Input const& input)
    {
        p->stop_delivered = p->stop_delivered || std::holds_alternative<StopRequested>(input);
        auto const outputs = p->machine->on(MonoTime{now() + p->clock_offset}, input);
        if (trace_ != nullptr) trace(*trace_, now(), *p, input, outputs);
        ++states_[to_text(p->machine->status().state)];
        for (auto const& output : outputs)
            std::visit([&](auto const& o) { execute(p, o); }, output);
        p->check_against_trainer();
        auto const wake = p->machine->wake();
        if (!wake || wake == p->wake) return;
        p->wake = wake;
        later(std::max(Millis{1}, wake->time_since_epoch() - p->clock_offset - now()),
              [this, p, wake] {
                  if (p->wake != wake) return;
                  p->wake.reset();
                  deliver(p, Tick{});
              });
    }

    void reply(P const& p, Input input)
    {
        later(Millis{pick(1, 60)}, [this, p, input = std::move(input)] { deliver(p, input); });
    }

    void execute(P const& p, Get const& o)
    {
        later(Millis{pick(1, 60)}, [this, p, o] {
            p->answered_missing[o.name] = false;
            bool const dark = now() < headers_unreadable_until_ && o.name.rfind("contrib/", 0) == 0;
            bool const refused = dark && headers_unreadable_until_.count() % 2 == 1;
            if (refused) p->refused_since.try_emplace(o.name, now());
            if (refused) return reply(p, Unknown{o.op, "input/output error", ExitCode::io});
            if (dark || chance(chaos_.no_answer)) return reply(p, Unknown{o.op, "no answer"});
            p->refused_since.erase(o.name);
            auto const bytes = chance(chaos_.stale_404) ? std::nullopt : store_.get(o.name);
            if (bytes) return reply(p, Got{o.op, *bytes});
            p->answered_missing[o.name] = true;
            reply(p, Missing{o.op});
        });
    }
    void execute(P const& p, Create const& o)
    {
        require(!p->stop_delivered || o.name.rfind("merge/", 0) != 0,
                "a leaving site takes the lease");
        p->check_removals(o, now() - run_.params.drop_after - run_.params.skew);
        later(Millis{pick(1, 60)}, [this, p, o] {
            if (now() < full_until_) {
                ++creates_refused_;
                return reply(p, Unknown{o.op, "full"});
            }
            if (chance(chaos_.lost_request)) return reply(p, Unknown{o.op, "lost"});
            if (chance(chaos_.delayed)) {
                later(Millis{pick(1, 40'000)}, [this, o] { store_.create(o.name, o.bytes); });
                return reply(p, Unknown{o.op, "time-out"});
            }
            bool const created = store_.create(o.name, o.bytes);
            if (created) log_line(p, "created", o.name);
            if (chance(chaos_.lost_reply)) return reply(p, Unknown{o.op, "reply lost"});
            if (created) reply(p, Created{o.op, Time{now() + Millis{1'700'000'000'000}}});
            else reply(p, Exists{o.op});
        });
    }
    void put(P const& p, Op op, std::vector<Target> const& parts, Tickets const& content,
             bool may_spoil)
    {
        later(Millis{pick(20, 400)}, [=, this] {
            if (now() < full_until_) return reply(p, Unavailable{op, "full"});
            Stored stored{op, {}};
            bool const lost = chance(chaos_.no_answer);
            for (auto const& target : parts) {
                stored.parts.push_back(store_.put(target.part, target.name, content));
                if (may_spoil && chance(chaos_.spoiled)) store_.spoil(target.name);
            }
            if (lost) reply(p, Unavailable{op, "no answer"});
            else reply(p, stored);
        });
    }
    void execute(P const& p, StoreDelta const& o)
    {
        put(p, o.op, o.parts, p->trainer->delta(o.seq), true);
    }
    void execute(P const& p, StoreModel const& o)
    {
        put(p, o.op, o.parts, p->trainer->anchor(), false);
    }
    void execute(P const& p, MakeInitial const& o)
    {
        put(p, o.op, o.parts, Tickets(store_.blocks(), 0), false);
    }

    void execute(P const& p, Merge const& o)
    {
        require(!p->stop_delivered, "a leaving site starts a merge");
        p->check_merge_base(o);
        later(Millis{pick(50, 800)}, [this, p, o] {
            if (chance(chaos_.no_answer) || now() < full_until_)
                return reply(p, Unavailable{o.op, "no answer"});
            auto const* theta = store_.payload(o.model.parts.at(0));
            if (theta == nullptr)
                return reply(p, Corrupt{o.op, o.model.parts.at(0).name, "missing"});
            Merged merged{o.op, {}, {}, {}};
            auto result = *theta;
            for (auto const& c : o.include) {
                auto const* d = store_.payload(c.parts.at(0).payload);
                if (chance(chaos_.stale_404))
                    merged.refused.push_back({c.member, c.seq, Refusal::digest, true});
                else if (d == nullptr || chance(chaos_.refused))
                    merged.refused.push_back({c.member, c.seq, Refusal::digest});
                else result = result - *d;
            }
            if (merged.refused.empty()) {
                merged.model.push_back(
                    store_.put(o.weights.at(0).part, o.weights.at(0).name, result));
                if (o.outer_step)
                    merged.momentum.push_back(
                        store_.put(o.momentum.at(0).part, o.momentum.at(0).name, result));
            }
            reply(p, merged);
        });
    }
    void execute(P const& p, LoadModel const& o)
    {
        later(Millis{pick(20, 300)}, [this, p, o] {
            if (p->dead) return;
            if (chance(chaos_.no_answer)) return reply(p, Unavailable{o.op, "no answer"});
            auto const* theta = store_.payload(o.model.parts.at(0));
            if (theta == nullptr || chance(chaos_.stale_404))
                return reply(p, Corrupt{o.op, o.model.parts.at(0).name, "missing"});
            p->trainer->load(*theta);
            deliver(p, Loaded{o.op});
        });
    }
    void execute(P const& p, Adopt const& o)
    {
        later(Millis{pick(5, 300)}, [this, p, o] {
            if (p->dead) return;
            auto const* theta = store_.payload(o.model.parts.at(0));
            if (chance(chaos_.no_answer)) return reply(p, Unavailable{o.op, "no answer"});
            if (theta == nullptr || chance(chaos_.stale_404))
                return reply(p, Corrupt{o.op, o.model.parts.at(0).name, "missing"});
            p->adopt = {o, *theta};
            if (!p->trainer->stepping()) boundary(p);
        });
    }
    void execute(P const& p, Cut const& o)
    {
        p->cut = o;
        if (!p->trainer->stepping()) boundary(p);
    }
    void execute(P const& p, Train const& o)
    {
        p->trainer->train(o.held);
        step(p);
    }
    void execute(P const& p, Discard const&) { p->trainer->discard(); }
    void execute(P const& p, Delete const& o)
    {
        log_line(p, "deletes", o.name);
        later(Millis{pick(1, 5'000)}, [this, o] { store_.remove(o.name); });
    }
    void execute(P const& p, Note const& o)
    {
        ++notes_[o.type];
        log_line(p, o.type, json::to_string(o.details));
    }
    void execute(P const& p, Exit const& o)
    {
        exits_.push_back(o);
        bool const not_finite = o.code == ExitCode::data && p->nan_cuts >= 3;
        bool const name_taken =
            o.code == ExitCode::protocol &&
            std::any_of(injected_.begin(), injected_.end(), [&](std::string const& name) {
                return o.error->message().find(name) != std::string::npos;
            });
        bool const fine = o.code == ExitCode::ok || not_finite || name_taken ||
                          (p->stopping && o.code == ExitCode::unavailable);
        require(fine, "a site exited: " + (o.error ? o.error->message() : "without error"));
        log_line(p, "exit");
        p->dead = true;
    }

    /// Carries out the cut or the adoption that waits for the end of a step.
    void boundary(P const& p)
    {
        if (p->cut) {
            auto const cut = *std::exchange(p->cut, {});
            auto ready = p->trainer->cut(cut.op, cut.seq);
            if (chance(chaos_.nan) && !ready.ranges.empty()) {
                ready.nonfinite = {1};
                ++p->nan_cuts;
            }
            deliver(p, ready);
        } else if (p->adopt) {
            auto const [adopt, theta] = *std::exchange(p->adopt, {});
            p->trainer->adopt(adopt, theta);
            deliver(p, Adopted{adopt.op});
        }
    }
    void step(P const& p)
    {
        if (p->cut || p->adopt || !p->trainer->begin_step(pick(1, 2))) return;
        auto const takes =
            Millis{static_cast<std::int64_t>(400 * speed_[p->site_index] * uniform(0.7, 1.4))};
        later(takes, [this, p, takes, instance = p->trainer->instance()] {
            end_step(p, takes, instance);
        });
    }
    void end_step(P const& p, Millis takes, int instance)
    {
        if (p->dead || instance != p->trainer->instance()) return;
        if (p->frozen_until > now())
            return later(p->frozen_until - now(), [=, this] { end_step(p, takes, instance); });
        Stepped const stepped{p->trainer->end_step(), takes};
        deliver(p, stepped);
        boundary(p);
        step(p);
    }

    /// Injects a fault by chance. Always returns true, so that run_until() can call it in the
    /// condition of its loop.
    bool maybe_inject_fault()
    {
        auto const elapsed = now() - last_fault_check_;
        last_fault_check_ = now();
        if (chance(chaos_.faults_per_s * static_cast<double>(elapsed.count()) / 1000))
            inject_fault();
        return true;
    }
    void inject_fault()
    {
        auto const list = living();
        auto const fault = pick(0, 13);
        if (fault == 10) return fill_store(Millis{pick(1'000, 20'000)});
        if (fault == 13) {
            headers_unreadable_until_ = now() + Millis{pick(1'000, 20'000)};
            return;
        }
        if (fault > 10)
            return inject(
                static_cast<int>(pick(0, foreign_header_types + foreign_lease_types - 1)));
        if (list.empty() || fault <= 2)
            return start(static_cast<std::size_t>(
                pick(0, static_cast<std::int64_t>(run_.sites.size()) - 1)));
        auto const& p =
            list[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(list.size()) - 1))];
        if (fault <= 5) {
            log_line(p, "is killed");
            p->dead = true;
        } else if (fault <= 7) {
            p->frozen_until = now() + Millis{pick(100, fault == 6 ? 4'000 : 40'000)};
            log_line(p, "freezes");
            later(p->frozen_until - now(), [this, p] { thaw(p); });
        } else {
            p->stopping = true;
            log_line(p, "receives a stop request");
            deliver(p,
                    StopRequested{MonoTime{now() + p->clock_offset + Millis{pick(500, 30'000)}}});
        }
    }
    void thaw(P const& p)
    {
        if (p->frozen_until > now()) return;
        for (; !p->inbox.empty() && !p->dead; p->inbox.pop_front()) handle(p, p->inbox.front());
    }

    RunSpec run_;
    SimStore store_;
    Chaos chaos_;
    std::vector<double> speed_;
    Millis last_fault_check_{0};
    Millis full_until_{0};
    Millis headers_unreadable_until_{0};  ///< until then, gets of headers get no answer; if the
                                          ///< number is odd, the store refuses them
    int creates_refused_{0};
    std::set<std::string> injected_;  ///< names of foreign headers
    std::vector<Exit> exits_;
    std::vector<P> processes_;
    std::ostream* trace_{nullptr};
    bool keep_log_{false};
    std::vector<std::string> log_;
    std::map<std::string, int> notes_;
    std::map<std::string, int> states_;
};

inline void Simulator::inject(int type)
{
    if (store_.chain().empty() || store_.chain().back().complete) return;
    auto const& tip = store_.chain().back();
    if (type >= foreign_header_types) {
        std::int64_t k = 1;
        while (store_.get(lease_name(tip.round, k))) ++k;
        store_.create(lease_name(tip.round, k), foreign_lease(k, type - foreign_header_types));
        return;
    }
    std::vector<Member> open;
    for (auto const& m : tip.members)
        if (!store_.get(header_name(m.id, m.seq.next()))) open.push_back(m);
    if (open.empty()) return;
    auto const& m =
        open[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(open.size()) - 1))];
    auto const name = header_name(m.id, m.seq.next());
    injected_.insert(name);
    store_.inject(name, foreign_header(run_, tip, m, type));
}

}  // namespace curtail::rounds::test
