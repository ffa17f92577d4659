// SPDX-License-Identifier: Apache-2.0
// The arithmetic of merges on real payloads in a store.
#include "train/round_executor.hpp"

#include <gtest/gtest.h>

#include "rounds/names.hpp"
#include "store/memory_store.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::train {
namespace {

class Executor : public testing::Test {
  protected:
    rounds::PartRef put(std::string const& part, std::string const& name,
                        std::vector<float> const& values)
    {
        auto const encoded = payload::encode(layout, part, values);
        auto const bytes = encoded.pieces();
        EXPECT_TRUE(objects.put(*store::ObjectName::parse("runs/test/" + name), bytes));
        return {part, name, static_cast<std::int64_t>(bytes.size()), sha256_of(bytes)};
    }
    std::vector<float> values_of(rounds::PartRef const& ref)
    {
        auto const content =
            objects.get(*store::ObjectName::parse("runs/test/" + ref.name), {1 << 20}).value();
        return *payload::decode(layout, ref.part, store::text_of(*content), ref.name).value();
    }
    // An outer step of one delta on top of a model and, if any, its momentum.
    rounds::Merged outer_step(rounds::Op op, rounds::PartRef const& model,
                              std::optional<rounds::PartRef> const& momentum,
                              std::vector<float> const& delta)
    {
        Round const round{static_cast<std::int64_t>(op)};
        MemberId const member{"A.00000011.2"};
        Seq const seq{static_cast<std::int64_t>(op)};
        rounds::Merge merge;
        merge.op = op;
        merge.model = {round, {model}};
        if (momentum) merge.outer = rounds::OuterRef{rounds::Outer::Type::nesterov, {*momentum}};
        merge.include = {
            {member,
             seq,
             1.0F,
             {{put("d0", rounds::delta_name(round, member, seq, "d0"), delta), 1.0, 0}}}};
        merge.outer_step = true;
        merge.eta = 0.5;
        merge.mu = 0.5;
        auto const attempt = static_cast<std::int64_t>(op);
        merge.weights = {{"w0", rounds::model_name(round.next(), member, attempt, "w0")}};
        merge.momentum = {{"m0", rounds::model_name(round.next(), member, attempt, "m0")}};
        executor.carry_out(merge);
        std::vector<rounds::Input> answers;
        EXPECT_TRUE(test::eventually([&] {
            answers = executor.take_answers();
            return !answers.empty();
        }));
        return std::get<rounds::Merged>(answers.at(0));
    }

    std::shared_ptr<store::MemoryStore> const stored{std::make_shared<store::MemoryStore>()};
    store::MemoryStore& objects{*stored};
    payload::Layout layout{{"test"}, {{"w", {2}}}};
    test::TemporaryFolder folder;
    Recorder recorder{folder.path(), "A", "", {}};
    RoundExecutor executor{{stored, layout, {}, {}, recorder, Log([](Level, std::string_view) {})},
                           [] {}};
};

TEST_F(Executor, ASecondOuterStepUsesTheMomentumOfTheFirst)
{
    auto const theta = put("w0", "models/1/A.00000011.0-1/w0.h5", {16, 8});
    auto const first = outer_step(1, theta, std::nullopt, {4, -8});
    EXPECT_EQ(values_of(first.momentum.at(0)), (std::vector<float>{4, -8})) << "m = g";
    EXPECT_EQ(values_of(first.model.at(0)), (std::vector<float>{13, 14}))
        << "theta - 0.5 (g + 0.5 m)";
    auto const second = outer_step(2, first.model.at(0), first.momentum.at(0), {2, 4});
    EXPECT_EQ(values_of(second.momentum.at(0)), (std::vector<float>{4, 0})) << "m' = 0.5 m + g";
    EXPECT_EQ(values_of(second.model.at(0)), (std::vector<float>{11, 12}))
        << "theta - 0.5 (g + 0.5 m')";
}

}  // namespace
}  // namespace curtail::train
