// SPDX-License-Identifier: Apache-2.0
// The outer step against vectors from the reference's own Python code.
#include <gtest/gtest.h>

#include <cmath>

#include "rounds/merge.hpp"
#include "support/golden_folder.hpp"
#include "tensors/reader.hpp"

namespace curtail::rounds {
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

    // g of one round: the sites' deltas from `base`, weighted by tokens.
    std::vector<float> average(std::string const& round, std::vector<float> const& base) const
    {
        std::vector<Weighed> weighed;
        std::vector<std::vector<float>> deltas;
        auto const tokens = file->read<std::int64_t>(round + "tokens").value();
        for (std::size_t site = 0; site < tokens.size(); ++site) {
            weighed.push_back({{tokens[site]}, 0});
            auto d = values(round + "local_" + std::to_string(site));
            for (std::size_t i = 0; i < d.size(); ++i) d[i] = base[i] - d[i];
            deltas.push_back(std::move(d));
        }
        std::vector<float> g(base.size());
        weighted_sum(std::vector<std::span<float const>>(deltas.begin(), deltas.end()),
                     scales(weighed, 250), g);
        return g;
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
        auto const g = average(round, base);
        auto averaged = base;
        average_step(averaged, g);
        expect_near(averaged, values(round + "fedavg"), round + "fedavg");
        nesterov_step(base, momentum, g, setting("outer_lr"), setting("outer_momentum"));
        expect_near(base, values(round + "nesterov"), round + "nesterov");
        expect_near(momentum, values(round + "momentum"), round + "momentum");
    }
    EXPECT_GE(rounds, 1);
}

}  // namespace
}  // namespace curtail::rounds
