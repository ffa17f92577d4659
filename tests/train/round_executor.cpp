// SPDX-License-Identifier: Apache-2.0
// The arithmetic of merges on real payloads in a store.
#include "train/round_executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <utility>

#include "rounds/names.hpp"
#include "store/memory_store.hpp"
#include "support/eventually.hpp"
#include "support/forwarding_store.hpp"
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
    // A contribution whose header is right about the values of the delta.
    rounds::Merge::Included contribution(std::string const& member, std::int64_t number,
                                         float scale, std::vector<float> const& delta)
    {
        MemberId const id{member};
        double sumsq = 0;
        for (double const value : delta) sumsq += value * value;
        auto const name = rounds::delta_name({number}, id, {number}, "d0");
        return {id, {number}, scale, {{put("d0", name, delta), sumsq, 0}}};
    }
    rounds::Merge average(std::vector<float> const& theta,
                          std::vector<rounds::Merge::Included> include)
    {
        rounds::Merge merge;
        merge.op = 1;
        merge.model = {{1}, {put("w0", "models/1/A.00000011.0-1/w0.h5", theta)}};
        merge.include = std::move(include);
        merge.weights = {{"w0", rounds::model_name({2}, {"A.00000011.2"}, 1, "w0")}};
        return merge;
    }
    template <class Answer>
    Answer answer_to(rounds::Output const& question)
    {
        executor.carry_out(question);
        std::vector<rounds::Input> answers;
        EXPECT_TRUE(test::eventually([&] {
            answers = executor.take_answers();
            return !answers.empty();
        }));
        return std::get<Answer>(answers.at(0));
    }
    rounds::Merged answer(rounds::Merge const& merge) { return answer_to<rounds::Merged>(merge); }
    rounds::Restored restore(std::vector<rounds::PartRef> parts,
                             std::optional<rounds::Merge> recipe = {})
    {
        return answer_to<rounds::Restored>(rounds::Restore{7, std::move(parts), std::move(recipe)});
    }
    store::ObjectName object(rounds::PartRef const& ref)
    {
        return *store::ObjectName::parse("runs/test/" + ref.name);
    }
    std::string bytes_of(rounds::PartRef const& ref)
    {
        auto const content = objects.get(object(ref), {1 << 20}).value();
        return content ? std::string(store::text_of(*content)) : "";
    }
    // Replaces the object by one of half its length.
    void truncate(rounds::PartRef const& ref)
    {
        auto const bytes = bytes_of(ref);
        EXPECT_TRUE(objects.put(object(ref), std::string_view(bytes).substr(0, bytes.size() / 2)));
    }
    // Waits until the machine has copies of so many payloads.
    void wait_for_copies(std::size_t count)
    {
        EXPECT_TRUE(test::eventually([&] {
            (void)executor.take_answers();
            std::error_code ignored;
            std::size_t found = 0;
            for (auto const& entry : std::filesystem::directory_iterator(kept, ignored))
                if (entry.path().extension() == ".h5") ++found;
            return found == count;
        }));
    }
    // An outer step of one delta on top of a model and, if any, its momentum.
    rounds::Merged outer_step(rounds::Op op, rounds::PartRef const& model,
                              std::optional<rounds::PartRef> const& momentum,
                              std::vector<float> const& delta)
    {
        Round const round{static_cast<std::int64_t>(op)};
        MemberId const member{"A.00000011.2"};
        rounds::Merge merge;
        merge.op = op;
        merge.model = {round, {model}};
        if (momentum) merge.outer = rounds::OuterRef{rounds::Outer::Type::nesterov, {*momentum}};
        merge.include = {contribution(member.value, round.value, 1.0F, delta)};
        merge.outer_step = true;
        merge.eta = 0.5;
        merge.mu = 0.5;
        auto const attempt = static_cast<std::int64_t>(op);
        merge.weights = {{"w0", rounds::model_name(round.next(), member, attempt, "w0")}};
        merge.momentum = {{"m0", rounds::model_name(round.next(), member, attempt, "m0")}};
        return answer(merge);
    }

    std::shared_ptr<store::MemoryStore> const stored{std::make_shared<store::MemoryStore>()};
    store::MemoryStore& objects{*stored};
    payload::Layout layout{{"test"}, {{"w", {2}}}};
    test::TemporaryFolder folder;
    std::vector<std::string> warnings;
    Recorder recorder{folder.path(), "A", "", {}};
    Log log{[this](Level, std::string_view text) { warnings.emplace_back(text); }};
    RoundExecutor::Parts parts()
    {
        RoundExecutor::Parts parts{stored, layout, {}, [](Order const&) {}, recorder, log};
        parts.kept = std::make_shared<maintain::KeptPayloads>(kept);
        return parts;
    }
    std::filesystem::path const kept{folder.path() / "kept"};
    RoundExecutor executor{parts(), [] {}};
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

