// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "protocol/records/names.hpp"
#include "support/eventually.hpp"
#include "support/memory_store.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/rounds/round_executor.hpp"

namespace curtail::trainer {

/// An executor on a store in memory, for a model of two values.
class Executor : public testing::Test {
  protected:
    protocol::PartRef put(std::string const& part, std::string const& name,
                          std::vector<float> const& values)
    {
        auto const encoded = payload::encode(layout, part, values);
        auto const bytes = encoded.pieces();
        EXPECT_TRUE(objects.put(*store::ObjectName::parse("runs/test/" + name), bytes));
        return {part, name, static_cast<std::int64_t>(bytes.size()), sha256_of(bytes)};
    }
    std::vector<float> values_of(protocol::PartRef const& ref)
    {
        auto const content =
            objects.get(*store::ObjectName::parse("runs/test/" + ref.name), {1 << 20}).value();
        return *payload::decode(layout, ref.part, store::text_of(*content), ref.name).value();
    }
    // A contribution whose header is right about the values of the delta.
    protocol::Merge::Source contribution(std::string const& member, std::int64_t number,
                                         float scale, std::vector<float> const& delta)
    {
        MemberId const id{member};
        double sumsq = 0;
        for (double const value : delta) sumsq += value * value;
        auto const name = protocol::delta_name({number}, id, {number});
        return {id, {number}, scale, {put("d0", name, delta), sumsq}};
    }
    protocol::Merge average(std::vector<float> const& theta,
                            std::vector<protocol::Merge::Source> include)
    {
        protocol::Merge merge;
        merge.op = 1;
        merge.model = {{1}, put("w0", "models/1/A.00000011.0-1/w0.h5", theta)};
        merge.include = std::move(include);
        merge.weights = {"w0", protocol::model_name({2}, {"A.00000011.2"}, 1, "w0")};
        return merge;
    }
    template <class Answer>
    Answer answer_to(protocol::Output const& question)
    {
        executor.carry_out(question);
        std::vector<protocol::Input> answers;
        EXPECT_TRUE(curtail::test::eventually([&] {
            answers = executor.take_answers();
            return !answers.empty();
        }));
        return std::get<Answer>(answers.at(0));
    }
    protocol::Merged answer(protocol::Merge const& merge)
    {
        return answer_to<protocol::Merged>(merge);
    }
    protocol::Restored restore(std::vector<protocol::PartRef> parts,
                               std::optional<protocol::Merge> recompute = {})
    {
        return answer_to<protocol::Restored>(
            protocol::Restore{7, std::move(parts), std::move(recompute)});
    }
    store::ObjectName object(protocol::PartRef const& ref)
    {
        return *store::ObjectName::parse("runs/test/" + ref.name);
    }
    std::string bytes_of(protocol::PartRef const& ref)
    {
        auto const content = objects.get(object(ref), {1 << 20}).value();
        return content ? std::string(store::text_of(*content)) : "";
    }
    // Replaces the object by one of half its length.
    void truncate(protocol::PartRef const& ref)
    {
        auto const bytes = bytes_of(ref);
        EXPECT_TRUE(objects.put(object(ref), std::string_view(bytes).substr(0, bytes.size() / 2)));
    }
    // Waits until the machine has copies of so many payloads.
    void wait_for_copies(std::size_t count)
    {
        EXPECT_TRUE(curtail::test::eventually([&] {
            (void)executor.take_answers();
            std::error_code ignored;
            std::size_t found = 0;
            for (auto const& entry : std::filesystem::directory_iterator(kept, ignored))
                if (entry.path().extension() == ".h5") ++found;
            return found == count;
        }));
    }
    // An outer step of one delta on top of a model and, if any, its momentum.
    protocol::Merged outer_step(protocol::Op op, protocol::PartRef const& model,
                                std::optional<protocol::PartRef> const& momentum,
                                std::vector<float> const& delta)
    {
        Round const round{static_cast<std::int64_t>(op)};
        MemberId const member{"A.00000011.2"};
        protocol::Merge merge;
        merge.op = op;
        merge.model = {round, model};
        if (momentum) merge.outer = protocol::OuterRef{protocol::Outer::Type::nesterov, *momentum};
        merge.include = {contribution(member.value, round.value, 1.0F, delta)};
        merge.outer_step = true;
        merge.eta = 0.5;
        merge.mu = 0.5;
        auto const attempt = static_cast<std::int64_t>(op);
        merge.weights = {"w0", protocol::model_name(round.next(), member, attempt, "w0")};
        merge.momentum =
            protocol::PayloadPlace{"m0", protocol::model_name(round.next(), member, attempt, "m0")};
        return answer(merge);
    }

    std::shared_ptr<store::MemoryStore> const stored{std::make_shared<store::MemoryStore>()};
    store::MemoryStore& objects{*stored};
    payload::Layout layout{{"test"}, {{"w", {2}}}};
    curtail::test::TemporaryFolder folder;
    std::vector<std::string> warnings;
    std::vector<Order> orders;  // to the training loop
    Recorder recorder{folder.path(), "A", "", {}};
    Log log{[this](Level, std::string_view text) { warnings.emplace_back(text); }};
    RoundExecutor::Parts parts()
    {
        auto const keep = [this](Order const& order) { orders.push_back(order); };
        RoundExecutor::Parts parts{stored, layout, {}, keep, recorder, log};
        parts.kept = std::make_shared<chain::KeptPayloads>(kept);
        return parts;
    }
    std::filesystem::path const kept{folder.path() / "kept"};
    RoundExecutor executor{parts(), [] {}};
};

}  // namespace curtail::trainer
