// SPDX-License-Identifier: Apache-2.0
// Two sites that try their connection, in threads of one process.
#include "bridge/check.hpp"

#include <gmock/gmock.h>

#include <future>

#include "chain/run_objects.hpp"
#include "core/clock.hpp"
#include "exchange.hpp"
#include "store/memory_store.hpp"

namespace curtail::bridge {
namespace {

using testing::HasSubstr;

class CheckedConnections : public testing::Test {
  protected:
    using Checked = Result<CheckedConnection>;
    std::future<Checked> check(std::string const& site, CheckLimits limits = {},
                               std::string const& network = "127.0.0.0/8")
    {
        limits.bridges.pause = Millis{5};
        MeetingPlace::Parts const place{
            store_, {"r"}, exchange_.ends(), {*Network::parse(network)}};
        return std::async(std::launch::async, [place, site, limits] {
            return check_connection(place, {site}, {{"A"}, {"B"}, {"C"}}, limits);
        });
    }
    std::shared_ptr<store::MemoryStore> store_{std::make_shared<store::MemoryStore>()};
    test::Exchange exchange_;
};

TEST_F(CheckedConnections, BothSitesReceiveAndLeaveNothingInTheStore)
{
    auto one = check("A");
    auto other = check("B");
    auto const at_a = one.get();
    auto const at_b = other.get();
    ASSERT_TRUE(at_a) << at_a.error().message();
    ASSERT_TRUE(at_b) << at_b.error().message();
    EXPECT_EQ(at_a->other.value, "B");
    EXPECT_EQ(at_b->other.value, "A");
    EXPECT_FALSE(at_a->host.empty());
    EXPECT_EQ(at_a->library, "sockets");
    for (auto const& found : {*at_a, *at_b}) {
        EXPECT_GT(found.received_mb_per_s, 1);
        EXPECT_GT(found.sent_mb_per_s, 1);
    }
    EXPECT_THAT(store_->names(), testing::IsEmpty());
}

TEST_F(CheckedConnections, ACheckWithoutAnotherSiteEndsInTime)
{
    auto const found = check("A", {Millis{200}, Seconds{5}}).get();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ExitCode::unavailable);
    EXPECT_THAT(found.error().message(), HasSubstr("no other site has begun its check"));
    EXPECT_THAT(store_->names(), testing::IsEmpty());
}

TEST_F(CheckedConnections, AnAddressOutsideTheNetworksIsSaidAndOldRecordsAreIgnored)
{
    // Of a check that was killed: nobody waits for its end.
    auto const name =
        chain::object_name({"r"}, "mpi/check/" + announcement_name({"C.00000001.20000000"}));
    ASSERT_TRUE(name);
    auto const text = encode(Announcement{"host", make_token(), {}});
    ASSERT_TRUE(store_->put(*name, Pieces(std::string_view(text))));
    auto one = check("A", {Seconds{2}, Seconds{5}}, "10.0.0.0/8");
    auto other = check("B", {Seconds{2}, Seconds{5}}, "10.0.0.0/8");
    auto const at_a = one.get();
    auto const at_b = other.get();
    ASSERT_FALSE(at_a);
    ASSERT_FALSE(at_b);
    // The newer one refuses the address.
    EXPECT_THAT(at_a.error().message() + at_b.error().message(), HasSubstr("mpi.peers"));
}

}  // namespace
}  // namespace curtail::bridge
