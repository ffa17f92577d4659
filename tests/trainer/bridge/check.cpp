// SPDX-License-Identifier: Apache-2.0
// Two sites that try their connection, in threads of one process.
#include "trainer/bridge/check.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "base/core/clock.hpp"
#include "exchange.hpp"
#include "protocol/chain/run_objects.hpp"
#include "support/eventually.hpp"
#include "support/forwarding_store.hpp"
#include "support/memory_store.hpp"

namespace curtail::bridge {
namespace {

using testing::HasSubstr;

class CheckedConnections : public testing::Test {
  protected:
    using Checked = Result<CheckedConnection>;
    std::future<Checked> check(std::string const& site, CheckLimits limits = {},
                               std::string const& network = "127.0.0.0/8",
                               std::shared_ptr<store::ObjectStore> const& store = {})
    {
        limits.pause = limits.bridges.pause = Millis{5};
        MeetingPlace::Parts const place{
            store ? store : store_, {"r"}, exchange_.ends(), {*Network::parse(network)}};
        return std::async(std::launch::async, [place, site, limits] {
            return check_connection(place, {site}, {{"A"}, {"B"}, {"C"}}, limits);
        });
    }
    static CheckLimits meet_within(Millis time)
    {
        CheckLimits limits;
        limits.meet = time;
        return limits;
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
    auto const found = check("A", meet_within(Millis{200})).get();
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
    auto one = check("A", meet_within(Seconds{20}), "10.0.0.0/8");
    auto other = check("B", meet_within(Seconds{20}), "10.0.0.0/8");
    auto const at_a = one.get();
    auto const at_b = other.get();
    ASSERT_FALSE(at_a);
    ASSERT_FALSE(at_b);
    // The newer one refuses the address.
    EXPECT_THAT(at_a.error().message() + at_b.error().message(), HasSubstr("mpi.peers"));
}

TEST_F(CheckedConnections, ACheckWhoseOtherEndHasFailedEndsToo)
{
    auto one = check("A");
    ASSERT_TRUE(test::eventually([&] { return store_->names().size() == 1; }));
    auto const at_b = check("B", {}, "10.0.0.0/8").get();
    ASSERT_FALSE(at_b);
    EXPECT_THAT(at_b.error().message(), HasSubstr("mpi.peers"));
    auto const at_a = one.get();
    ASSERT_FALSE(at_a);
    EXPECT_EQ(at_a.error().code, ExitCode::unavailable);
    EXPECT_THAT(at_a.error().message(), HasSubstr("the check of B has ended without a connection"));
    EXPECT_THAT(store_->names(), testing::IsEmpty());
}

TEST_F(CheckedConnections, ACheckThatIsStoppedRemovesItsRecords)
{
    auto const stopped = std::make_shared<std::atomic<bool>>(false);
    CheckLimits limits;
    limits.stopped = [stopped] { return stopped->load(); };
    auto one = check("A", limits);
    ASSERT_TRUE(test::eventually([&] { return store_->names().size() == 1; }));
    *stopped = true;
    auto const found = one.get();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ExitCode::interrupted);
    EXPECT_THAT(store_->names(), testing::IsEmpty());
}

// A store that refuses some operations.
class RefusingStore : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        if (forbidden) return fail(ExitCode::permission, "cannot create it", "403 Forbidden");
        return ForwardingStore::create(name, bytes, call);
    }
    Result<void> list(store::ObjectFolder const& folder, std::string const& after,
                      Visit const& visit, CallLimits const& call) override
    {
        if (--failing_lists >= 0) return fail(ExitCode::temporary, "cannot list", "503 Slow Down");
        return ForwardingStore::list(folder, after, visit, call);
    }
    bool forbidden{false};
    std::atomic<int> failing_lists{0};
};

TEST_F(CheckedConnections, AStoreThatRefusesTheAnnouncementIsSaidAtOnce)
{
    auto const store = std::make_shared<RefusingStore>(*store_);
    store->forbidden = true;
    auto const found = check("A", {}, "127.0.0.0/8", store).get();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ExitCode::unavailable);
    EXPECT_THAT(found.error().message(), HasSubstr("cannot announce itself: cannot create it"));
}

TEST_F(CheckedConnections, AStoreThatIsAwayForAWhileIsAskedAgain)
{
    auto const store = std::make_shared<RefusingStore>(*store_);
    store->failing_lists = 5;
    auto one = check("A", {}, "127.0.0.0/8", store);
    auto other = check("B");
    EXPECT_TRUE(one.get());
    EXPECT_TRUE(other.get());
    store->failing_lists = 1'000'000;
    auto const found = check("A", meet_within(Millis{100}), "127.0.0.0/8", store).get();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ExitCode::unavailable);
    EXPECT_THAT(found.error().message(), HasSubstr("503 Slow Down"));
}

}  // namespace
}  // namespace curtail::bridge
