// SPDX-License-Identifier: Apache-2.0
// The arithmetic of merges on real payloads in a store.
#include "trainer/rounds/merge_work.hpp"

#include <limits>
#include <utility>

#include "support/forwarding_store.hpp"
#include "trainer/rounds/executor_fixture.hpp"

namespace curtail::trainer {
namespace {

TEST_F(Executor, ASecondOuterStepUsesTheMomentumOfTheFirst)
{
    auto const theta = put("w0", "models/1/A.00000011.0-1/w0.h5", {16, 8});
    auto const first = outer_step(1, theta, std::nullopt, {4, -8});
    EXPECT_EQ(values_of(first.momentum.value()), (std::vector<float>{4, -8})) << "m = g";
    EXPECT_EQ(values_of(first.weights.value()), (std::vector<float>{13, 14}))
        << "theta - 0.5 (g + 0.5 m)";
    auto const second = outer_step(2, first.weights.value(), first.momentum.value(), {2, 4});
    EXPECT_EQ(values_of(second.momentum.value()), (std::vector<float>{4, 0})) << "m' = 0.5 m + g";
    EXPECT_EQ(values_of(second.weights.value()), (std::vector<float>{11, 12}))
        << "theta - 0.5 (g + 0.5 m')";
}

TEST_F(Executor, RefusesADeltaWhoseNormIsNotTheAnnouncedOne)
{
    auto wrong = contribution("B.00000012.3", 1, 0.5F, {3, 4});
    wrong.delta.sumsq = 25.1;
    auto const merged =
        answer(average({16, 8}, {contribution("A.00000011.2", 1, 0.5F, {1, 1}), wrong}));
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "B.00000012.3");
    EXPECT_EQ(merged.refused[0].reason, protocol::Refusal::norm);
    EXPECT_FALSE(merged.weights);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(
        warnings[0],
        "refusing contribution 1 of B.00000012.3: the sum of the squares of its values is 25, "
        "but its header says 25.1");
}

TEST_F(Executor, RefusesADeltaWithAValueThatIsNotFinite)
{
    auto bad = contribution("B.00000012.3", 1, 0.5F, {3, std::numeric_limits<float>::infinity()});
    bad.delta.sumsq = 9;
    auto const merged =
        answer(average({16, 8}, {contribution("A.00000011.2", 1, 0.5F, {1, 1}), bad}));
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "B.00000012.3");
    EXPECT_EQ(merged.refused[0].reason, protocol::Refusal::nan);
}

// Their headers are right about size and digest.
TEST_F(Executor, RefusesDeltasOfOtherShapesAndRuns)
{
    payload::Layout const layouts[] = {{{"test"}, {{"w", {3}}}},
                                       {{"test"}, {{"w", {1, 2}}}},
                                       {{"test"}, {{"v", {2}}}},
                                       {{"test"}, {{"w", {1}}, {"v", {1}}}},
                                       {{"another"}, {{"w", {2}}}}};
    std::int64_t number = 0;
    for (auto const& other : layouts) {
        auto bad = contribution("B.00000012.3", ++number, 0.5F, {3, 4});
        auto& delta = bad.delta.payload;
        std::vector<float> const values(other.elements(), 1.0F);
        auto const encoded = payload::encode(other, "d0", values);
        auto const bytes = encoded.pieces();
        ASSERT_TRUE(objects.put(object(delta), bytes));
        delta.bytes = static_cast<std::int64_t>(bytes.size());
        delta.sha256 = sha256_of(bytes);
        auto merge = average({16, 8}, {contribution("A.00000011.2", 1, 0.5F, {1, 1}), bad});
        auto const merged = answer(merge);
        ASSERT_EQ(merged.refused.size(), 1U) << number;
        EXPECT_EQ(merged.refused[0].member.value, "B.00000012.3");
        EXPECT_EQ(merged.refused[0].reason, protocol::Refusal::digest);
        EXPECT_FALSE(merged.refused[0].absent) << number;
        merge.include.pop_back();
        EXPECT_TRUE(answer(merge).refused.empty()) << "the merge goes on without it";
    }
}

TEST_F(Executor, NeverStoresAModelThatIsNotFinite)
{
    auto const merge = average({-3e38F, 8}, {contribution("A.00000011.2", 1, 0.5F, {1, 1}),
                                             contribution("B.00000012.3", 1, 0.5F, {3e38F, 1})});
    auto const merged = answer(merge);
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "B.00000012.3");
    EXPECT_EQ(merged.refused[0].reason, protocol::Refusal::nan);
    EXPECT_FALSE(merged.weights);
    auto const name = store::ObjectName::parse("runs/test/" + merge.weights.name);
    EXPECT_FALSE(objects.stat(*name)->has_value());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0],
              "refusing contribution 1 of B.00000012.3: with it, some values of the "
              "merged model are not finite");
}

