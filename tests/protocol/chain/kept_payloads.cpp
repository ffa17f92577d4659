// SPDX-License-Identifier: Apache-2.0
// The copies of models that a site keeps on its own machine.
#include "protocol/chain/kept_payloads.hpp"

#include <gtest/gtest.h>

#include "storage/store/object_store.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::chain {
namespace {

class Kept : public testing::Test {
  protected:
    protocol::PartRef keep(std::string const& round, std::string const& part)
    {
        auto const content = part + " of round " + round;
        protocol::PartRef ref{part, "models/" + round + "/A.00000011.2-1/" + part + ".h5",
                              static_cast<std::int64_t>(content.size()), sha256(content)};
        EXPECT_TRUE(copies.keep(ref, store::bytes_of(content)));
        return ref;
    }
    test::TemporaryFolder folder;
    KeptPayloads copies{folder.path() / "kept"};
};

TEST_F(Kept, CopiesOfEarlierModelsAreDeleted)
{
    auto const old = keep("3", "w0");
    auto const model = keep("4", "w0");
    auto const momentum = keep("3", "m0");
    copies.keep_only({model, momentum});
    EXPECT_FALSE(copies.find(old));
    EXPECT_TRUE(copies.find(model));
    EXPECT_TRUE(copies.find(momentum));
}

TEST_F(Kept, CopiesThatLostTheRoundAreDeleted)
{
    auto const lost = keep("4", "w0");
    auto model = lost;
    model.name = "models/4/B.00000012.3-1/w0.h5";
    model.sha256 = sha256("another model of round 4");
    model.bytes = 24;
    ASSERT_TRUE(copies.keep(model, store::bytes_of("another model of round 4")));
    copies.keep_only({model});
    EXPECT_FALSE(copies.find(lost));
    EXPECT_TRUE(copies.find(model));
}

// A new process of the site may not have read the newest commit yet.
TEST_F(Kept, CopiesOfLaterModelsStay)
{
    auto const model = keep("9", "w0");
    auto const newer = keep("10", "w0");
    auto const momentum = keep("10", "m0");
    copies.keep_only({model});
    EXPECT_TRUE(copies.find(model));
    EXPECT_TRUE(copies.find(newer));
    EXPECT_TRUE(copies.find(momentum));
}

}  // namespace
}  // namespace curtail::chain
