// SPDX-License-Identifier: Apache-2.0
// A lost model of a run without running sites, in each type of store.
#include "operate/repair.hpp"

#include <gmock/gmock.h>

#include "base/core/files.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "storage/payload/payload.hpp"
#include "support/each_store.hpp"
#include "support/forwarding_store.hpp"

namespace curtail::operate {
namespace {

using chain::test::SmallRun;
using testing::HasSubstr;
using Outcome = RepairedPart::Outcome;

// Permits no read of one object.
class ReadRefused : public curtail::test::ForwardingStore {
  public:
    ReadRefused(store::ObjectStore& inner, store::ObjectName name)
        : ForwardingStore(inner), name_(std::move(name))
    {
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        if (name.text() == name_.text())
            return fail(ExitCode::permission, "cannot read " + name.text(), "access denied");
        return ForwardingStore::read(name, limit, sink, call);
    }

  private:
    store::ObjectName name_;
};

class RepairOf : public curtail::test::EachStore {
  protected:
    RepairOf() : store_(new_store()), run_(*store_, {"small"}, 40, SmallRun::Models::merged)
    {
        run_.make();
    }
    [[nodiscard]] chain::RunObjects objects() { return {*store_, run_.spec().run}; }
    [[nodiscard]] store::ObjectName object(std::string const& name) const
    {
        return *chain::object_name(run_.spec().run, name);
    }
    [[nodiscard]] std::string bytes_of(protocol::PartRef const& part)
    {
        auto const content = store_->get(object(part.name), Bytes{1 << 20}).value();
        return content ? std::string(store::text_of(*content)) : "";
    }
    void damage(protocol::PartRef const& part)
    {
        auto bytes = bytes_of(part);
        bytes.back() ^= 1;
        ASSERT_TRUE(store_->put(object(part.name), std::string_view(bytes)));
    }
    void lose(protocol::PartRef const& part) { ASSERT_TRUE(store_->remove(object(part.name))); }
    [[nodiscard]] Result<RepairResult> repaired() { return repair(objects(), kept_, elements_); }
    [[nodiscard]] std::vector<Outcome> outcomes()
    {
        auto const result = repaired();
        EXPECT_TRUE(result) << result.error().message();
        std::vector<Outcome> list;
        if (result)
            for (auto const& part : result->parts) list.push_back(part.outcome);
        return list;
    }
    [[nodiscard]] protocol::PartRef const& model() const { return run_.tip().model.weights; }
    [[nodiscard]] protocol::PartRef const& momentum() const { return run_.tip().outer->momentum; }

