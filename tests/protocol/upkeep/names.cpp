// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/payload_name.hpp"

#include <gtest/gtest.h>

namespace curtail::upkeep {
namespace {

TEST(PayloadName, TellsTheRoundOfAModelAndTheContributionOfADelta)
{
    EXPECT_EQ(parse_payload_name("models/7/A.0123abcd.12-3/w0.h5"), Payload(ModelPayload{{7}}));
    EXPECT_EQ(parse_payload_name("models/7/A-b_C.0123abcd.0-3/m0.h5"), Payload(ModelPayload{{7}}));
    EXPECT_EQ(parse_payload_name("deltas/6/A.0123abcd.12/3/d0.h5"),
              Payload(DeltaPayload{{"A.0123abcd.12"}, {3}}));
}

TEST(PayloadName, IsNoOtherTextHoweverSimilar)
{
    using namespace std::string_literals;
    for (auto const& name : {
             ""s,
             "/"s,
             "models"s,
             "models/7"s,
             "models/07/A.0123abcd.12-3/w0.h5"s,
             "models/7/A.0123abcd.12-03/w0.h5"s,
             "models/7/A.0123abcd.012-3/w0.h5"s,
             "models/0/A.0123abcd.12-3/w0.h5"s,
             "models/-7/A.0123abcd.12-3/w0.h5"s,
             "models/+7/A.0123abcd.12-3/w0.h5"s,
             "models/7x/A.0123abcd.12-3/w0.h5"s,
             "models/ 7/A.0123abcd.12-3/w0.h5"s,
             "models/9223372036854775808/A.0123abcd.12-3/w0.h5"s,
             "models/99999999999999999999999999999/A.0123abcd.12-3/w0.h5"s,
             "models/7/A.0123ABCD.12-3/w0.h5"s,
             "models/7/A.0123abcd.12/w0.h5"s,
             "models/7/../w0.h5"s,
             "models/7/A.0123abcd.12-3/../w0.h5"s,
             "models/7/A.0123abcd.12-3/d0.h5"s,
             "models/7/A.0123abcd.12-3/w0.h5\0"s,
             "models/7/A.0123abcd.12-3/w0.h5\n"s,
             "models/7/A.0123abcd.12-3/w0.h5/"s,
             "models//7/A.0123abcd.12-3/w0.h5"s,
             "models/7/A.0123abcd.12-3/w 0.h5"s,
             "models/7/A.0123abcd.12-3/w"s + std::string(300, '0') + ".h5",
             "models/7/A.0123abcd.12-3/.h5"s,
             "models/7/A.0123abcd.12-3/.w0.h5.host.0123456789abcdef.1.1.tmp"s,
             "Models/7/A.0123abcd.12-3/w0.h5"s,
             "../models/7/A.0123abcd.12-3/w0.h5"s,
             "deltas/6/A.0123abcd.12/0/d0.h5"s,
             "deltas/6/A.0123abcd.12/3/w0.h5"s,
             "deltas/6/A.0123abcd.12/03/d0.h5"s,
             "deltas/6/A.0123abcd.12/3/d0.h5/d0.h5"s,
             "deltas/6/A.0123abcd/3/d0.h5"s,
             "deltas/6/.0123abcd.12/3/d0.h5"s,
             "commits/00000001.json"s,
             "contrib/A.0123abcd.12/3.json"s,
             "run.json"s,
         })
        EXPECT_EQ(parse_payload_name(name), std::nullopt) << name;
}

}  // namespace
}  // namespace curtail::upkeep
