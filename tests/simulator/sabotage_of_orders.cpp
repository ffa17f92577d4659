// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "protocol/rules/clipping.hpp"
#include "protocol/rules/refusal.hpp"
#include "protocol/site/notes.hpp"
#include "simulator/sabotage.hpp"

namespace curtail::protocol::simulator {
namespace {

// ---- faults without a memory

void forget_undecided(Site const& site, std::vector<Output>& outputs)
{
    auto const status = site.status();
    each<Adopt>(outputs, [&](Adopt& adopt) {
        auto seq = site.tip()->find(*status.member)->seq;
        for (std::size_t i = 0; i < status.undecided.size(); ++i)
            adopt.dropped.push_back(seq = seq.next());
    });
}

void keep_refused_work(Site const& site, std::vector<Output>& outputs)
{
    auto const member = site.status().member;
    each<Adopt>(outputs, [&](Adopt& adopt) {
        for (auto const& d : site.tip()->decided)
            if (d.refused && d.member == member) std::erase(adopt.dropped, d.seq);
    });
}

void merge_unweighted(Site const&, std::vector<Output>& outputs)
{
    each<Merge>(outputs, [](Merge& merge) {
        for (auto& c : merge.include) c.scale = 1.0F / static_cast<float>(merge.include.size());
    });
}

void merge_without_momentum(Site const&, std::vector<Output>& outputs)
{
    each<Merge>(outputs, [](Merge& merge) { merge.outer.reset(); });
}

void write_no_status(Site const&, std::vector<Output>& outputs)
{
    std::erase_if(outputs, [](Output const& output) {
        auto const* o = std::get_if<Overwrite>(&output);
        return o != nullptr && o->name.starts_with("status/");
    });
}

void lose_in_silence(Site const&, std::vector<Output>& outputs)
{
    std::erase_if(outputs, [](Output const& output) {
        auto const* note = std::get_if<Note>(&output);
        return note != nullptr && is_loss(*note);
    });
}

class OrderSaboteur final : public Saboteur {
  public:
    using Change = void (*)(Site const&, std::vector<Output>&);
    explicit OrderSaboteur(Change change) : change_(change) {}
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto outputs = site.on(now, input);
        change_(site, outputs);
        return outputs;
    }

  private:
    Change change_;
};

// ---- faults with a memory

class ExtendCut final : public Saboteur {
  public:
    explicit ExtendCut(Tokens block_tokens) : block_tokens_(block_tokens) {}
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto outputs = site.on(now, input);
        each<Create>(outputs, [&](Create& create) {
            if (!is_header_name(create.name) || sent_.insert(create.name).second) return;
            auto header = *decode_header(create.bytes, create.name);
            auto const more = site.status().since.lowest(1);
            if (!header.delta || more.empty()) return;
            header.ranges += more;
            header.tokens += block_tokens_;
            create.bytes = encode(header).bytes;
        });
        return outputs;
    }

  private:
    Tokens block_tokens_;
    std::set<std::string> sent_;
};

class DeleteAfterTimeout final : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        bool const lost = std::holds_alternative<Unknown>(input) && op_of(input) == sent_.op;
        auto const model = lost ? model_of(sent_) : std::nullopt;
        auto outputs = site.on(now, input);
        each<Create>(outputs, [&](Create const& create) { sent_ = create; });
        if (model) outputs.emplace_back(Delete{model->name});
        return outputs;
    }

  private:
    // The model that a merge commit has made.
    static std::optional<PartRef> model_of(Create const& create)
    {
        if (!is_commit_name(create.name)) return std::nullopt;
        auto const commit = decode_commit(create.bytes, create.name);
        if (commit->kind != Commit::Kind::merge) return std::nullopt;
        return commit->model.weights;
    }
    Create sent_;
};

