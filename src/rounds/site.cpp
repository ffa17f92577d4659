// SPDX-License-Identifier: Apache-2.0
#include "rounds/site.hpp"

#include <algorithm>
#include <stdexcept>

#include "rounds/site_detail.hpp"

namespace curtail::rounds {

Site::Site(SiteConfig config)
    : config_(std::move(config)), random_(std::uint64_t{config_.process.nonce} * 2 + 1)
{
}

std::vector<Output> Site::on(MonoTime now, Input const& input)
{
    out_.clear();
    if (exited()) return {};
    now_ = std::max(now_, now);
    std::visit(
        [&](auto const& in) {
            using T = std::decay_t<decltype(in)>;
            if constexpr (std::is_same_v<T, Stepped>) stepped(in);
            else if constexpr (std::is_same_v<T, StopRequested>) stop_requested(in);
            else if constexpr (!std::is_same_v<T, Tick>) accept(in.op, input);
        },
        input);
    settle();
    return std::move(out_);
}

void Site::stop_requested(StopRequested const& stop)
{
    deadline_ = std::min(stop.deadline, deadline_.value_or(stop.deadline));
    not_before_ = now_;
}

void Site::settle()
{
    if (deadline_ && now_ >= *deadline_ && !exited()) out_of_time();
    wake_ = deadline_;
    while (!open_ && !exited()) {
        bool const before_base = phase_ <= Phase::join_create && phase_ != Phase::fold;
        if (deadline_ && before_base) finish(ExitCode::ok);
        else if (!reached(not_before_) || !(this->*row().act)()) break;
        wake_ = open_ ? deadline_ : wake_;
    }
    if (exited()) wake_.reset();
}

/// At the deadline. A contribution whose header is in the store is safe: the next merge decides it.
void Site::out_of_time()
{
    std::int64_t tokens = since_.count() * run_.params.block_tokens;
    for (auto const& own : undecided_)
        if (!own.published) tokens += own.header.tokens;
    if (tokens == 0 || removal_ == Removal::left) return finish(ExitCode::ok);
    bool const sent = lone_sent_ && draft_ && draft_->encoded.sha256 == *lone_sent_;
    auto const work = std::to_string(tokens) + " tokens";
    finish(
        ExitCode::unavailable,
        Error{ExitCode::unavailable, "cannot leave the run by the deadline",
              sent ? "no answer from the store about commit " +
                         std::to_string(draft_->commit.number.value) + " with the last " + work
                   : "the store accepted the last " + work +
                         " neither as a commit nor as a contribution",
              sent ? "check with `curtail-status` that the commit exists; otherwise its blocks are "
                     "trained again"
                   : "no action needed: this work is lost and its blocks are trained again"});
}

bool Site::fits(Input const& input) const
{
    auto const is = [&]<class... T>() { return (std::holds_alternative<T>(input) || ...); };
    switch (open_->question) {
        case Question::get:
            return is.operator()<Got, Missing, Unknown>();
        case Question::create:
            return is.operator()<Created, Exists, Unknown>();
        case Question::store:
            return is.operator()<Stored, Unavailable>();
        case Question::merge:
            return is.operator()<Merged, Corrupt, Unavailable>();
        case Question::load:
            return is.operator()<Loaded, Corrupt, Unavailable>();
        case Question::adopt:
            return is.operator()<Adopted, Corrupt, Unavailable>();
        case Question::cut:
            return is.operator()<CutReady>();
    }
    __builtin_unreachable();
}

void Site::accept(Op op, Input const& input)
{
    if (!open_ || open_->op != op) throw std::logic_error("answer to a question that is not open");
    if (!fits(input)) throw std::logic_error("answer does not match the open question");
    open_.reset();
    if (refused_at_start(input)) return;
    auto const answered = row().answered;
    if (answered == nullptr) throw std::logic_error("answer in a phase without questions");
    (this->*answered)(input);
}

/// A process that is not yet a member has no work to lose. It exits if the store stays read-only,
/// forbidden, full or unreachable. A single unreadable header does not count. True if it exits.
bool Site::refused_at_start(Input const& input)
{
    auto const* unknown = std::get_if<Unknown>(&input);
    auto const* unavailable = std::get_if<Unavailable>(&input);
    if (std::holds_alternative<Created>(input) || std::holds_alternative<Exists>(input) ||
        std::holds_alternative<Stored>(input))
        refusals_at_start_ = 0;
    if (member_ || (unknown == nullptr && unavailable == nullptr)) return false;
    auto const code = unknown != nullptr ? unknown->code : unavailable->code;
    if (!detail::lasting(code) && code != ExitCode::unavailable) return false;
    bool const header = phase_ == Phase::find_headers || phase_ == Phase::join_headers;
    if (header && detail::lasting(code)) return false;
    constexpr int limit = 6;
    if (++refusals_at_start_ < limit) return false;
    finish(code, Error{code,
                       "cannot start with the run's store",
                       unknown != nullptr ? unknown->why : unavailable->why,
                       {}});
    return true;
}

bool Site::act_next_commit()
{
    get(commit_name(tip_->number.next()));
    return true;
}

void Site::stepped(Stepped const& step)
{
    if (!loaded_ || !tip_->find(*member_)) return;
    if (!trainable().contains(step.blocks))
        throw std::logic_error("trained blocks without an order: " + step.blocks.to_string());
    since_ += step.blocks;
    ++steps_in_round_;
    measured_blocks_ += static_cast<double>(step.blocks.count());
    measured_seconds_ += step.seconds.count();
    double const memory = 2 * FractionalSeconds(run_.params.round_time).count();
    if (measured_seconds_ <= memory) return;
    measured_blocks_ /= 2;
    measured_seconds_ /= 2;
}

Op Site::ask(Question question, std::string name)
{
    open_ = OpenQuestion{++last_op_, question, std::move(name)};
    return last_op_;
}

void Site::get(std::string name)
{
    auto const op = ask(Question::get, name);
    out_.emplace_back(Get{op, std::move(name)});
}

void Site::create(std::string name, std::string bytes, bool want_time)
{
    auto const op = ask(Question::create, name);
    out_.emplace_back(Create{op, std::move(name), std::move(bytes), want_time});
}

void Site::go(Phase phase)
{
    phase_ = phase;
    tries_ = 0;
    not_before_ = now_;
}

void Site::retry(Phase phase)
{
    phase_ = phase;
    auto const longest = deadline_ ? Millis{1'000} : Millis{10'000};
    auto const pause = std::min(longest, Millis{50} * (1 << std::min(tries_, 8)));
    ++tries_;
    not_before_ = now_ + pause / 2 + jitter(pause);
}

bool Site::reached(MonoTime t)
{
    if (now_ >= t) return true;
    wake_ = std::min(t, wake_.value_or(t));
    return false;
}

Millis Site::jitter(Millis most)
{
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return Millis{
        static_cast<std::int64_t>((random_ >> 33) % static_cast<std::uint64_t>(most.count() + 1))};
}

void Site::note(std::string type, json::Object details)
{
    out_.emplace_back(Note{std::move(type), std::move(details)});
}

void Site::finish(ExitCode code, std::optional<Error> error)
{
    if (member_ && tip_)
        note("left", json::Object{{"member", member_->value}, {"commit", tip_->number.value}});
    abandon_payloads();
    out_.emplace_back(Exit{code, std::move(error)});
    phase_ = Phase::exited;
    open_.reset();
}

void Site::refuse(Error error)
{
    if (++bad_reads_ < detail::reads_limit) return retry(phase_);
    auto const code = error.code;
    finish(code, std::move(error));
}

Time Site::store_now() const { return Time{now_.time_since_epoch() + store_offset_}; }

MemberId Site::writer() const { return member_ ? *member_ : member_id(config_.process, {0}); }

std::vector<Target> Site::targets(Round round, std::string (*part_name)(std::string_view)) const
{
    std::vector<Target> list;
    for (auto const& part : run_.parts) {
        auto const name = part_name(part.name);
        list.push_back({name, model_name(round, writer(), attempt_, name)});
    }
    return list;
}

Rate Site::rate() const
{
    if (measured_seconds_ <= 0) return config_.rate;
    return static_cast<Rate>(1e6 * measured_blocks_ / measured_seconds_);
}

}  // namespace curtail::rounds
