// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/follow/follower.hpp"

#include <cmath>
#include <utility>

#include "base/core/clock.hpp"
#include "trainer/evaluate/committed_model.hpp"
#include "trainer/evaluate/follow/evaluation_log.hpp"
#include "trainer/evaluate/follow/plan.hpp"
#include "trainer/evaluate/follow/run_models.hpp"
#include "trainer/evaluate/held_out.hpp"

namespace curtail::follow {
namespace {

using runlog::HeldOutLine;
using Cause = store::ReadFailure::Cause;

constexpr Millis publish_limit{60'000};
constexpr Millis last_publish_limit{10'000};
// A network may damage one answer. A record that the store has damaged stays so, and so does one of
// another format.
constexpr int max_bad_updates = 3;

// Logs that something is wrong when it begins or changes, and when it has ended.
class Trouble {
  public:
    explicit Trouble(Log log) : log_(std::move(log)) {}
    void set(std::string const& text)
    {
        if (text != text_) log_.warning(text + " (trying again)");
        text_ = text;
    }
    void clear()
    {
        if (!text_.empty()) log_.info("the run can be read again");
        text_.clear();
    }

  private:
    Log log_;
    std::string text_;
};

class Follower {
  public:
    Follower(config::Run const& run, chain::RunObjects const& objects, EvaluationLog& lines,
             Settings const& settings, Log const& log, std::stop_token stop)
        : run_(run),
          objects_(objects),
          lines_(lines),
          settings_(settings),
          log_(log),
          stop_(std::move(stop)),
          models_(run, objects),
          trouble_(log)
    {
    }

    Result<FollowOutcome> run()
    {
        while (!stop_.stop_requested()) {
            auto const complete = catch_up();
            if (stop_.stop_requested()) break;
            if (!complete && !may_pass(complete.error().code))
                return tl::unexpected(complete.error());
            if (!complete) trouble_.set(complete.error().message());
            else trouble_.clear();
            bool const is_published = lines_.publish({stop_, monotonic_now() + publish_limit});
            if (complete && *complete && is_published) return FollowOutcome::complete;
            sleep_unless_stopped(stop_, settings_.every);
        }
        return FollowOutcome::stopped;
    }

  private:
    // Evaluates all models that have no line. Returns whether the run is complete.
    Result<bool> catch_up()
    {
        // Without the lines that exist, models would be evaluated twice.
        if (!has_lines_)
            if (auto read = lines_.read(); !read) return tl::unexpected(read.error());
        has_lines_ = true;
        auto const has_begun = update();
        if (!has_begun) return tl::unexpected(has_begun.error());
        if (!*has_begun) {
            if (!std::exchange(has_said_waiting_, true))
                log_.info("waiting: the run has no commit yet");
            return false;
        }
        if (auto good = check_data(); !good) return tl::unexpected(good.error());
        for (;;) {
            auto const pending =
                pending_models(models_.models(), lines_.lines(), models_.oldest_kept());
            if (pending.empty()) return models_.is_complete();
            // A copy, because an update moves the models.
            // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
            auto const commit = pending.front();
            if (auto done = take(commit); !done) return tl::unexpected(done.error());
            if (auto more = update(); !more) return tl::unexpected(more.error());
        }
    }

    // Reads the new commits. Fails with `temporary` if a record is bad that may be read again.
    Result<bool> update()
    {
        auto updated = models_.update();
        if (updated) {
            bad_updates_ = 0;
        } else if (updated.error().code == ExitCode::protocol) {
            ++bad_updates_;
            if (bad_updates_ < max_bad_updates) updated.error().code = ExitCode::temporary;
        }
        return updated;
    }

    Result<void> check_data()
    {
        if (has_checked_data_) return {};
        auto good = evaluate::check_data(run_, models_.spec().manifest);
        has_checked_data_ = good.has_value();
        return good;
    }

    // Writes the line of one model.
    Result<void> take(protocol::Commit const& commit)
    {
        if (begun_ != commit.number)
            log_.info("evaluating the model of commit " + std::to_string(commit.number.value));
        begun_ = commit.number;
        auto const began = monotonic_now();
        HeldOutLine line;
        line.commit = commit.number;
        line.round = commit.round;
        line.trained = commit.totals.tokens;
        line.model = model_of(commit);
        line.data = models_.spec().manifest;
        if (auto done = evaluate_into(line, commit); !done) return done;
        line.time = SystemClock{}.now();
        line.duration = FractionalSeconds(monotonic_now() - began);
        if (auto appended = lines_.append(line); !appended) return appended;
        if (settings_.on_line) settings_.on_line(line);
        (void)lines_.publish({stop_, monotonic_now() + publish_limit});
        return {};
    }

    Result<void> evaluate_into(HeldOutLine& line, protocol::Commit const& commit)
    {
        auto weights = evaluate::read_weights(run_, objects_, commit, {stop_, {}});
        if (!weights && weights.error().cause == Cause::unavailable)
            return tl::unexpected(weights.error().error);
        if (!weights) return note_lost(line, weights.error());
        auto stream = data::TokenStream::open(run_.data.folder, data::Split::held_out);
        if (!stream) return tl::unexpected(stream.error());
        auto const loss = evaluate::held_out_loss(model::Gpt(std::move(*weights)), *stream,
                                                  settings_.progress, stop_);
        if (!loss) return tl::unexpected(loss.error());
        line.tokens = loss->tokens;
        if (std::isfinite(loss->loss)) line.loss = loss->loss;
        if (line.loss) line.standard_error = loss->standard_error;
        line.unigram_entropy = loss->unigram_entropy;
        if (line.loss) line.bits_per_byte = loss->bits_per_byte;
        return {};
    }

    // Fails with `temporary` if the sites may still repair the model.
    Result<void> note_lost(HeldOutLine& line, store::ReadFailure const& failure)
    {
        // The run may have deleted the model while it was read.
        if (auto more = update(); !more) return tl::unexpected(more.error());
        auto const now = monotonic_now();
        if (!lost_ || lost_->commit != line.commit) lost_ = LossSighting{line.commit, now};
        bool const goes_on = !models_.is_complete();
        LostModel const lost{.is_kept = line.round >= models_.oldest_kept(),
                             .is_newest = goes_on && models_.models().back().number == line.commit,
                             .lost_for = std::chrono::duration_cast<Millis>(now - lost_->since),
                             .repair_wait = models_.repair_wait()};
        if (!stays_lost(lost)) {
            auto error = failure.error;
            error.code = ExitCode::temporary;
            return tl::unexpected(error);
        }
        log_.warning(failure.error.message());
        line.missing =
            failure.cause == Cause::missing ? runlog::model_deleted : runlog::model_damaged;
        return {};
    }

    struct LossSighting {
        CommitNumber commit;
        MonoTime since;
    };

    config::Run const& run_;
    chain::RunObjects const& objects_;
    EvaluationLog& lines_;
    Settings const& settings_;
    Log log_;
    std::stop_token stop_;
    RunModels models_;
    Trouble trouble_;
    std::optional<CommitNumber> begun_;  // the model that was last read
    std::optional<LossSighting> lost_;
    int bad_updates_{0};  // since the last update without an error
    bool has_lines_{false};
    bool has_said_waiting_{false};
    bool has_checked_data_{false};
};

}  // namespace

Result<FollowOutcome> follow_run(config::Run const& run, SiteId const& site,
                                 std::shared_ptr<store::ObjectStore> const& store,
                                 Settings const& settings, Log const& log,
                                 std::stop_token const& stop)
{
    auto lines = EvaluationLog::open(run, site, store, log);
    if (!lines) return tl::unexpected(lines.error());
    chain::RecordCache records(settings.cache, run.store, run.run);
    chain::RunObjects const objects(*store, run.run, &records);
    auto end = Follower(run, objects, *lines, settings, log, stop).run();
    if (!end || *end == FollowOutcome::stopped)
        if (!lines->publish({{}, monotonic_now() + last_publish_limit}))
            log.warning("the last lines are not published; the next process publishes them");
    return end;
}

}  // namespace curtail::follow