class MergeUnclipped final : public Saboteur {
  public:
    explicit MergeUnclipped(SimStore const& store) : store_(store) {}
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto outputs = site.on(now, input);
        each<Merge>(outputs, [&](Merge& merge) {
            std::vector<ContributionDecision> decided;
            for (auto const& c : merge.include) decided.push_back(decision_on(c));
            auto const factors = clip_factors(site.tip()->norms, decided);
            for (std::size_t i = 0; i < factors.size(); ++i)
                merge.include[i].scale = static_cast<float>(merge.include[i].scale / factors[i]);
        });
        return outputs;
    }

  private:
    [[nodiscard]] ContributionDecision decision_on(Merge::Source const& c) const
    {
        auto const name = header_name(c.member, c.seq);
        auto const header = store_.decoder()->header(store_.get(name).value(), name).value();
        ContributionDecision d;
        d.ranges = header.ranges;
        d.norm = delta_norm(header);
        return d;
    }
    SimStore const& store_;
};

class ReuseMergeAfterAmendment final : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto outputs = site.on(now, input);
        each<Merge>(outputs, [this](Merge& merge) {
            if (merge.outer_step && is_same_but_for_outer(merge)) {
                merge.outer = last_.outer;
                merge.eta = last_.eta;
                merge.mu = last_.mu;
            }
            last_ = merge;
        });
        return outputs;
    }

  private:
    [[nodiscard]] bool is_same_but_for_outer(Merge const& merge) const
    {
        return last_.outer_step && merge.model == last_.model &&
               std::equal(merge.include.begin(), merge.include.end(), last_.include.begin(),
                          last_.include.end(), [](auto const& a, auto const& b) {
                              return a.member == b.member && a.seq == b.seq && a.scale == b.scale;
                          });
    }
    Merge last_;
};

/// Orders a leaving site to train when three reads in a row have no answer.
class TrainAfterLeaving final : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        if (std::holds_alternative<Unknown>(input)) ++failures_;
        else if (op_of(input) != 0) failures_ = 0;
        stopping_ = stopping_ || std::holds_alternative<StopRequested>(input);
        auto outputs = site.on(now, input);
        auto const status = site.status();
        bool const leaves = status.leaving && status.member && !stopping_ && !site.exited();
        auto const* member = leaves ? site.tip()->find(*status.member) : nullptr;
        constexpr int failures_of_an_outage = 3;
        if (member != nullptr && failures_ >= failures_of_an_outage)
            outputs.emplace_back(Train{member->held, site.tip()->totals.tokens, {}});
        return outputs;
    }

  private:
    int failures_{0};
    bool stopping_{false};
};

/// Asks the simulation for an object that does not exist instead of a question of the site. Gives
/// the site an answer of its own.
class Withholding : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        bool const withheld = answer_ && op_of(input) == op_of(*answer_);
        auto outputs = site.on(now, withheld ? *std::exchange(answer_, {}) : input);
        for (auto& output : outputs)
            if (auto answer = refuse(output)) {
                output = Get{op_of(*answer), "withheld"};
                answer_ = std::move(answer);
            }
        return outputs;
    }

  private:
    /// Returns the answer to a question that shall not be asked.
    [[nodiscard]] virtual std::optional<Input> refuse(Output const& output) const = 0;
    std::optional<Input> answer_;
};

class NeverSuspect final : public Withholding {
    [[nodiscard]] std::optional<Input> refuse(Output const& output) const override
    {
        auto const* create = std::get_if<Create>(&output);
        if (create == nullptr || !is_commit_name(create->name)) return std::nullopt;
        auto const removed = decode_commit(create->bytes, create->name)->removed;
        bool const suspects =
            std::any_of(removed.begin(), removed.end(),
                        [](RemovedMember const& r) { return r.reason == Removal::silent; });
        return suspects ? std::optional<Input>(Unknown{create->op, "withheld"}) : std::nullopt;
    }
};