    curtail::test::TemporaryFolder folder_;
    std::unique_ptr<store::ObjectStore> store_;
    SmallRun run_;
    chain::KeptPayloads kept_{folder_.path() / "kept"};
    std::optional<std::int64_t> elements_;
};

TEST_P(RepairOf, AnIntactRunChangesNothing)
{
    auto const before = bytes_of(model());
    EXPECT_EQ(outcomes(), (std::vector{Outcome::intact, Outcome::intact}));
    EXPECT_EQ(bytes_of(model()), before);
}

TEST_P(RepairOf, ALostModelComesFromTheSitesCopy)
{
    auto const bytes = bytes_of(model());
    ASSERT_TRUE(kept_.keep(model(), std::string_view(bytes)));
    lose(model());
    EXPECT_EQ(outcomes(), (std::vector{Outcome::copied, Outcome::intact}));
    EXPECT_EQ(bytes_of(model()), bytes);
    EXPECT_TRUE(chain::verify_run(objects()));
}

TEST_P(RepairOf, ADamagedModelAndMomentumAreComputedOnceMore)
{
    elements_ = SmallRun::elements;
    run_.make_outer_step();
    for (bool const both : {false, true}) {
        auto const bytes = bytes_of(model());
        damage(model());
        if (both) lose(momentum());
        ASSERT_NE(bytes_of(model()), bytes);
        auto const outcome = both ? Outcome::recomputed : Outcome::intact;
        EXPECT_EQ(outcomes(), (std::vector{Outcome::recomputed, outcome}));
        EXPECT_EQ(bytes_of(model()), bytes);
    }
    EXPECT_TRUE(chain::verify_run(objects()));
}

TEST_P(RepairOf, ADamagedCopyIsNotStored)
{
    auto bytes = bytes_of(model());
    ASSERT_TRUE(kept_.keep(model(), std::string_view(bytes)));
    for (auto const& entry : std::filesystem::directory_iterator(folder_.path() / "kept"))
        ASSERT_TRUE(write_file(entry.path(), "other bytes"));
    damage(model());
    EXPECT_EQ(outcomes().at(0), Outcome::lost);
}

TEST_P(RepairOf, AModelWithoutInputsStaysLost)
{
    elements_ = SmallRun::elements;
    damage(model());
    auto const& before = run_.chain().at(run_.chain().size() - 2);
    lose(before.model.weights);
    EXPECT_EQ(outcomes().at(0), Outcome::lost);
    damage(before.outer->momentum);
    EXPECT_EQ(outcomes().at(0), Outcome::lost) << "a damaged input is no error of the command";
}

// The newest merge made no momentum, and the command computes no other.
TEST_P(RepairOf, AnOlderMomentumNeedsACopy)
{
    elements_ = SmallRun::elements;
    ASSERT_FALSE(run_.tip().outer_step);
    auto const bytes = bytes_of(momentum());
    damage(momentum());
    EXPECT_EQ(outcomes().at(1), Outcome::lost);
    ASSERT_TRUE(kept_.keep(momentum(), std::string_view(bytes)));
    EXPECT_EQ(outcomes().at(1), Outcome::copied);
}

TEST_P(RepairOf, AnErrorAtOnePartStopsNoRepairOfTheOthers)
{
    auto const bytes = bytes_of(momentum());
    ASSERT_TRUE(kept_.keep(momentum(), std::string_view(bytes)));
    lose(momentum());
    ReadRefused refusing(*store_, object(model().name));
    auto const result = repair({refusing, run_.spec().run}, kept_, elements_);
    ASSERT_TRUE(result) << result.error().message();
    ASSERT_EQ(result->parts.size(), 2U);
    EXPECT_EQ(result->parts[0].outcome, Outcome::unread);
    EXPECT_EQ(result->parts[1].outcome, Outcome::copied);
    ASSERT_TRUE(result->error);
    EXPECT_EQ(result->error->code, ExitCode::permission);
    EXPECT_EQ(bytes_of(momentum()), bytes);
}

TEST_P(RepairOf, AMissingRunIsRefused)
{
    auto const result = repair({*store_, {"other"}}, kept_, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ExitCode::no_input);
}

INSTANTIATE_TEST_SUITE_P(Stores, RepairOf, curtail::test::every_store,
                         curtail::test::name_of_store);

// The recomputation takes the form of a file from an earlier file of the same part.
TEST(FilesOfOnePart, DifferOnlyInTheirValues)
{
    payload::Layout const layout{{"test"}, {{"w", {3}}, {"head", {2, 2}}}};
    std::vector<float> const one{1, 2, 3, 4, 5, 6, 7};
    std::vector<float> const other{7, 6, 5, 4, 3, 2, 1};
    auto const bytes_of = [&](std::vector<float> const& values) {
        auto const encoded = payload::encode(layout, "w0", values);
        std::string text;
        auto const pieces = encoded.pieces();
        for (auto const piece : pieces.list()) text += store::text_of(piece);
        return text;
    };
    auto const head = [&](std::string const& text) {
        return text.substr(0, text.size() - one.size() * sizeof(float));
    };
    EXPECT_EQ(head(bytes_of(one)), head(bytes_of(other)));
    EXPECT_NE(bytes_of(one), bytes_of(other));
}

}  // namespace
}  // namespace curtail::operate
