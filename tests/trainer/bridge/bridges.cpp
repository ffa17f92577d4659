// SPDX-License-Identifier: Apache-2.0
// Leaders that meet in a store.
#include "trainer/bridge/bridges.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/core/clock.hpp"
#include "exchange.hpp"
#include "protocol/chain/run_objects.hpp"
#include "support/forwarding_store.hpp"
#include "support/memory_store.hpp"
#include "trainer/bridge/meeting.hpp"

namespace curtail::bridge {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Seconds long_enough{20};
MemberId const a{"A.00000001.1"};
MemberId const b{"B.00000002.3"};
MemberId const c{"C.00000003.5"};
Network const local = *Network::parse("127.0.0.0/8");

class Meeting : public testing::Test {
  protected:
    std::unique_ptr<Bridges> site(BridgeLimits limits = {})
    {
        limits.pause = Millis{5};
        return std::make_unique<Bridges>(
            MeetingPlace::Parts{store_, {"r"}, exchange_.ends(), {local}}, log(), limits);
    }
    Log log()
    {
        return Log([this](Level, std::string_view text) {
            std::lock_guard const lock(mutex_);
            log_ += std::string(text) + "\n";
        });
    }
    std::string logged()
    {
        std::lock_guard const lock(mutex_);
        return log_;
    }
    static void wait_for(std::function<bool()> const& condition)
    {
        auto const until = monotonic_now() + long_enough;
        while (!condition() && monotonic_now() < until) std::this_thread::sleep_for(Millis{1});
        EXPECT_TRUE(condition());
    }
    static bool connected(Bridges const& bridges, MemberId const& other)
    {
        auto const states = bridges.states();
        auto const found = states.find(other);
        return found != states.end() && found->second.connected;
    }
    static std::string state(Bridges const& bridges, MemberId const& other)
    {
        auto const states = bridges.states();
        auto const found = states.find(other);
        return found == states.end() ? "unknown" : found->second.why;
    }
    void put(std::string const& name, std::string const& text)
    {
        ASSERT_TRUE(store_->put(*chain::object_name({"r"}, name), Pieces(std::string_view(text))));
    }
    static tl::expected<std::string, std::string> fetch(Bridges& from, MemberId const& owner,
                                                        std::string const& text)
    {
        std::string found;
        auto const take = [&](std::span<std::byte const> piece) { found += store::text_of(piece); };
        return from
            .fetch(owner, sha256(text), std::ssize(text), take, {{}, monotonic_now() + long_enough})
            .map([&] { return found; });
    }
    static OfferedPayload offer_of(std::string const& text)
    {
        return {std::ssize(text), [text](std::size_t offset, std::span<std::byte> place) {
                    return Pieces(std::string_view(text)).copy(offset, place) == place.size();
                }};
    }

    std::shared_ptr<store::MemoryStore> store_{std::make_shared<store::MemoryStore>()};
    test::Exchange exchange_;
    std::mutex mutex_;
    std::string log_;
};

TEST_F(Meeting, MembersMeetInPairsAndFetchFromEachOther)
{
    std::map<MemberId, std::unique_ptr<Bridges>> sites;
    for (auto const& member : {a, b, c}) sites[member] = site();
    for (auto const& [member, bridges] : sites) bridges->set_members(member, {a, b, c});
    for (auto const& one : sites) {
        one.second->offers().add(sha256(one.first.value), offer_of(one.first.value));
        for (auto const& other : sites)
            if (&other != &one) wait_for([&] { return connected(*one.second, other.first); });
    }
    for (auto const& [member, bridges] : sites)
        for (auto const& [other, none] : sites) {
            if (other != member) { EXPECT_EQ(fetch(*bridges, other, other.value), other.value); }
        }
    EXPECT_EQ(exchange_.connects, 3);
    EXPECT_THAT(logged(), HasSubstr("exchanges payloads with B ("));
    EXPECT_THAT(logged(), testing::Not(HasSubstr("no MPI connection")));
}

TEST_F(Meeting, MembersThatOneCommitAdmittedMeet)
{
    MemberId const one{"A.00000001.3"};
    MemberId const other{"B.00000002.3"};
    auto const first = site();
    auto const second = site();
    first->set_members(one, {one, other});
    second->set_members(other, {one, other});
    wait_for([&] { return connected(*first, other) && connected(*second, one); });
}

TEST_F(Meeting, ALaterMemberIsMetToo)
{
    auto const first = site();
    first->set_members(a, {a});
    auto const second = site();
    second->set_members(b, {a, b});
    first->set_members(a, {a, b});
    wait_for([&] { return connected(*first, b) && connected(*second, a); });
    EXPECT_FALSE(fetch(*second, c, "x")) << "it is no member";
}

TEST_F(Meeting, AMemberThatLeavesIsForgotten)
{
    auto const first = site();
    auto second = site();
    first->set_members(a, {a, b});
    second->set_members(b, {a, b});
    wait_for([&] { return connected(*first, b) && connected(*second, a); });
    first->set_members(a, {a});
    EXPECT_THAT(first->states(), IsEmpty());
    wait_for([&] { return !connected(*second, a); });
    auto const found = fetch(*second, a, "x");
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error(), HasSubstr("has left"));
}