TEST_F(Executor, OverwritesARecordOfItsSite)
{
    auto const name = *store::ObjectName::parse("runs/test/contrib/A.00000011.2/1.json");
    ASSERT_TRUE(objects.put(name, std::string_view("damaged")));
    executor.carry_out(rounds::Overwrite{"contrib/A.00000011.2/1.json", "right"});
    EXPECT_TRUE(test::eventually([&] {
        (void)executor.take_answers();
        return store::text_of(*objects.get(name, {1 << 20}).value()) == "right";
    }));
}

// A store whose writes wait until the test releases them.
class WaitingStore : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<void> put(store::ObjectName const& name, Pieces const& bytes, Call const& call) override
    {
        ++puts;
        released.wait(false);
        return ForwardingStore::put(name, bytes, call);
    }
    std::atomic<int> puts{0};
    std::atomic<bool> released{false};
};

TEST_F(Executor, WritesARecordAgainOnlyAfterTheWriteBeforeHasEnded)
{
    auto const slow = std::make_shared<WaitingStore>(objects);
    auto with_slow_store = parts();
    with_slow_store.store = slow;
    RoundExecutor slow_executor(with_slow_store, [] {});
    rounds::Overwrite const status{rounds::status_name({"A"}), "alive"};
    slow_executor.carry_out(status);
    ASSERT_TRUE(test::eventually([&] { return slow->puts == 1; }));
    slow_executor.carry_out(status);
    slow->released = true;
    slow->released.notify_all();
    auto const name = *store::ObjectName::parse("runs/test/" + status.name);
    ASSERT_TRUE(test::eventually([&] { return objects.stat(name).value().has_value(); }));
    EXPECT_EQ(slow->puts, 1);
    EXPECT_TRUE(test::eventually([&] {
        (void)slow_executor.take_answers();
        slow_executor.carry_out(status);
        return slow->puts > 1;
    })) << "the first write has ended";
}

TEST_F(Executor, RefusesADeltaWhoseNormIsNotTheAnnouncedOne)
{
    auto wrong = contribution("B.00000012.3", 1, 0.5F, {3, 4});
    wrong.parts[0].sumsq = 25.1;
    auto const merged =
        answer(average({16, 8}, {contribution("A.00000011.2", 1, 0.5F, {1, 1}), wrong}));
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "B.00000012.3");
    EXPECT_EQ(merged.refused[0].reason, rounds::Refusal::norm);
    EXPECT_TRUE(merged.model.empty());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(
        warnings[0],
        "refusing contribution 1 of B.00000012.3: the sum of the squares of its values is 25, "
        "but its header says 25.1");
}

TEST_F(Executor, RefusesADeltaWithAValueThatIsNotFinite)
{
    auto bad = contribution("B.00000012.3", 1, 0.5F, {3, std::numeric_limits<float>::infinity()});
    bad.parts[0].sumsq = 9;
    auto const merged =
        answer(average({16, 8}, {contribution("A.00000011.2", 1, 0.5F, {1, 1}), bad}));
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "B.00000012.3");
    EXPECT_EQ(merged.refused[0].reason, rounds::Refusal::nan);
}

