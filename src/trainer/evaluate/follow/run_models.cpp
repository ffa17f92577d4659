// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/follow/run_models.hpp"

#include "protocol/chain/chain.hpp"
#include "protocol/chain/newest.hpp"
#include "protocol/rules/check.hpp"
#include "trainer/evaluate/committed_model.hpp"
#include "trainer/evaluate/follow/plan.hpp"

namespace curtail::follow {

Result<bool> RunModels::update()
{
    if (!tip_) return read_first();
    for (;;) {
        auto next = chain::read_commit(objects_, tip_->number.next());
        if (!next) return tl::unexpected(next.error());
        if (!*next) return true;
        auto& commit = (*next)->commit;
        if (auto bad = protocol::check(*spec_, *tip_, protocol::encode(*tip_).sha256, commit))
            return tl::unexpected(*bad);
        add(std::move(commit));
    }
}

Result<bool> RunModels::read_first()
{
    auto const first = objects_.commit({1});
    if (!first) return tl::unexpected(first.error());
    if (!*first) return false;
    auto spec = evaluate::read_spec(run_, objects_);
    if (!spec) return tl::unexpected(spec.error());
    auto chain = chain::read_chain(objects_, chain::Check::rules);
    if (!chain) return tl::unexpected(chain.error());
    spec_ = std::move(*spec);
    for (auto& commit : *chain) add(std::move(commit));
    return tip_.has_value();
}

void RunModels::add(protocol::Commit commit)
{
    if (makes_model(commit)) {
        // The rest of a record may be large, and a run has many.
        auto& model = models_.emplace_back();
        model.run = commit.run;
        model.number = commit.number;
        model.kind = commit.kind;
        model.round = commit.round;
        model.model = commit.model;
        model.totals = commit.totals;
    }
    kept_.add(commit);
    tip_ = std::move(commit);
}

}  // namespace curtail::follow