TEST_F(Meeting, AnEndedConnectionIsNotMadeAgain)
{
    auto const first = site();
    auto second = site();
    first->set_members(a, {a, b});
    second->set_members(b, {a, b});
    wait_for([&] { return connected(*first, b) && connected(*second, a); });
    second.reset();
    wait_for([&] { return !connected(*first, b); });
    EXPECT_THAT(logged(), HasSubstr("the MPI connection with B has ended: it has left"));
    EXPECT_THAT(logged(), Not(HasSubstr("no MPI connection")));
}

TEST_F(Meeting, ASiteThatDoesNotConnectIsNotWaitedForLong)
{
    BridgeLimits limits;
    limits.look = Millis{100};
    auto const older = site(limits);
    older->set_members(a, {a, b});
    wait_for([&] { return state(*older, b).find("did not meet") != std::string::npos; });
    EXPECT_EQ(exchange_.connects, 0);
}

// A store to which this site may not write.
class ReadOnlyStore : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<store::CreateOutcome> create(store::ObjectName const&, std::span<std::byte const>,
                                        CallLimits const&) override
    {
        ++creates;
        return fail(ExitCode::permission, "cannot create it", "403 Forbidden");
    }
    std::atomic<int> creates{0};
};

TEST_F(Meeting, ASiteThatMayNotAnnounceItselfSaysSoOnce)
{
    auto const forbidden = std::make_shared<ReadOnlyStore>(*store_);
    BridgeLimits limits;
    limits.pause = Millis{5};
    Bridges bridges({forbidden, {"r"}, exchange_.ends(), {local}}, log(), limits);
    bridges.set_members(a, {a, b});
    wait_for([&] { return state(bridges, b).find("cannot announce itself") != std::string::npos; });
    EXPECT_EQ(forbidden->creates, 1) << "rights do not change by themselves";
    EXPECT_THAT(logged(), HasSubstr("cannot announce itself: cannot create it: 403 Forbidden"));
    EXPECT_EQ(logged().find("announce"), logged().rfind("announce"));
}

// A store that fails once.
class FailingStore : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        if (++creates == 1) return fail(ExitCode::temporary, "cannot create it", "503 Slow Down");
        return ForwardingStore::create(name, bytes, call);
    }
    std::atomic<int> creates{0};
};

// A store whose answers to the first creations are lost.
class ForgetfulStore : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        auto const n = ++creates;
        if (n == 1) return store::CreateOutcome::unknown;  // nothing was created
        auto const created = ForwardingStore::create(name, bytes, call);
        return n == 2 ? Result<store::CreateOutcome>(store::CreateOutcome::unknown) : created;
    }
    std::atomic<int> creates{0};
};

TEST_F(Meeting, ALostAnswerOfTheStoreDoesNotPreventTheMeeting)
{
    auto const forgetful = std::make_shared<ForgetfulStore>(*store_);
    BridgeLimits limits;
    limits.pause = Millis{5};
    Bridges second({forgetful, {"r"}, exchange_.ends(), {local}}, log(), limits);
    second.set_members(b, {a, b});
    auto const first = site();
    first->set_members(a, {a, b});
    wait_for([&] { return connected(*first, b) && connected(second, a); });
}

