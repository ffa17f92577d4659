// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>

#include "protocol/records/terms.hpp"
#include "protocol/rules/refusal.hpp"
#include "simulator/sabotage.hpp"

namespace curtail::protocol::simulator {
namespace {

/// Changes the answers to reads of headers.
class HeaderSaboteur : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto changed = input;
        if (op_of(input) == asked_.op && is_header_name(asked_.name))
            change(site, asked_.name, changed);
        auto outputs = site.on(now, changed);
        each<Get>(outputs, [this](Get const& get) { asked_ = get; });
        each<Create>(outputs, [this](Create const& create) { sent(create); });
        return outputs;
    }

  private:
    /// Takes an object that the site creates.
    virtual void sent(Create const&) {}
    /// Changes the answer to a read of the header `name`.
    virtual void change(Site const& site, std::string const& name, Input& answer) = 0;
    Get asked_;
};

[[nodiscard]] bool is_own(Site const& site, std::string const& name)
{
    auto const member = site.status().member;
    return member && owner_of(name) == member;
}

class SkipStale final : public HeaderSaboteur {
  public:
    explicit SkipStale(RunSpec const& run) : run_(run) {}

  private:
    void change(Site const& site, std::string const& name, Input& answer) override
    {
        auto const* got = std::get_if<Got>(&answer);
        auto const header = got == nullptr ? std::nullopt : decoded(*got, name);
        auto const* member = header ? site.tip()->find(header->member) : nullptr;
        if (member == nullptr) return;
        auto const reason =
            refusal(in_force(run_, *site.tip()), *site.tip(), member->held, *header);
        if (reason == Refusal::stale) answer = Missing{got->op};
    }
    static std::optional<Header> decoded(Got const& got, std::string const& name)
    {
        auto const header = decode_header(got.bytes, name);
        return header ? std::optional(*header) : std::nullopt;
    }
    RunSpec const& run_;
};

class RemoveUnreadableAtOnce final : public HeaderSaboteur {
    void change(Site const& site, std::string const& name, Input& answer) override
    {
        if (std::holds_alternative<Unknown>(answer) && !is_own(site, name))
            answer = Missing{op_of(answer)};
    }
};

/// Shows the site its own headers as it has sent them, whatever the store has.
class TrustOwnHeaders : public HeaderSaboteur {
    void sent(Create const& create) override
    {
        if (is_header_name(create.name)) sent_.try_emplace(create.name, create.bytes);
    }
    void change(Site const&, std::string const& name, Input& answer) override
    {
        auto const own = sent_.find(name);
        if (own != sent_.end()) answer = Got{op_of(answer), own->second};
    }
    std::map<std::string, std::string> sent_;
};

class ReuseIdentity final : public TrustOwnHeaders {
  public:
    void configure(SiteConfig& config) override { config.process.nonce = 1; }
};

class TransferAfterDeadline final : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto const* stop = std::get_if<StopRequested>(&input);
        if (stop == nullptr) return site.on(now, input);
        return site.on(now, StopRequested{stop->end, stop->end});
    }
};

void append(std::vector<Output>& outputs, std::vector<Output> more)
{
    std::move(more.begin(), more.end(), std::back_inserter(outputs));
}

/// Hides suspensions: the site receives Ticks from the time in which it was suspended.
class CountUnansweredTime final : public Saboteur {
  public:
    explicit CountUnansweredTime(Millis skew) : skew_(skew) {}
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        std::vector<Output> outputs;
        for (; last_ != MonoTime{} && now - last_ > skew_; last_ += skew_)
            append(outputs, site.on(last_ + skew_, Tick{}));
        last_ = now;
        append(outputs, site.on(now, input));
        return outputs;
    }

  private:
    Millis skew_;
    MonoTime last_{};
};

/// Stops the clock of a member while it trains. Writes the status that is then due.
class TrainBeyondRound final : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto const status = site.status();
        bool const trains = status_ && status.state == ProtocolState::run &&
                            status.waiting_for == "the end of the round" &&
                            !std::holds_alternative<StopRequested>(input) && op_of(input) == 0;
        if (!trains) now_ = now;
        auto outputs = site.on(now_, input);
        each<Overwrite>(outputs, [this](Overwrite const& overwrite) {
            if (overwrite.name.starts_with("status/")) status_ = overwrite;
        });
        if (trains) outputs.emplace_back(*status_);
        return outputs;
    }

  private:
    MonoTime now_{};
    std::optional<Overwrite> status_;
};

/// Takes each failure of the store for a lasting one.
class ExitInOutage final : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto changed = input;
        if (auto* unknown = std::get_if<Unknown>(&changed)) unknown->code = ExitCode::unavailable;
        return site.on(now, changed);
    }
};

class TakeAnswersTwice final : public Saboteur {
  public:
    std::vector<Output> on(Site& site, MonoTime now, Input const& input) override
    {
        auto outputs = site.on(now, input);
        if (op_of(input) != 0) append(outputs, site.on(now, input));
        return outputs;
    }
};

/// Reads that a member leaves already in the contribution before its last one.
class EarlyLeavers final : public RecordDecoder {
  public:
    explicit EarlyLeavers(SimStore const& store) : store_(store) {}
    [[nodiscard]] Result<Commit> commit(std::string const& bytes,
                                        std::string const& name) const override
    {
        return store_.decoder()->commit(bytes, name);
    }
    [[nodiscard]] Result<Header> header(std::string const& bytes,
                                        std::string const& name) const override
    {
        auto header = store_.decoder()->header(bytes, name);
        if (!header) return header;
        auto const next = header_name(header->member, header->seq.next());
        auto const next_bytes = store_.get(next);
        auto const last = next_bytes ? store_.decoder()->header(*next_bytes, next) : header;
        if (last && last->leaving) header->leaving = true;
        return header;
    }

  private:
    SimStore const& store_;
};

class RemoveLeaverEarly final : public Saboteur {
  public:
    explicit RemoveLeaverEarly(SimStore const& store)
        : decoder_(std::make_shared<EarlyLeavers>(store))
    {
    }
    void configure(SiteConfig& config) override { config.decoder = decoder_; }

  private:
    std::shared_ptr<RecordDecoder const> decoder_;
};

}  // namespace

std::unique_ptr<Saboteur> saboteur_of_inputs(Fault fault, RunSpec const& run, SimStore& store)
{
    switch (fault) {
        case Fault::skip_stale:
            return std::make_unique<SkipStale>(run);
        case Fault::remove_unreadable_at_once:
            return std::make_unique<RemoveUnreadableAtOnce>();
        case Fault::never_restore_header:
            return std::make_unique<TrustOwnHeaders>();
        case Fault::reuse_identity:
            return std::make_unique<ReuseIdentity>();
        case Fault::transfer_after_deadline:
            return std::make_unique<TransferAfterDeadline>();
        case Fault::count_unanswered_time:
            return std::make_unique<CountUnansweredTime>(run.params.skew);
        case Fault::train_beyond_round:
            return std::make_unique<TrainBeyondRound>();
        case Fault::exit_in_outage:
            return std::make_unique<ExitInOutage>();
        case Fault::take_answers_twice:
            return std::make_unique<TakeAnswersTwice>();
        case Fault::remove_leaver_early:
            return std::make_unique<RemoveLeaverEarly>(store);
        default:
            return nullptr;
    }
}

}  // namespace curtail::protocol::simulator
