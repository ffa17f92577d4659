// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/federation.hpp"

#include <gtest/gtest.h>

#include "base/core/files.hpp"
#include "support/paths.hpp"

namespace curtail::launch {
namespace {

std::string fixture(std::string const& name)
{
    return read_file(test::source_path("tests/poller/launch/fixtures/slurm-22.05/" + name)).value();
}

TEST(Federation, AMemberNamesItself)
{
    EXPECT_EQ(find_federated_cluster(fixture("federation-member.txt")).value(), "spp_tx");
}

TEST(Federation, AControllerWithoutAHostNameIsAMemberToo)
{
    EXPECT_EQ(find_federated_cluster("Federation: f\nSelf:       a-b::0 ID:1 FedState:NA").value(),
              "a-b");
}

TEST(Federation, ThereIsNoneWithoutAMemberThatIsThisCluster)
{
    EXPECT_FALSE(find_federated_cluster(fixture("federation.txt")).value());
    for (auto const* text : {"", "\n", "Maintenance on Friday | call 4711\n",
                             "slurm_load_federation error: Unable to contact slurm controller"})
        EXPECT_FALSE(find_federated_cluster(text).value()) << text;
}

TEST(Federation, TextOfAWrapperHidesNoMember)
{
    for (auto const* text : {"Welcome Federation: f\nSelf: a:host:6817 ID:1\n",
                             "Welcome\nFederation: f\nOn Friday: Self: a:host:6817 ID:1\nBye",
                             "Federation: f\r\nSelf:       a:host:6817 ID:1\r\n"})
        EXPECT_EQ(find_federated_cluster(text).value(), "a") << text;
}

TEST(Federation, WithoutALegibleNameOfThisClusterIsAnError)
{
    for (auto const* text :
         {"Federation: f\n", "Federation: f\nSelf:\n", "Federation: f\nSelf: name\n",
          "Federation: f\nSelf: :host:6817 ID:1\n", "Federation: f\nSelf: a,b:host:6817\n",
          "Federation: f\nSibling:    other:host:6817 ID:1\n", "Self:       a:host:6817 ID:1\n",
          "Federation: f\nSelf: a\x1b[31m:host:6817\n", "Federation: f\nSelf: a:h\nSelf: b:h\n"})
        EXPECT_EQ(find_federated_cluster(text).error().code, ExitCode::data) << text;
}

}  // namespace
}  // namespace curtail::launch