TEST_F(Meeting, AStoreThatFailsOnceLateIsNotComplainedAbout)
{
    auto const failing = std::make_shared<FailingStore>(*store_);
    BridgeLimits limits;
    limits.pause = Millis{5};
    limits.look = Seconds{1};
    Bridges second({failing, {"r"}, exchange_.ends(), {local}}, log(), limits);
    // This process becomes a member later than members look for each other.
    std::this_thread::sleep_for(limits.look + Millis{100});
    second.set_members(b, {a, b});
    auto const first = site();
    first->set_members(a, {a, b});
    wait_for([&] { return connected(*first, b) && connected(second, a); });
    EXPECT_GE(failing->creates, 2);
    EXPECT_THAT(logged(), Not(HasSubstr("cannot announce itself")));
}

TEST_F(Meeting, AReadThatHangsDoesNotKeepOthersFromMeeting)
{
    BridgeLimits limits;
    limits.patience = Millis{300};
    auto const first = site(limits);
    auto const second = site();
    first->set_members(a, {a, b});
    second->set_members(b, {a, b});
    wait_for([&] { return connected(*first, b) && connected(*second, a); });
    auto const release = std::make_shared<std::atomic<bool>>(false);
    first->offers().add(sha256(std::string_view("x")), {1, [release](auto, auto) {
                                                            while (!*release)
                                                                std::this_thread::yield();
                                                            return false;
                                                        }});
    std::thread fetching([&] { (void)fetch(*second, a, "x"); });
    second->set_members({"B.00000002.9"}, {a});  // it leaves
    auto const third = site();
    first->set_members(a, {a, c});
    third->set_members(c, {a, c});
    wait_for([&] { return connected(*first, c) && connected(*third, a); });
    *release = true;
    fetching.join();
}

TEST_F(Meeting, NotAllMeetAtTheSameTime)
{
    std::vector<MemberId> members{a};
    for (int i = 2; i < 30; ++i)
        members.push_back({"S" + std::to_string(i) + ".00000001." + std::to_string(i)});
    for (auto const& member : members)
        put("mpi/" + announcement_name(member), encode(Announcement{"host", make_token(), {}}));
    BridgeLimits limits;
    limits.patience = Millis{200};  // none of them shows a token
    auto const first = site(limits);
    first->set_members(a, members);
    wait_for([&] { return exchange_.waits == 28; });
    EXPECT_LE(exchange_.most_at_once, 9) << "8, and one that is just ending";
}

TEST_F(Meeting, AProcessThatBecomesAnotherMemberMeetsAllAgain)
{
    auto const first = site();
    auto const second = site();
    first->set_members(a, {a, b});
    second->set_members(b, {a, b});
    wait_for([&] { return connected(*first, b) && connected(*second, a); });
    MemberId const again{"B.00000002.9"};
    first->set_members(a, {a});
    second->set_members(again, {a, again});
    first->set_members(a, {a, again});
    wait_for([&] { return connected(*first, again) && connected(*second, a); });
    EXPECT_THAT(logged(), Not(HasSubstr("no MPI connection")));
}

TEST_F(Meeting, AStrangerThatSaysNothingIsNamedAsTheReason)
{
    BridgeLimits limits;
    limits.patience = Millis{300};
    auto const first = site(limits);
    first->set_members(a, {a, b});
    put("mpi/" + announcement_name(b), encode(Announcement{"host", make_token(), {}}));
    wait_for([&] { return store_->names().size() == 3; });
    auto const silent = exchange_.ends().connect_to({exchange_.server, "1"}, CallLimits{});
    ASSERT_TRUE(silent);
    wait_for([&] { return state(*first, b).find("did not show its token") != std::string::npos; });
    EXPECT_THAT(logged(), HasSubstr("no MPI connection with B: it did not show its token"));
}

TEST_F(Meeting, AMemberOfTheSameSiteIsNoPartner)
{
    auto const bridges = site();
    bridges->set_members(a, {a, {"A.00000009.7"}});
    EXPECT_THAT(bridges->states(), IsEmpty());
}

