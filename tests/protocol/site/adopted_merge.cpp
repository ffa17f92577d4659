// SPDX-License-Identifier: Apache-2.0
// A member compares a merge that it adopts with the headers that the merge decides.
#include <gmock/gmock.h>

#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

using testing::HasSubstr;

// C merges a contribution of B. A, which has not trained yet, adopts the merge.
class AdoptedMerge : public ScriptedSiteBesideB {
  protected:
    AdoptedMerge() : ScriptedSiteBesideB(small_run(2000, {{"A"}, {"B"}, {"C"}})) {}
    void SetUp() override
    {
        (void)serve(Tick{});
        Intents intents;
        intents.admit = Admission{{{"B"}, 0xabcdef01}, 1'000'000};
        (void)append({}, intents, from_unix_ms(1'700'000'002'000));
        (void)append({by_b()}, {}, from_unix_ms(1'700'000'003'000));
    }
    // Lets `change` forge the merge. Returns the error with which A exits.
    template <class Change>
    Error adopt(Change change)
    {
        auto forged = newest();
        change(forged);
        objects[commit_name(forged.number)] = encode(forged).bytes;
        return exit_error(serve(Tick{}));
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* load = std::get_if<LoadModel>(&output)) return Loaded{load->op};
        adopts = adopts || std::holds_alternative<Adopt>(output);
        return std::nullopt;
    }

    bool adopts{false};
};

TEST_F(AdoptedMerge, IsAdoptedIfItStatesTheWorkOfTheHeaders)
{
    EXPECT_EQ(adopt([](Commit&) {}).message(), "no error");
    EXPECT_TRUE(adopts);
}

TEST_F(AdoptedMerge, EndsTheProcessIfItStatesOtherSteps)
{
    auto const error = adopt([](Commit& c) {
        ++c.decided[0].steps;
        ++c.totals.steps;
    });
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("another number of steps than contrib/"));
    EXPECT_THAT(error.message(), HasSubstr("curtail-store fork"));
    EXPECT_FALSE(adopts);
}

TEST_F(AdoptedMerge, EndsTheProcessIfItStatesAnotherNorm)
{
    auto const error = adopt([](Commit& c) { c.decided[0].norm = c.norms.back() = 2; });
    EXPECT_THAT(error.message(), HasSubstr("another norm than contrib/"));
}

TEST_F(AdoptedMerge, EndsTheProcessIfItNamesAnotherHeader)
{
    auto const error = adopt([](Commit& c) { c.decided[0].header = sha256("another header"); });
    EXPECT_THAT(error.message(), HasSubstr("another digest than contrib/"));
}

TEST_F(AdoptedMerge, IsAdoptedIfTheStoreHasLostTheHeader)
{
    objects.erase(header_name(b, {1}));
    EXPECT_EQ(adopt([](Commit&) {}).message(), "no error");
    EXPECT_TRUE(adopts);
}

}  // namespace
}  // namespace curtail::protocol::test
