// SPDX-License-Identifier: Apache-2.0
// The outer step against vectors from the reference's own Python code.
#include <gtest/gtest.h>

#include <cmath>

#include "protocol/rules/merge.hpp"
#include "storage/tensors/reader.hpp"
#include "support/golden_folder.hpp"

namespace curtail::protocol {
namespace {

class GoldenOuter : public testing::Test {
  protected:
    GoldenOuter()
    {
        auto opened =
            tensors::TensorReader::open(test::golden_folder() / "outer.h5", {.compressed = true});
        if (!opened) throw std::runtime_error(opened.error().message());
        file.emplace(std::move(*opened));
    }
    std::vector<float> values(std::string const& name) const
    {
        return file->read<float>(name).value();
    }
    float setting(char const* name) const
    {
        return static_cast<float>(file->attributes().find(name)->as_number().value());
    }
    bool has(std::string const& name) const { return file->find(name) != nullptr; }

    // The sites' deltas of one round from `base`.
    std::vector<std::vector<float>> deltas_of(std::string const& round,
                                              std::vector<float> const& base) const
    {
        std::vector<std::vector<float>> deltas;
        for (std::size_t site = 0; site < tokens(round).size(); ++site) {
            auto d = values(round + "local_" + std::to_string(site));
            for (std::size_t i = 0; i < d.size(); ++i) d[i] = base[i] - d[i];
            deltas.push_back(std::move(d));
        }
        return deltas;
    }
    std::vector<std::int64_t> tokens(std::string const& round) const
    {
        return file->read<std::int64_t>(round + "tokens").value();
    }
    std::vector<float> scales_of(std::string const& round) const
    {
        std::vector<WeightInput> weighed;
        std::vector<std::string> const members{"a", "b", "c", "d", "e", "f", "g", "h"};
        auto const counts = tokens(round);
        for (std::size_t i = 0; i < counts.size(); ++i)
            weighed.push_back({members.at(i), {counts[i]}, 0});
        return scales(weighed, 250);
    }
    static void expect_near(std::vector<float> const& found, std::vector<float> const& wanted,
                            std::string const& what)
    {
        ASSERT_EQ(found.size(), wanted.size()) << what;
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_NEAR(found[i], wanted[i], 1e-6 * std::max(1.0F, std::abs(wanted[i])))
                << what << " " << i;
    }
    std::optional<tensors::TensorReader> file;
};

TEST_F(GoldenOuter, AveragesAndNesterovStepsEqualTheReference)
{
    auto base = values("base_0");
    std::vector<float> momentum(base.size(), 0);
    int rounds = 0;
    for (std::string round = "round_0/"; has(round + "tokens");
         round = "round_" + std::to_string(++rounds) + "/") {
        auto const all = deltas_of(round, base);
        std::vector<std::span<float const>> const spans(all.begin(), all.end());
        auto const scale = scales_of(round);
        WeightedDeltas const deltas{spans, scale};
        std::vector<float> averaged(base.size());
        average_step(base, deltas, averaged);
        expect_near(averaged, values(round + "fedavg"), round + "fedavg");
        nesterov_step({base, momentum, setting("outer_lr"), setting("outer_momentum")}, deltas,
                      base, momentum);
        expect_near(base, values(round + "nesterov"), round + "nesterov");
        expect_near(momentum, values(round + "momentum"), round + "momentum");
    }
    EXPECT_GE(rounds, 1);
}

}  // namespace
}  // namespace curtail::protocol
