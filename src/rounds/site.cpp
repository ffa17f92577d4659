#include "rounds/site.hpp"

#include <algorithm>
#include <stdexcept>

#include "rounds/site_detail.hpp"

namespace curtail::rounds {

Site::Site(SiteConfig config) : config_(std::move(config)), random_(std::uint64_t{config_.process.nonce} * 2 + 1) {}

std::vector<Output> Site::on(MonoTime now, Input const& input)
{
    out_.clear();
    if (exited()) return {};
    now_ = std::max(now_, now);
    std::visit(
        [&](auto const& in) {
            using T = std::decay_t<decltype(in)>;
            if constexpr (std::is_same_v<T, Stepped>) stepped(in);
            else if constexpr (std::is_same_v<T, StopRequested>) deadline_ = std::min(in.deadline, deadline_.value_or(in.deadline));
            else if constexpr (!std::is_same_v<T, Tick>) accept(in.op, input);
        },
        input);
    settle();
    return std::move(out_);
}

void Site::settle()
{
    if (deadline_ && now_ >= *deadline_ && !exited())
        finish(ExitCode::unavailable, Error{ExitCode::unavailable, "cannot leave the run in time",
                                            "the store took what was trained neither as a commit nor as a contribution before the deadline",
                                            "the work since the last commit is lost to the run; its blocks are trained again"});
    wake_ = deadline_;
    while (!open_ && !exited()) {
        bool const before_base = phase_ <= Phase::join_create && phase_ != Phase::fold;
        if (deadline_ && before_base) finish(ExitCode::ok);
        else if (!act()) break;
        wake_ = open_ ? deadline_ : wake_;
    }
    if (exited()) wake_.reset();
}

void Site::accept(Op op, Input const& input)
{
    auto const is = [&]<class... T>() { return (std::holds_alternative<T>(input) || ...); };
    if (!open_ || open_->op != op) throw std::logic_error("answer to a question that is not open");
    bool fits = false;
    switch (open_->kind) {
        case Question::get:
            fits = is.operator()<Got, Missing, Unknown>();
            break;
        case Question::create:
            fits = is.operator()<Created, Exists, Unknown>();
            break;
        case Question::store:
            fits = is.operator()<Stored, Unavailable>();
            break;
        case Question::merge:
            fits = is.operator()<Merged, Corrupt, Unavailable>();
            break;
        case Question::load:
            fits = is.operator()<Loaded, Corrupt, Unavailable>();
            break;
        case Question::adopt:
            fits = is.operator()<Adopted, Corrupt, Unavailable>();
            break;
        case Question::cut:
            fits = is.operator()<CutReady>();
            break;
    }
    if (!fits) throw std::logic_error("answer does not fit the open question");
    open_.reset();
    answered(input);
}

bool Site::act()
{
    if (!reached(not_before_)) return false;
    switch (phase_) {
        case Phase::probe_create:
            create(probe_name(config_.process, ++attempt_), "{}", true);
            return true;
        case Phase::probe_again:
            create(probe_name(config_.process, attempt_), "{}");
            return true;
        case Phase::run_get:
            get(run_name);
            return true;
        case Phase::run_create:
            create(run_name, encode(config_.run).bytes);
            return true;
        case Phase::find_commit:
            get(commit_name(number_to_find()));
            return true;
        case Phase::find_parent:
            get(commit_name({found_.value - 1}));
            return true;
        case Phase::find_round:
            return act_find_round();
        case Phase::find_headers:
            if (!act_sweep()) choose_way_in();
            return true;
        case Phase::genesis_store:
            return act_genesis_store();
        case Phase::genesis_create:
            create(commit_name({1}), draft_->encoded.bytes);
            return true;
        case Phase::fold:
            return act_fold();
        case Phase::join_headers:
            if (!act_sweep()) go(Phase::join_create);
            return true;
        case Phase::join_create:
            return act_join();
        case Phase::base_wait:
            return act_base_wait();
        case Phase::base_load:
            return act_base_load();
        case Phase::run:
            return act_run();
        case Phase::run_look:
            if (!act_sweep()) look_done();
            return true;
        case Phase::run_garbage:
            return act_garbage();
        case Phase::publish_store:
            return act_publish_store();
        case Phase::publish_header:
            return act_publish_header();
        case Phase::lease_create:
            create(lease_name(tip_->round, lease_.k + 1), encode(Lease{writer(), lease_.k + 1, run_.params.lease, store_now()}).bytes);
            return true;
        case Phase::lease_read:
            get(lease_name(tip_->round, lease_.k + 1));
            return true;
        case Phase::wait:
            return act_wait();
        case Phase::gather_headers:
            if (!act_sweep()) gather_done();
            return true;
        case Phase::gather_pause:
            return act_gather_pause();
        case Phase::merge:
            return act_merge();
        case Phase::lone_store:
            return act_lone_store();
        case Phase::commit_create:
            return act_commit_create();
        case Phase::adopt_apply:
            return act_adopt_apply();
        case Phase::join_read:
        case Phase::base_poll:
        case Phase::base_forward:
        case Phase::run_poll:
        case Phase::wait_poll:
        case Phase::gather_poll:
        case Phase::commit_read:
        case Phase::adopt_forward:
            get(commit_name(tip_->number.next()));
            return true;
        case Phase::cut:
        case Phase::exited:
            return false;
    }
    __builtin_unreachable();
}

void Site::answered(Input const& input)
{
    switch (phase_) {
        case Phase::probe_create:
        case Phase::probe_again:
            return answered_probe(input);
        case Phase::run_get:
        case Phase::run_create:
            return answered_run(input);
        case Phase::find_commit:
            return answered_find(input);
        case Phase::find_parent:
            return answered_find_parent(input);
        case Phase::find_round:
            return answered_find_round(input);
        case Phase::find_headers:
        case Phase::join_headers:
        case Phase::run_look:
        case Phase::gather_headers:
            return answered_sweep(input);
        case Phase::genesis_store:
        case Phase::genesis_create:
            return answered_genesis(input);
        case Phase::join_create:
        case Phase::join_read:
            return answered_join(input);
        case Phase::base_poll:
            return answered_base_poll(input);
        case Phase::base_load:
            return answered_base_load(input);
        case Phase::base_forward:
            return answered_base_forward(input);
        case Phase::run_poll:
            return answered_run_poll(input);
        case Phase::run_garbage:
            return answered_garbage(input);
        case Phase::cut:
            return answered_cut(std::get<CutReady>(input));
        case Phase::publish_store:
        case Phase::publish_header:
            return answered_publish(input);
        case Phase::lease_create:
            return answered_lease_create(input);
        case Phase::lease_read:
            return answered_lease_read(input);
        case Phase::wait_poll:
            return answered_wait_poll(input, Phase::wait);
        case Phase::gather_poll:
            return answered_wait_poll(input, Phase::gather_headers);
        case Phase::merge:
            if (auto const* merged = std::get_if<Merged>(&input)) return answered_merge(*merged);
            return answered_merge_failed(input);
        case Phase::lone_store:
            return answered_lone_store(input);
        case Phase::commit_create:
            phase_ = Phase::commit_read;
            return;
        case Phase::commit_read:
            return answered_commit_read(input);
        case Phase::adopt_forward:
            if (auto const* got = std::get_if<Got>(&input)) {
                if (take_next(got->bytes)) go(Phase::adopt_forward);
            } else phase_ = Phase::adopt_apply;
            return;
        case Phase::adopt_apply:
            return answered_adopt(input);
        case Phase::fold:
        case Phase::base_wait:
        case Phase::run:
        case Phase::wait:
        case Phase::gather_pause:
        case Phase::exited:
            throw std::logic_error("a state without questions was answered");
    }
}

void Site::stepped(Stepped const& step)
{
    if (!loaded_ || !tip_->find(*member_)) return;
    if (!trainable().contains(step.blocks))
        throw std::logic_error("trained blocks that were not to be trained: " + step.blocks.to_string());
    since_ += step.blocks;
    ++steps_in_round_;
    measured_blocks_ += static_cast<double>(step.blocks.count());
    measured_seconds_ += step.seconds.count();
    double const memory = 2 * FractionalSeconds(run_.params.round_time).count();
    if (measured_seconds_ <= memory) return;
    measured_blocks_ /= 2;
    measured_seconds_ /= 2;
}

Op Site::ask(Question kind, std::string name)
{
    open_ = OpenQuestion{++last_op_, kind, std::move(name)};
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
    auto const pause = std::min(Millis{10'000}, Millis{50} * (1 << std::min(tries_, 8)));
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
    return Millis{static_cast<std::int64_t>((random_ >> 33) % static_cast<std::uint64_t>(most.count() + 1))};
}

void Site::note(std::string type, json::Object details) { out_.emplace_back(Note{std::move(type), std::move(details)}); }

void Site::finish(ExitCode code, std::optional<Error> error)
{
    if (member_ && tip_) note("left", json::Object{{"member", member_->value}, {"commit", tip_->number.value}});
    out_.emplace_back(Exit{code, std::move(error)});
    phase_ = Phase::exited;
    open_.reset();
}

void Site::refuse(Error error)
{
    constexpr int reads = 3;
    if (++bad_reads_ < reads) return retry(phase_);
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
