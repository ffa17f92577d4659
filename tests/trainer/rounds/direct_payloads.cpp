// SPDX-License-Identifier: Apache-2.0
// Payloads that come from the site that made them, and those that come from the store instead.
#include "trainer/rounds/direct_payloads.hpp"

#include <gmock/gmock.h>

#include "base/core/clock.hpp"
#include "protocol/records/names.hpp"
#include "support/eventually.hpp"
#include "support/memory_store.hpp"
#include "trainer/bridge/exchange.hpp"
#include "trainer/rounds/payload_transport.hpp"

namespace curtail::trainer {
namespace {

using testing::HasSubstr;

MemberId const a{"A.00000001.1"};
MemberId const b{"B.00000002.2"};

// Two sites with one store, connected with each other.
class DirectWay : public testing::Test {
  protected:
    struct Site {
        std::shared_ptr<DirectPayloads> direct;
        PayloadTransport transport;
    };
    Site site(MemberId const& own)
    {
        bridge::BridgeLimits limits;
        limits.pause = Millis{5};
        auto const bridges = std::make_shared<bridge::Bridges>(
            bridge::MeetingPlace::Parts{
                store_, {"test"}, exchange_.ends(), {*Network::parse("127.0.0.0/8")}},
            Log(), limits);
        bridges_.push_back(bridges);
        auto const direct = std::make_shared<DirectPayloads>(bridges, Seconds{20});
        direct->set_members(own, {a, b});
        return {direct, PayloadTransport(store_, layout_, direct)};
    }
    void wait_until_connected()
    {
        ASSERT_TRUE(test::eventually([&] {
            return std::ranges::all_of(bridges_, [](auto const& bridges) {
                auto const states = bridges->states();
                return !states.empty() && states.begin()->second.connected;
            });
        }));
    }
    static protocol::PayloadPlace delta_of(MemberId const& member)
    {
        return {"d0", protocol::delta_name({1}, member, {1})};
    }
    static Values values() { return std::make_shared<std::vector<float> const>(2, 1.5F); }
    protocol::PartRef put(Site const& site, protocol::PayloadPlace const& place,
                          Values const& values)
    {
        auto const part = site.transport.put(place, values, {});
        EXPECT_TRUE(part);
        return *part;
    }
    void remove(protocol::PartRef const& part)
    {
        EXPECT_TRUE(store_->remove(*store::ObjectName::parse("runs/test/" + part.name)));
    }

    std::shared_ptr<store::MemoryStore> store_{std::make_shared<store::MemoryStore>()};
    payload::Layout layout_{{"test"}, {{"w", {2}}}};
    test::Exchange exchange_;
    std::vector<std::shared_ptr<bridge::Bridges>> bridges_;
    Site a_{site(a)};
    Site b_{site(b)};
};

TEST_F(DirectWay, APayloadComesFromItsOwner)
{
    wait_until_connected();
    auto const part = put(a_, delta_of(a), values());
    a_.direct->offer(layout_, part, values());
    remove(part);  // only the owner has it now
    auto const found = b_.transport.get(part, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(**found, *values());
    std::vector<float> passed;
    auto const take = [&](std::size_t, std::span<float const> some) {
        passed.insert(passed.end(), some.begin(), some.end());
    };
    ASSERT_TRUE(b_.transport.pass(part, {take}, {}));
    EXPECT_EQ(passed, *values());
    auto const read = b_.direct->take_read();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->by_mpi.value, 2 * part.bytes);
    EXPECT_EQ(read->from_store.value, 0);
    EXPECT_FALSE(b_.direct->take_read());
}

TEST_F(DirectWay, TheStoreHasWhatTheOwnerDoesNotOffer)
{
    wait_until_connected();
    auto const part = put(a_, delta_of(a), values());
    ASSERT_TRUE(b_.transport.get(part, {}));
    auto read = b_.direct->take_read();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->from_store.value, part.bytes);
    EXPECT_THAT(read->why_store, HasSubstr("does not offer"));
    a_.direct->offer(layout_, part, values());
    ASSERT_TRUE(b_.transport.direct_until(MonoTime{}).get(part, {}));
    EXPECT_THAT(b_.direct->take_read()->why_store, HasSubstr("no time"));
    ASSERT_TRUE(b_.transport.get(part, {}));
    EXPECT_EQ(b_.direct->take_read()->by_mpi.value, part.bytes);
    a_.direct->withdraw(part);
    ASSERT_TRUE(b_.transport.get(part, {}));
    EXPECT_EQ(b_.direct->take_read()->by_mpi.value, 0);
}

TEST_F(DirectWay, OtherBytesThanTheOwnerPromisedAreRefused)
{
    wait_until_connected();
    auto const part = put(a_, delta_of(a), values());
    a_.direct->offer(layout_, part, std::make_shared<std::vector<float> const>(2, 9.0F));
    auto const found = b_.transport.get(part, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(**found, *values()) << "from the store";
    EXPECT_THAT(b_.direct->take_read()->why_store, HasSubstr("another digest"));
}

TEST_F(DirectWay, AnOwnPayloadIsReadFromWhatTheSiteOffers)
{
    auto const part = put(a_, delta_of(a), values());  // nobody holds these values
    a_.direct->offer(layout_, part, values());
    remove(part);
    auto const found = a_.transport.get(part, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(**found, *values());
    EXPECT_FALSE(a_.direct->take_read()) << "nothing came from another site";
}

TEST_F(DirectWay, AnOwnPayloadWhoseValuesHaveChangedIsReadFromTheStore)
{
    auto const made = std::make_shared<std::vector<float>>(2, 1.5F);
    auto const part = put(a_, delta_of(a), made);
    (*made)[0] = 7;
    auto const found = a_.transport.get(part, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(**found, *values());
    EXPECT_FALSE(a_.direct->take_read());
}

}  // namespace
}  // namespace curtail::trainer