TEST_F(Executor, NeverStoresAModelThatIsNotFinite)
{
    auto const merge = average({-3e38F, 8}, {contribution("A.00000011.2", 1, 0.5F, {1, 1}),
                                             contribution("B.00000012.3", 1, 0.5F, {3e38F, 1})});
    auto const merged = answer(merge);
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "B.00000012.3");
    EXPECT_EQ(merged.refused[0].reason, rounds::Refusal::nan);
    EXPECT_TRUE(merged.model.empty());
    auto const name = store::ObjectName::parse("runs/test/" + merge.weights[0].name);
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
                      Call const& call) override
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
    rounds::Merge merge_of_two()
    {
        auto merge = average(full(16), {contribution("A.00000011.2", 1, 0.5F, full(4)),
                                        contribution("B.00000012.3", 1, 0.5F, full(-2))});
        merge.outer = rounds::OuterRef{rounds::Outer::Type::nesterov,
                                       {put("m0", "models/1/A.00000011.0-1/m0.h5", full(4))}};
        merge.outer_step = true;
        merge.eta = 0.5;
        merge.mu = 0.5;
        merge.momentum = {{"m0", rounds::model_name({2}, {"A.00000011.2"}, 1, "m0")}};
        return merge;
    }
    rounds::Merged merge_in(std::shared_ptr<store::ObjectStore> store, rounds::Merge const& merge)
    {
        StoreWork::Byproducts byproducts;
        auto const answer = StoreWork(std::move(store), layout).merge(merge, byproducts, {});
        found = byproducts.warnings;
        return std::get<rounds::Merged>(answer.value());
    }
    std::vector<std::string> found;
};

TEST_F(Chunked, AMergeBeginsAgainIfADamagedPayloadIsGoodTheNextTime)
{
    auto const merge = merge_of_two();
    for (auto const& part :
         {merge.include[1].parts[0].payload, merge.model.parts[0], merge.outer->parts[0]}) {
        auto const merged =
            merge_in(std::make_shared<DamagedOnce>(objects, "runs/test/" + part.name), merge);
        ASSERT_TRUE(merged.refused.empty()) << part.name;
        EXPECT_TRUE(found.empty());
        EXPECT_EQ(values_of(merged.momentum.at(0)), full(3)) << "0.5 m + g, with g = 1";
        EXPECT_EQ(values_of(merged.model.at(0)), full(14.75F)) << "theta - 0.5 (g + 0.5 m)";
    }
}

TEST_F(Chunked, ADeltaThatIsDamagedAtItsEndIsRefusedAndTheOthersAreMerged)
{
    auto merge = merge_of_two();
    auto const& part = merge.include[0].parts[0].payload;
    auto bytes = bytes_of(part);
    bytes.back() = static_cast<char>(bytes.back() ^ 0x10);
    ASSERT_TRUE(objects.put(object(part), std::string_view(bytes)));
    auto const merged = merge_in(stored, merge);
    ASSERT_EQ(merged.refused.size(), 1U);
    EXPECT_EQ(merged.refused[0].member.value, "A.00000011.2");
    EXPECT_EQ(merged.refused[0].reason, rounds::Refusal::digest);
    EXPECT_FALSE(objects.stat(object({"w0", merge.weights[0].name, 0, {}})).value());
    merge.include = {merge.include[1]};
    EXPECT_EQ(values_of(merge_in(stored, merge).momentum.at(0)), full(1)) << "0.5 m + g, g = -1";
}

