// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "protocol/records/fixtures.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/next.hpp"
#include "protocol/site/site.hpp"

namespace curtail::protocol::test {

/// One site, whose inputs come from the test. The store is a map of objects.
class ScriptedSite : public testing::Test {
  protected:
    explicit ScriptedSite(RunSpec spec = small_run())
        : run(std::move(spec)), site({{{"A"}, 0x11}, run, 0})
    {
    }
    /// Gives the site `input`, then answers what the site asks the store, and moves the clock to
    /// the site's next timer. Ends when the site exits or needs an answer from the test. Returns
    /// the site's last outputs.
    std::vector<Output> serve(Input input)
    {
        std::deque<Input> inputs{std::move(input)};
        for (int i = 0;; ++i) {
            auto outputs = give_first(inputs);
            if (site.exited()) return outputs;
            if (!inputs.empty()) continue;
            if (std::any_of(outputs.begin(), outputs.end(), asks_for_work) || !site.wake() ||
                i > 10'000)
                return outputs;
            now = std::max(now, *site.wake());
            inputs.push_back(Tick{});
        }
    }
    /// Gives the site the first of `inputs`. Appends the answers to its questions. Returns its
    /// outputs.
    std::vector<Output> give_first(std::deque<Input>& inputs)
    {
        now += Millis{10};
        auto outputs = site.on(now, inputs.front());
        inputs.pop_front();
        for (auto const& output : outputs) {
            if (auto const* get = std::get_if<Get>(&output)) inputs.push_back(got(*get));
            if (auto const* list = std::get_if<List>(&output)) inputs.push_back(listed(*list));
            if (auto const* copy = std::get_if<GetCopy>(&output)) inputs.push_back(copied(*copy));
            if (auto const* keep = std::get_if<KeepCommit>(&output))
                copies[commit_name(keep->number)] = keep->bytes;
            if (auto const* create = std::get_if<Create>(&output))
                inputs.push_back(created(*create));
            if (auto const* make = std::get_if<MakeInitial>(&output))
                inputs.push_back(Stored{make->op, part(make->place.part, make->place.name)});
            if (auto const worked = work(output)) inputs.push_back(*worked);
        }
        return outputs;
    }
    /// Joins, trains the blocks that the site holds, and leaves with a cut whose values are not
    /// finite. Returns the site's last outputs.
    std::vector<Output> train_and_leave()
    {
        auto outputs = serve(Tick{});
        outputs = site.on(now, Loaded{std::get<LoadModel>(outputs.back()).op});
        auto const held = std::get<Train>(outputs.back()).blocks;
        outputs = site.on(now, StopRequested{now + Seconds{60}, now + Seconds{60}});
        auto const cut = std::get<Cut>(outputs.back());
        (void)site.on(now, Stepped{held, FractionalSeconds{1}});
        stopped = now;
        return serve(CutReady{cut.op, 1.0, 1});
    }
    /// Returns true for a question about payloads or to the trainer.
    static bool asks_for_work(Output const& output)
    {
        return std::holds_alternative<LoadModel>(output) ||
               std::holds_alternative<StoreModel>(output) ||
               std::holds_alternative<StoreDelta>(output) ||
               std::holds_alternative<Merge>(output) || std::holds_alternative<Cut>(output);
    }
    /// Answers an output as the trainer or a merge would. If the result is empty, the test itself
    /// must answer.
    virtual std::optional<Input> work(Output const&) { return std::nullopt; }
    virtual Input got(Get const& get)
    {
        auto const it = objects.find(get.name);
        if (it == objects.end()) return Missing{get.op};
        return Got{get.op, it->second};
    }
    [[nodiscard]] Input listed(List const& list) const
    {
        Ranges numbers;
        for (auto const& [name, bytes] : objects) {
            std::int64_t number = 0;
            if (std::sscanf(name.c_str(), "commits/%ld.json", &number) == 1)
                if (number > list.after.value) numbers += Ranges::between(number, number + 1);
        }
        return Listed{list.op, list.after, numbers};
    }
    [[nodiscard]] Input copied(GetCopy const& get) const
    {
        auto const it = copies.find(get.name);
        bool const found = it != copies.end() && sha256(it->second) == get.sha256;
        if (!found) return Missing{get.op};
        return Got{get.op, it->second};
    }
    virtual Input created(Create const& create)
    {
        if (!objects.emplace(create.name, create.bytes).second && !creates_twice)
            return Exists{create.op};
        return Created{create.op, from_unix_ms(1'700'000'000'000)};
    }
    static Error exit_error(std::vector<Output> const& outputs)
    {
        auto const* exit = outputs.empty() ? nullptr : std::get_if<Exit>(&outputs.back());
        return exit != nullptr && exit->error ? *exit->error
                                              : Error{ExitCode::ok, "no error", "", ""};
    }
    RunSpec run;
    MonoTime now{Seconds{1}};
    std::map<std::string, std::string> objects;
    std::map<std::string, std::string> copies;  ///< of commits, on the site's machine
    bool creates_twice{false};
    MonoTime stopped{};  ///< when train_and_leave() has asked the site to stop
    Site site;
};

/// A ScriptedSite A beside a member B, whose contributions the test makes, and C, which commits.
class ScriptedSiteBesideB : public ScriptedSite {
  protected:
    using ScriptedSite::ScriptedSite;

    [[nodiscard]] Commit commit(CommitNumber number) const
    {
        return *decode_commit(objects.at(commit_name(number)), commit_name(number));
    }
    [[nodiscard]] Commit newest() const
    {
        CommitNumber n{1};
        while (objects.contains(commit_name(n.next()))) n = n.next();
        return commit(n);
    }
    /// Adds a commit of C, made `at` this time, to the chain.
    Commit append(std::vector<KnownContribution> const& known, Intents const& intents, Time at)
    {
        auto const parent = newest();
        CommitWriter const by{member("C", 0), parent.number.value};
        auto made = *next(run, parent, encode(parent).sha256, by, at, known, intents);
        if (made.kind == Commit::Kind::merge)
            made.model = {made.round,
                          part("w0", model_name(made.round, by.member, by.attempt, "w0"))};
        objects[commit_name(made.number)] = encode(made).bytes;
        return made;
    }
    /// Adds the next contribution of B, two blocks, to the store.
    KnownContribution by_b()
    {
        auto const tip = newest();
        Header h;
        h.run = run.run;
        h.member = b;
        h.seq = tip.find(b)->seq.next();
        h.base_round = tip.round;
        h.ranges = tip.find(b)->held.lowest(2);
        h.tokens = h.ranges.count() * run.params.block_tokens;
        h.steps = 1;
        h.delta = {part("d0", delta_name(h.base_round, b, h.seq)), 1.0};
        auto const encoded = encode(h);
        objects[header_name(b, h.seq)] = encoded.bytes;
        return {h, encoded.sha256, {}};
    }

    MemberId const a{"A.00000011.2"};
    MemberId const b{member("B", 3)};
};

}  // namespace curtail::protocol::test
