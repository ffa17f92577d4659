// SPDX-License-Identifier: Apache-2.0
// What a process says about its last contribution when it exits: the work is lost, or the store has
// not answered.
#include <gmock/gmock.h>

#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A process that must leave with work to announce.
class LastHeader : public ScriptedSite {
  protected:
    Input got(Get const& get) override
    {
        if (get.name == name && silent) return Unknown{get.op, "no answer"};
        return ScriptedSite::got(get);
    }
    Input created(Create const& create) override
    {
        if (create.name == name) return answer(create);
        return ScriptedSite::created(create);
    }
    // Trains and leaves. Returns the events about work that may not be in the model.
    std::vector<std::string> leave()
    {
        std::vector<std::string> events;
        auto const outputs = train_and_leave();
        EXPECT_TRUE(site.exited());
        error = exit_error(outputs);
        for (auto const& output : outputs) {
            auto const* note = std::get_if<Note>(&output);
            if (note == nullptr || !note->details.integer_at("tokens")) continue;
            events.push_back(note->type + " " + std::string(note->details.text_at("name")));
        }
        return events;
    }
    std::string const name{header_name(MemberId{"A.00000011.2"}, {1})};
    std::function<Input(Create const&)> answer;  ///< to the create of the header
    bool silent{false};                          ///< the header cannot be read
    Error error{};
};

TEST_F(LastHeader, IsUnansweredIfTheStoreFailsAfterItHasCreatedIt)
{
    silent = true;
    answer = [&](Create const& create) -> Input {
        (void)ScriptedSite::created(create);
        return Unknown{create.op, "the key has expired", ExitCode::permission};
    };
    EXPECT_THAT(leave(), ElementsAre("unanswered " + name));
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("no answer from the store about " + name),
                                       HasSubstr("the key has expired")));
}

TEST_F(LastHeader, IsUnansweredIfItCannotBeReadBack)
{
    silent = true;
    answer = [&](Create const& create) -> Input {
        (void)ScriptedSite::created(create);
        return Exists{create.op};
    };
    EXPECT_THAT(leave(), ElementsAre("unanswered " + name));
}

TEST_F(LastHeader, IsUnansweredWhileTheStoreWorks)
{
    answer = [](Create const&) -> Input { return Tick{}; };
    EXPECT_THAT(leave(), ElementsAre("unanswered " + name));
}

TEST_F(LastHeader, IsLostIfTheStoreHasCertainlyNotCreatedIt)
{
    answer = [](Create const& create) -> Input {
        return Unknown{create.op, "no space left", ExitCode::io, true};
    };
    EXPECT_THAT(leave(), ElementsAre("lost "));
    EXPECT_THAT(error.message(), AllOf(HasSubstr("neither as a commit nor as a contribution"),
                                       HasSubstr("(no space left)"), HasSubstr("has space")));
}

TEST_F(LastHeader, IsLostIfAForeignObjectHasItsName)
{
    answer = [&](Create const& create) -> Input {
        if (objects.contains(name)) return Exists{create.op};
        auto foreign = decode_header(create.bytes, name).value();
        foreign.steps += 1;
        objects[name] = encode(foreign).bytes;
        return Unknown{create.op, "no answer"};
    };
    EXPECT_THAT(leave(), ElementsAre("lost "));
    EXPECT_EQ(error.code, ExitCode::protocol);
}

TEST_F(LastHeader, IsNeitherIfItIsInTheStore)
{
    answer = [&](Create const& create) { return ScriptedSite::created(create); };
    EXPECT_THAT(leave(), IsEmpty());
    EXPECT_EQ(error.code, ExitCode::ok);
}

}  // namespace
}  // namespace curtail::protocol::test
