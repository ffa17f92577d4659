// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "protocol/records/fixtures.hpp"
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
            if (auto const* create = std::get_if<Create>(&output))
                inputs.push_back(created(*create));
            if (auto const* make = std::get_if<MakeInitial>(&output))
                inputs.push_back(Stored{make->op, part(make->target.part, make->target.name)});
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
    bool creates_twice{false};
    MonoTime stopped{};  ///< when train_and_leave() has asked the site to stop
    Site site;
};

}  // namespace curtail::protocol::test
