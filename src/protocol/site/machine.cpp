// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/machine.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::protocol::site {
namespace {

template <class... Answer>
bool is_one_of(Input const& input)
{
    return (std::holds_alternative<Answer>(input) || ...);
}

// Each function tells whether an input is a possible answer to a question. They are in the order
// of Question.
constexpr bool (*fits[])(Input const&) = {is_one_of<Got, Missing, Unknown>,
                                          is_one_of<Got, Missing>,
                                          is_one_of<Listed, Unknown>,
                                          is_one_of<Created, Exists, Unknown>,
                                          is_one_of<Stored, Unavailable>,
                                          is_one_of<Merged, Corrupt, Unavailable>,
                                          is_one_of<Restored, Unavailable>,
                                          is_one_of<Loaded, Corrupt, Unavailable>,
                                          is_one_of<Adopted, Corrupt, Unavailable>,
                                          is_one_of<CutReady>};

}  // namespace

void Machine::begin(MonoTime now)
{
    outputs_.clear();
    now_ = std::max(now_, now);
}

bool Machine::accept(Op op, Input const& input)
{
    if (abandoned_.erase(op) > 0) return false;
    if (open_ != op) throw std::logic_error("answer to a question that is not open");
    if (!fits[static_cast<std::size_t>(last_question_)](input))
        throw std::logic_error("answer does not match the open question");
    open_.reset();
    return true;
}

void Machine::abandon()
{
    abandoned_.insert(*open_);
    open_.reset();
}

void Machine::stop(StopRequested const& request)
{
    auto const& earlier = stop_.value_or(request);
    stop_ = {std::min(request.begin_until, earlier.begin_until),
             std::min(request.end, earlier.end)};
    not_before_ = now_;
}

std::optional<MonoTime> Machine::wake() const { return exited() ? std::nullopt : wake_; }

bool Machine::reached(MonoTime t)
{
    if (now_ >= t) return true;
    wake_ = std::min(t, wake_.value_or(t));
    return false;
}

Millis Machine::jitter(Millis most)
{
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return Millis{
        static_cast<std::int64_t>((random_ >> 33) % static_cast<std::uint64_t>(most.count() + 1))};
}

void Machine::go(Phase phase)
{
    switch_to(phase);
    tries_ = 0;
    not_before_ = now_;
}

void Machine::switch_to(Phase phase)
{
    phase_ = phase;
    moved_ = true;
}

void Machine::retry(Phase phase)
{
    switch_to(phase);
    auto const longest = stop_ ? Millis{1'000} : Millis{10'000};
    auto const pause = std::min(longest, Millis{50} * (1 << std::min(tries_, 8)));
    ++tries_;
    not_before_ = now_ + pause / 2 + jitter(pause);
}

Op Machine::ask(Question question)
{
    last_question_ = question;
    open_ = ++last_op_;
    asked_ = now_;
    moved_ = true;
    return last_op_;
}

void Machine::get(std::string name)
{
    auto const op = ask(Question::get);
    send(Get{op, std::move(name)});
}

void Machine::create(std::string name, std::string bytes, bool want_time)
{
    auto const op = ask(Question::create);
    send(Create{op, std::move(name), std::move(bytes), want_time});
}

void Machine::exit(std::optional<Error> error)
{
    auto const code = error ? error->code : ExitCode::ok;
    send(Exit{code, std::move(error)});
    switch_to(Phase::exited);
    open_.reset();
}

}  // namespace curtail::protocol::site