TEST_F(Meeting, RecordsThatAreNoneAreRefused)
{
    std::string const good =
        R"({"host":"h","port":"1","server":"1.0;tcp://127.0.0.1:5","time":"2026-01-01T00:00:00Z","token":")" +
        std::string(64, '0') + "\"}";
    ASSERT_TRUE(decode_invitation(good)) << decode_invitation(good).error().message();
    std::vector<std::string> bad{"", "{}", "[]",
                                 "{\"host\":\"h\",\"token\":\"" + std::string(64, '0') + "\"}"};
    using Texts = std::pair<std::string, std::string>;
    for (auto const& [from, to] :
         {Texts{"\"port\":\"1\"", "\"port\":1"}, Texts{std::string(64, '0'), "00"},
          Texts{"\"port\"", "\"prot\""}}) {
        auto text = good;
        bad.push_back(text.replace(text.find(from), from.size(), to));
    }
    int n = 0;
    for (auto const& text : bad) {
        EXPECT_FALSE(decode_invitation(text)) << text;
        MemberId const newer{"B.0000000" + std::to_string(n++) + ".3"};
        put("mpi/" + invitation_name(a, newer), text);
        auto const bridges = site();
        bridges->set_members(newer, {a, newer});
        wait_for([&] { return state(*bridges, a).find("member") != std::string::npos; });
    }
    EXPECT_EQ(exchange_.connects, 0);
}

TEST_F(Meeting, AnAddressOutsideTheNetworksIsNotConnectedWith)
{
    for (std::string const server :
         {"12.0;tcp://10.0.0.1:5000", "12.0;tcp://127.0.0.1,10.0.0.1:5000", "127.0.0.1:5000",
          "12.0;tcp://127.0.0.1:5000;rm", "12.0;tcp://localhost:5000", "12.0;tcp6://[::1]:5000",
          "12.0;tcp://127.0.0.1:0", "12.0;tcp://127.0.0.1:99999", "x.0;tcp://127.0.0.1:5",
          "12;tcp://127.0.0.1:5", "file:/etc/passwd", ""}) {
        EXPECT_FALSE(check_address({server, "1"}, {local})) << server;
    }
    for (std::string const port : {"", "1 2", "a", "1;2", "--x", "1\n"})
        EXPECT_FALSE(check_address({"12.0;tcp://127.0.0.1:5000", port}, {local})) << port;
    EXPECT_TRUE(check_address({"12.0;tcp://127.0.0.1,127.0.0.2:5000", "12.0:34"}, {local}));
    exchange_.server = "12.0;tcp://10.0.0.1:5000";
    auto const first = site();
    auto const second = site();
    first->set_members(a, {a, b});
    second->set_members(b, {a, b});
    wait_for([&] { return state(*second, a).find("mpi.peers") != std::string::npos; });
    EXPECT_EQ(exchange_.connects, 0);
}

TEST_F(Meeting, AStalePortOfAnEndedJobCostsAWarning)
{
    put("mpi/" + invitation_name(a, b),
        encode(Invitation{{"12.0;tcp://127.0.0.1:5000", "99"}, "host", make_token(), {}}));
    auto const bridges = site();
    bridges->set_members(b, {a, b});
    wait_for([&] { return state(*bridges, a).find("no such port") != std::string::npos; });
    EXPECT_THAT(logged(), HasSubstr("no MPI connection with A"));
}

TEST_F(Meeting, AWrongTokenOfTheStoreIsRefused)
{
    auto const first = site();
    first->set_members(a, {a});
    wait_for([&] { return store_->names().size() == 1; });
    put("mpi/" + announcement_name(b), encode(Announcement{"host", make_token(), {}}));
    first->set_members(a, {a, b});
    // Somebody else connects in its place.
    wait_for([&] { return store_->names().size() == 3; });
    auto end = exchange_.ends().connect_to({exchange_.server, "1"}, CallLimits{});
    ASSERT_TRUE(end);
    auto const hello = encode(FrameHead{FrameType::hello, 0, protocol_version});
    auto const token = make_token();
    Pieces frame(hello);
    frame.add(std::as_bytes(std::span(token)));
    ASSERT_TRUE((*end)->send(frame, monotonic_now() + long_enough));
    wait_for([&] { return state(*first, b).find("wrong token") != std::string::npos; });
}

}  // namespace
}  // namespace curtail::bridge