// A store that damages the last byte of an object the first time that it is read.
class DamagedOnce : public test::ForwardingStore {
  public:
    DamagedOnce(store::ObjectStore& store, std::string name)
        : ForwardingStore(store), name_(std::move(name))
    {
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        if (name.text() != name_ || std::exchange(damaged_, true))
            return ForwardingStore::read(name, limit, sink, call);
        auto content = get(name, limit, call).value().value();
        content.back() ^= std::byte{0x10};
        sink(content, {static_cast<std::int64_t>(content.size())});
        return true;
    }

  private:
    std::string name_;
    bool damaged_{false};
};

// The chunk of the values is full before the digest shows the damage.
class Chunked : public Executor {
  protected:
    Chunked() { layout.parameters[0].shape = {65'536}; }
    static std::vector<float> full(float value) { return std::vector<float>(65'536, value); }
    protocol::Merge merge_of_two()
    {
        auto merge = average(full(16), {contribution("A.00000011.2", 1, 0.5F, full(4)),
                                        contribution("B.00000012.3", 1, 0.5F, full(-2))});
        merge.outer = protocol::OuterRef{protocol::Outer::Type::nesterov,
                                         put("m0", "models/1/A.00000011.0-1/m0.h5", full(4))};
        merge.outer_step = true;
        merge.eta = 0.5;
        merge.mu = 0.5;
        merge.momentum =
            protocol::PayloadPlace{"m0", protocol::model_name({2}, {"A.00000011.2"}, 1, "m0")};
        return merge;
    }
    protocol::Merged merge_in(std::shared_ptr<store::ObjectStore> store,
                              protocol::Merge const& merge)
    {
        MergeWork::Byproducts byproducts;
        MergeWork const work(PayloadTransport(std::move(store), layout));
        auto const answer = work.merge(merge, byproducts, {});
        found = byproducts.warnings;
        return std::get<protocol::Merged>(answer.value());
    }
    std::vector<std::string> found;
};

TEST_F(Chunked, AMergeBeginsAgainIfADamagedPayloadIsGoodTheNextTime)
{
    auto const merge = merge_of_two();
    for (auto const& part :
         {merge.include[1].delta.payload, merge.model.weights, merge.outer->momentum}) {
        auto const merged =
            merge_in(std::make_shared<DamagedOnce>(objects, "runs/test/" + part.name), merge);
        ASSERT_TRUE(merged.refused.empty()) << part.name;
        EXPECT_TRUE(found.empty());
        EXPECT_EQ(values_of(merged.momentum.value()), full(3)) << "0.5 m + g, with g = 1";
        EXPECT_EQ(values_of(merged.weights.value()), full(14.75F)) << "theta - 0.5 (g + 0.5 m)";
    }
}

TEST_F(Chunked, ADeltaThatIsDamagedAtItsEndIsRefusedAndTheOthersAreMerged)
{
    auto merge = merge_of_two();
    auto const& part = merge.include[0].delta.payload;
    auto bytes = bytes_of(part);
    bytes.back() = static_cast<char>(bytes.back() ^ 0x10);
    ASSERT_TRUE(objects.put(object(part), std::string_view(bytes)));
    auto const merged = merge_in(stored, merge);
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "A.00000011.2");
    EXPECT_EQ(merged.refused[0].reason, protocol::Refusal::digest);
    EXPECT_FALSE(objects.stat(object({"w0", merge.weights.name, 0, {}})).value());
    merge.include = {merge.include[1]};
    EXPECT_EQ(values_of(merge_in(stored, merge).momentum.value()), full(1)) << "0.5 m + g, g = -1";
}

TEST_F(Executor, MergesAModelOfAnotherFormOfFile)
{
    auto merge = average({16, 8}, {contribution("A.00000011.2", 1, 0.5F, {4, 2})});
    // A fork takes over payloads that name the run of its origin.
    std::vector<float> const values{20, 10};
    auto const encoded = payload::encode({{"origin"}, layout.parameters}, "w0", values);
    auto const bytes = encoded.pieces();
    merge.model.weights.bytes = static_cast<std::int64_t>(bytes.size());
    merge.model.weights.sha256 = sha256_of(bytes);
    ASSERT_TRUE(objects.put(object(merge.model.weights), bytes));
    EXPECT_EQ(values_of(answer(merge).weights.value()), (std::vector<float>{18, 9}));
}

}  // namespace
}  // namespace curtail::trainer
