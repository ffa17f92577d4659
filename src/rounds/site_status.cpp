#include "rounds/site.hpp"

namespace curtail::rounds {

char const* to_text(State state)
{
    static constexpr char const* words[] = {"probe", "find", "genesis", "fold",  "join", "base",   "run",   "cut",   "publish",
                                            "lease", "wait", "gather",  "merge", "lone", "commit", "adopt", "exited"};
    return words[static_cast<int>(state)];
}

namespace {

struct Words {
    State state;
    char const* waiting_for;
};

}  // namespace

Status Site::status() const
{
    auto const words = [&]() -> Words {
        switch (phase_) {
            case Phase::probe_create:
                return {State::probe, "the store to create an object"};
            case Phase::probe_again:
                return {State::probe, "the store to refuse a second create of the same name"};
            case Phase::run_get:
            case Phase::run_create:
                return {State::probe, "the run's record"};
            case Phase::find_commit:
            case Phase::find_parent:
            case Phase::find_round:
                return {State::find, "the newest commit"};
            case Phase::find_headers:
                return {State::find, "pending contributions of members that may be gone"};
            case Phase::genesis_store:
                return {State::genesis, "the initial weights to be stored"};
            case Phase::genesis_create:
                return {State::genesis, "commit 1"};
            case Phase::fold:
                return {State::fold, "nothing"};
            case Phase::join_headers:
                return {State::join, "a contribution that this site's earlier life may have left"};
            case Phase::join_create:
            case Phase::join_read:
                return {State::join, "the commit that admits this process"};
            case Phase::base_wait:
            case Phase::base_poll:
                return {State::base, "the commit of the member that trained alone, for a common base"};
            case Phase::base_load:
            case Phase::base_forward:
                return {State::base, "the model to be loaded"};
            case Phase::run:
            case Phase::run_poll:
            case Phase::run_garbage:
                return {State::run, trainable().empty() ? "blocks to train" : "the end of the round"};
            case Phase::run_look:
                return {State::run, "contributions of the others, as nothing is left to train"};
            case Phase::cut:
                return {State::cut, "the trainer to finish its step"};
            case Phase::publish_store:
                return {State::publish, "the contribution's payload to be stored"};
            case Phase::publish_header:
                return {State::publish, "the contribution's header to be stored"};
            case Phase::lease_create:
            case Phase::lease_read:
                return {State::lease, "the lease to merge"};
            case Phase::wait:
            case Phase::wait_poll:
                return {State::wait, "the holder of the lease to merge"};
            case Phase::gather_headers:
            case Phase::gather_pause:
            case Phase::gather_poll:
                return {State::gather, "contributions of the others"};
            case Phase::merge:
                return {State::merge, "the merge of the contributions"};
            case Phase::lone_store:
                return {State::lone, "own weights to be stored"};
            case Phase::commit_create:
            case Phase::commit_read:
                return {State::commit, "the next commit"};
            case Phase::adopt_forward:
            case Phase::adopt_apply:
                return {State::adopt, "the newest model to be taken over"};
            case Phase::exited:
                return {State::exited, "nothing"};
        }
        __builtin_unreachable();
    };
    Status s;
    auto const known = tip_ && member_ && tip_->find(*member_) != nullptr;
    auto const running = phase_ == Phase::run || phase_ == Phase::run_poll || phase_ == Phase::run_garbage;
    auto const w = running && !known ? Words{State::run, "the newest commit"} : words();
    bool const folds = mode_ == Mode::fold && (w.state == State::merge || w.state == State::commit);
    s.state = folds ? State::fold : w.state;
    s.waiting_for = w.waiting_for;
    s.member = member_;
    s.base = base_;
    s.since = since_;
    s.leaving = leaving_;
    for (auto const& own : undecided_) s.undecided.push_back(own.header.ranges);
    if (!tip_) return s;
    s.tip = tip_->number;
    s.round = tip_->round;
    for (auto const& m : tip_->members) s.members.push_back(m.id);
    if (known) s.held = tip_->find(*member_)->held;
    return s;
}

}  // namespace curtail::rounds