class NeverRestoreModel final : public Withholding {
    [[nodiscard]] std::optional<Input> refuse(Output const& output) const override
    {
        auto const* restore = std::get_if<Restore>(&output);
        if (restore == nullptr || restore->recompute) return std::nullopt;
        Restored restored{restore->op, {}, {}};
        for (auto const& part : restore->parts) restored.damaged.push_back(part.name);
        return restored;
    }
};

class AnnounceLate final : public Withholding {
  public:
    explicit AnnounceLate(SiteId first) : first_(std::move(first)) {}
    void configure(SiteConfig& config) override { delays_ = config.process.site != first_; }
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        now_ = now;
        if (std::holds_alternative<CutReady>(input)) cut_ = now;
        return Withholding::on(site, now, input);
    }

  private:
    [[nodiscard]] std::optional<Input> refuse(Output const& output) const override
    {
        constexpr Seconds delay{20};
        auto const* create = std::get_if<Create>(&output);
        bool const early = delays_ && now_ - cut_ < delay;
        if (create == nullptr || !early || !is_header_name(create->name)) return std::nullopt;
        return Unknown{create->op, "withheld"};
    }
    SiteId first_;
    bool delays_{};
    MonoTime now_{};
    MonoTime cut_{};
};

/// Shows the site each status as it was when the site first looked.
class FoldAtFirstLook final : public Withholding {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        bool const looked = asked_.name.starts_with("status/") && op_of(input) == asked_.op;
        if (looked && !std::holds_alternative<Unknown>(input)) {
            auto const* got = std::get_if<Got>(&input);
            seen_[asked_.name] = got == nullptr ? std::nullopt : std::optional(got->bytes);
        }
        auto outputs = Withholding::on(site, now, input);
        each<Get>(outputs, [this](Get const& get) { asked_ = get; });
        return outputs;
    }

  private:
    [[nodiscard]] std::optional<Input> refuse(Output const& output) const override
    {
        auto const* get = std::get_if<Get>(&output);
        auto const seen = get == nullptr ? seen_.end() : seen_.find(get->name);
        if (seen == seen_.end()) return std::nullopt;
        return seen->second ? Input(Got{get->op, *seen->second}) : Input(Missing{get->op});
    }
    Get asked_;
    std::map<std::string, std::optional<std::string>> seen_;  ///< empty: there was no status
};

}  // namespace

std::unique_ptr<Saboteur> saboteur_of_orders(Fault fault, RunSpec const& run, SimStore& store)
{
    switch (fault) {
        case Fault::forget_undecided:
            return std::make_unique<OrderSaboteur>(forget_undecided);
        case Fault::keep_refused_work:
            return std::make_unique<OrderSaboteur>(keep_refused_work);
        case Fault::merge_unweighted:
            return std::make_unique<OrderSaboteur>(merge_unweighted);
        case Fault::merge_without_momentum:
            return std::make_unique<OrderSaboteur>(merge_without_momentum);
        case Fault::write_no_status:
            return std::make_unique<OrderSaboteur>(write_no_status);
        case Fault::lose_in_silence:
            return std::make_unique<OrderSaboteur>(lose_in_silence);
        case Fault::extend_cut:
            return std::make_unique<ExtendCut>(run.params.block_tokens);
        case Fault::delete_after_timeout:
            return std::make_unique<DeleteAfterTimeout>();
        case Fault::reuse_merge_after_amendment:
            return std::make_unique<ReuseMergeAfterAmendment>();
        case Fault::merge_unclipped:
            return std::make_unique<MergeUnclipped>(store);
        case Fault::train_after_leaving:
            return std::make_unique<TrainAfterLeaving>();
        case Fault::never_suspect:
            return std::make_unique<NeverSuspect>();
        case Fault::announce_late:
            return std::make_unique<AnnounceLate>(run.sites.front());
        case Fault::fold_at_first_look:
            return std::make_unique<FoldAtFirstLook>();
        case Fault::never_restore_model:
            return std::make_unique<NeverRestoreModel>();
        default:
            return nullptr;
    }
}

}  // namespace curtail::protocol::simulator
