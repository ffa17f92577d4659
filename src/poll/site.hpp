// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/log.hpp"
#include "launch/launcher.hpp"
#include "poll/book.hpp"
#include "signals/provider.hpp"

namespace curtail::poll {

/// What a person wants to know about one site (`--explain`).
struct SiteReport {
    SiteId site;
    RegionId region;
    bool asked{true};  ///< false: nobody asked for a signal; window and moment are those of the
                       ///< last evaluation
    Time signal_time;  ///< the moment of the evaluation, on the signals' clock
    std::optional<GramsPerKwh> intensity;  ///< the fresh one
    std::optional<Time> sample_time;       ///< of the newest sample, fresh or not
    bool sample_is_empty{false};           ///< the provider said that it has no value
    std::string provider;
    windows::Phase phase{windows::Phase::closed};
    std::optional<WindowId> window;
    std::string why;                    ///< the phase is what it is
    std::vector<plan::Job> jobs;        ///< that are there
    std::vector<plan::Action> actions;  ///< next ones; in a dry run not done
    // What is wrong, if anything is.
    std::optional<Error> signal_trouble;  ///< with the provider, or with this machine's clock
    std::optional<Error> job_trouble;     ///< the launcher does not answer
    std::optional<Error> action_trouble;  ///< the last action was not done, or nobody knows
    std::string
        job_warning;  ///< what a person should know of the jobs that are there; nothing to fail for
    [[nodiscard]] std::vector<Error> troubles() const;
};

/// What became of looking at one half of a site.
struct Look {
    bool good{false};      ///< the window's phase changed; the jobs could be listed
    Result<void> written;  ///< what could not be written down. The look is good all the same: what
                           ///< is wrong with a disk stops no drain
};

/// Why no site shall have a job, whatever its window says.
enum class Halt {
    no,
    trace_over,  ///< the replay has reached its end
    person       ///< somebody stopped the poller and asked to drain
};

/// Watches one site: evaluates its window and looks after its jobs. The two halves may run in two
/// threads.
class SiteWatch {
  public:
    struct Parts {
        config::Site const& site;
        std::filesystem::path
            complete_mark;  ///< a run for which this file exists gets no more jobs
        std::unique_ptr<signals::Provider>
            provider;  ///< nothing: the window stays as it was left, for a look without a signal
        std::unique_ptr<launch::Launcher> launcher;
        plan::Rules rules;
        std::optional<Time> signals_begin;  ///< of a replay: its window is evaluated from there on,
                                            ///< however late the first look comes
    };
    /// `book` must outlive this.
    SiteWatch(Parts parts, Book& book, Log log);

    /// Applies every sample up to `signal_now`, each at its own time. Good if the phase changed.
    [[nodiscard]] Look evaluate(Time signal_now);
    /// Looks at the jobs, decides and, unless `dry`, acts. Not good if the launcher did not answer:
    /// then nothing is decided about jobs. Nothing is submitted unless that can be written down
    /// first.
    [[nodiscard]] Look tend(Halt halt, bool dry);
    /// Nothing runs, waits or may still appear.
    [[nodiscard]] bool is_quiet() const;
    /// From now on jobs that are asked to stop are cancelled as well.
    void hurry();
    [[nodiscard]] SiteReport report() const;
    [[nodiscard]] SiteId const& id() const { return parts_.site.site; }

  private:
    [[nodiscard]] plan::Wish wish(SiteRecord const& record, Halt halt) const;
    [[nodiscard]] Result<void> act(plan::Action const& action);
    void show_stored(SiteRecord const& record, Time signal_now);
    void show_undecided(Halt halt);
    void warn(std::string const& warning);
    void tell(std::optional<Error>& known, std::optional<Error> const& trouble, char const* what);
    [[nodiscard]] std::optional<Error> set_back(SiteRecord& record, Time signal_now) const;
    [[nodiscard]] plan::Rules rules() const;

    Parts parts_;
    Book& book_;
    Log log_;
    mutable std::mutex mutex_;  ///< guards what follows
    SiteReport report_;
    bool hurried_{false};
};

}  // namespace curtail::poll