TEST_F(Executor, MergesAModelOfAnotherFormOfFile)
{
    auto merge = average({16, 8}, {contribution("A.00000011.2", 1, 0.5F, {4, 2})});
    // A fork takes over payloads that name the run of its origin.
    std::vector<float> const values{20, 10};
    auto const encoded = payload::encode({{"origin"}, layout.parameters}, "w0", values);
    auto const bytes = encoded.pieces();
    merge.model.parts[0].bytes = static_cast<std::int64_t>(bytes.size());
    merge.model.parts[0].sha256 = sha256_of(bytes);
    ASSERT_TRUE(objects.put(object(merge.model.parts[0]), bytes));
    EXPECT_EQ(values_of(answer(merge).model.at(0)), (std::vector<float>{18, 9}));
}

// A merge with momentum, whose result is in the store.
class Restoring : public Executor {
  protected:
    Restoring()
    {
        auto const theta = put("w0", "models/1/A.00000011.0-1/w0.h5", {16.3F, 8.1F});
        merge.op = 1;
        merge.model = {{1}, {theta}};
        merge.outer = rounds::OuterRef{rounds::Outer::Type::nesterov,
                                       {put("m0", "models/1/A.00000011.0-1/m0.h5", {0.1F, 3})}};
        merge.include = {contribution("A.00000011.2", 1, 0.3F, {1.1F, 1.7F}),
                         contribution("B.00000012.3", 1, 0.7F, {-2.9F, 1e-3F})};
        merge.outer_step = true;
        merge.eta = 0.7;
        merge.mu = 0.9;
        merge.weights = {{"w0", "models/2/A.00000011.2-1/w0.h5"}};
        merge.momentum = {{"m0", "models/2/A.00000011.2-1/m0.h5"}};
        auto const merged = answer(merge);
        model = merged.model.at(0);
        momentum = merged.momentum.at(0);
        model_bytes = bytes_of(model);
        momentum_bytes = bytes_of(momentum);
        wait_for_copies(2);
    }
    rounds::Merge merge;
    rounds::PartRef model, momentum;
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
        << "no copies, and no recipe";
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
    EXPECT_TRUE(objects.remove(object(merge.model.parts[0])));
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
    executor.carry_out(rounds::Keep{{momentum, model}});
    EXPECT_TRUE(objects.remove(object(momentum)));
    EXPECT_EQ(restore({momentum}).stored, std::vector{momentum.name});
    executor.carry_out(rounds::Keep{{merge.model.parts[0]}});
    EXPECT_TRUE(objects.remove(object(model)));
    EXPECT_EQ(restore({model}).stored, std::vector{model.name})
        << "without a copy of the model to keep, nothing may be deleted";
    executor.carry_out(rounds::Keep{{model}});
    wait_for_copies(1);
    EXPECT_TRUE(objects.remove(object(momentum)));
    EXPECT_EQ(restore({momentum}).damaged, std::vector{momentum.name});
}

TEST_F(Restoring, AModelThatIsLoadedIsKept)
{
    std::filesystem::remove_all(kept);
    executor.carry_out(rounds::LoadModel{9, {{2}, {model}}});
    wait_for_copies(1);
    truncate(model);
    EXPECT_EQ(restore({model}).stored, std::vector{model.name});
    EXPECT_EQ(bytes_of(model), model_bytes);
}

// A store whose objects this site must not replace.
class NotWritable : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<void> put(store::ObjectName const& name, Pieces const&, Call const&) override
    {
        return fail(ExitCode::permission, "cannot write " + name.text(), "access denied");
    }
};

TEST_F(Restoring, AnObjectThatTheSiteMustNotWriteStaysDamaged)
{
    StoreWork const work(std::make_shared<NotWritable>(objects), layout);
    maintain::KeptPayloads copies(kept);
    truncate(model);
    std::vector<std::string> texts;
    auto const answer = work.restore({7, {model}, {}}, &copies, texts, {});
    ASSERT_TRUE(answer) << "the other sites must be asked";
    EXPECT_EQ(std::get<rounds::Restored>(*answer).damaged, std::vector{model.name});
    ASSERT_EQ(texts.size(), 1U);
    EXPECT_NE(texts[0].find("access denied"), std::string::npos);
}

}  // namespace
}  // namespace curtail::train
