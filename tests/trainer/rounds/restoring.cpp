// SPDX-License-Identifier: Apache-2.0
// Lost and damaged payloads, which a site stores again from its copies or from a merge.
#include "support/forwarding_store.hpp"
#include "trainer/rounds/executor_fixture.hpp"

namespace curtail::trainer {
namespace {

// A merge with momentum, whose result is in the store.
class Restoring : public Executor {
  protected:
    Restoring()
    {
        auto const theta = put("w0", "models/1/A.00000011.0-1/w0.h5", {16.3F, 8.1F});
        merge.op = 1;
        merge.model = {{1}, theta};
        merge.outer = protocol::OuterRef{protocol::Outer::Type::nesterov,
                                         put("m0", "models/1/A.00000011.0-1/m0.h5", {0.1F, 3})};
        merge.include = {contribution("A.00000011.2", 1, 0.3F, {1.1F, 1.7F}),
                         contribution("B.00000012.3", 1, 0.7F, {-2.9F, 1e-3F})};
        merge.outer_step = true;
        merge.eta = 0.7;
        merge.mu = 0.9;
        merge.weights = {"w0", "models/2/A.00000011.2-1/w0.h5"};
        merge.momentum = protocol::PayloadPlace{"m0", "models/2/A.00000011.2-1/m0.h5"};
        auto const merged = answer(merge);
        model = merged.weights.value();
        momentum = merged.momentum.value();
        model_bytes = bytes_of(model);
        momentum_bytes = bytes_of(momentum);
        executor.carry_out(protocol::Keep{{model, momentum}});
        wait_for_copies(2);
    }
    protocol::Merge merge;
    protocol::PartRef model, momentum;
    std::string model_bytes, momentum_bytes;
};

TEST_F(Restoring, AGoodObjectStaysAsItIs)
{
    auto const restored = restore({model, momentum});
    EXPECT_TRUE(restored.stored.empty());
    EXPECT_TRUE(restored.damaged.empty());
}

TEST_F(Restoring, CopiesReplaceWhatIsTruncatedOrMissing)
{
    truncate(model);
    EXPECT_TRUE(objects.remove(object(momentum)));
    auto const restored = restore({model, momentum});
    EXPECT_EQ(restored.stored, (std::vector{model.name, momentum.name}));
    EXPECT_TRUE(restored.damaged.empty());
    EXPECT_EQ(bytes_of(model), model_bytes);
    EXPECT_EQ(bytes_of(momentum), momentum_bytes);
}

TEST_F(Restoring, AMergeComputedOnceMoreHasTheSameBytes)
{
    std::filesystem::remove_all(kept);
    truncate(model);
    EXPECT_TRUE(objects.remove(object(momentum)));
    EXPECT_EQ(restore({model, momentum}).damaged, (std::vector{model.name, momentum.name}))
        << "no copies, and nothing to recompute";
    auto const restored = restore({model, momentum}, merge);
    EXPECT_EQ(restored.stored, (std::vector{model.name, momentum.name}));
    EXPECT_EQ(bytes_of(model), model_bytes);
    EXPECT_EQ(bytes_of(momentum), momentum_bytes);
}

TEST_F(Restoring, StoresNoBytesButThoseOfTheDigest)
{
    std::filesystem::remove_all(kept);
    truncate(model);
    auto const half = bytes_of(model);
    auto other = merge;
    other.include[0].scale = 0.31F;
    EXPECT_EQ(restore({model}, other).damaged, std::vector{model.name});
    EXPECT_EQ(bytes_of(model), half);
    EXPECT_TRUE(objects.remove(object(merge.model.weights)));
    EXPECT_EQ(restore({model}, merge).damaged, std::vector{model.name}) << "an input is missing";
}

TEST_F(Restoring, ADamagedCopyIsOfNoUse)
{
    for (auto const& entry : std::filesystem::directory_iterator(kept))
        std::filesystem::resize_file(entry.path(), 10);
    truncate(model);
    EXPECT_EQ(restore({model}).damaged, std::vector{model.name});
}

TEST_F(Restoring, KeepDeletesAllOtherCopies)
{
    executor.carry_out(protocol::Keep{{momentum, model}});
    EXPECT_TRUE(objects.remove(object(momentum)));
    EXPECT_EQ(restore({momentum}).stored, std::vector{momentum.name});
    executor.carry_out(protocol::Keep{{merge.model.weights}});
    EXPECT_TRUE(objects.remove(object(model)));
    EXPECT_EQ(restore({model}).stored, std::vector{model.name})
        << "without a copy of the model to keep, nothing may be deleted";
    executor.carry_out(protocol::Keep{{model}});
    wait_for_copies(1);
    EXPECT_TRUE(objects.remove(object(momentum)));
    EXPECT_EQ(restore({momentum}).damaged, std::vector{momentum.name});
}

TEST_F(Restoring, AModelThatIsLoadedIsKept)
{
    std::filesystem::remove_all(kept);
    executor.carry_out(protocol::LoadModel{9, {{2}, {model}}});
    EXPECT_TRUE(test::eventually([&] {
        (void)executor.take_answers();
        return !orders.empty();
    }));
    executor.carry_out(protocol::Keep{{model}});
    wait_for_copies(1);
    truncate(model);
    EXPECT_EQ(restore({model}).stored, std::vector{model.name});
    EXPECT_EQ(bytes_of(model), model_bytes);
}

// A store whose objects this site must not replace.
class NotWritable : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<void> put(store::ObjectName const& name, Pieces const&, CallLimits const&) override
    {
        return fail(ExitCode::permission, "cannot write " + name.text(), "access denied");
    }
};

TEST_F(Restoring, AnObjectThatTheSiteMustNotWriteStaysDamaged)
{
    MergeWork const work(PayloadTransport(std::make_shared<NotWritable>(objects), layout));
    chain::KeptPayloads copies(kept);
    truncate(model);
    std::vector<std::string> texts;
    auto const answer = work.restore({7, {model}, {}}, &copies, texts, {});
    ASSERT_TRUE(answer) << "the other sites must be asked";
    EXPECT_EQ(std::get<protocol::Restored>(*answer).damaged, std::vector{model.name});
    ASSERT_EQ(texts.size(), 1U);
    EXPECT_NE(texts[0].find("access denied"), std::string::npos);
}

// A delta has no copy in a file: the trainer holds its values.
TEST_F(Restoring, ADamagedDeltaIsStoredAgainByItsOwner)
{
    Values const values = std::make_shared<std::vector<float> const>(std::vector{0.5F, 0.25F});
    (void)executor.translate(CutResult{1, {1}, {values, nullptr, {}}});
    protocol::PayloadPlace const place{"d0", "deltas/1/A.00000011.2/1/d0.h5"};
    auto const delta = answer_to<protocol::Stored>(protocol::StoreDelta{2, {1}, place}).payload;
    auto const bytes = bytes_of(delta);
    truncate(delta);
    EXPECT_EQ(restore({delta}).stored, std::vector{delta.name});
    EXPECT_EQ(bytes_of(delta), bytes);
    auto const other = put("d0", "deltas/1/B.00000012.3/1/d0.h5", {0.5F, 0.25F});
    truncate(other);
    EXPECT_EQ(restore({other}).damaged, std::vector{other.name}) << "of another site";
}

}  // namespace
}  // namespace curtail::trainer
