// SPDX-License-Identifier: Apache-2.0
// Two ends of a connection, and ends that misbehave.
#include "trainer/bridge/connection.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <random>

#include "base/core/clock.hpp"
#include "socket_end.hpp"
#include "support/eventually.hpp"

namespace curtail::bridge {
namespace {

using test::SocketEnd;
using testing::HasSubstr;

constexpr Millis short_patience{300};
std::string const token_a(64, 'a');
std::string const token_b(64, 'b');

std::vector<std::byte> random_bytes(std::size_t count)
{
    std::mt19937 generator(7);
    std::vector<std::byte> bytes(count);
    for (auto& byte : bytes) byte = static_cast<std::byte>(generator());
    return bytes;
}

OfferedPayload offer_of(std::vector<std::byte> const& bytes)
{
    return {static_cast<std::int64_t>(bytes.size()),
            [bytes](std::size_t offset, std::span<std::byte> place) {
                return Pieces(bytes).copy(offset, place) == place.size();
            }};
}

MonoTime in(Millis time) { return monotonic_now() + time; }
constexpr Seconds long_enough{20};

// The side under test. It shows token b, and expects token a.
struct Side {
    explicit Side(std::unique_ptr<FrameStream> stream, Millis patience = long_enough)
        : connection(std::move(stream), offers,
                     {{token_a, token_b}, patience, [this](std::string const& why) {
                          std::lock_guard const lock(mutex);
                          ends.push_back(why);
                      }})
    {
    }
    tl::expected<std::vector<std::byte>, std::string> fetch(Digest const& digest, std::size_t size,
                                                            Millis time = long_enough)
    {
        std::vector<std::byte> found;
        auto const take = [&](std::span<std::byte const> piece) {
            found.insert(found.end(), piece.begin(), piece.end());
        };
        return connection.fetch(digest, static_cast<std::int64_t>(size), take, {{}, in(time)})
            .map([&] { return found; });
    }
    // Waits until the connection has said that it has ended. It must say so once.
    void wait_until_told()
    {
        auto const until = in(long_enough);
        auto const told = [&] {
            std::lock_guard const lock(mutex);
            return ends.size();
        };
        while (told() == 0 && monotonic_now() < until) std::this_thread::sleep_for(Millis{1});
        EXPECT_EQ(told(), 1U);
    }
    std::mutex mutex;
    std::vector<std::string> ends;
    std::shared_ptr<Offers> offers{std::make_shared<Offers>()};
    Connection connection;
};

// The other side, by hand.
class Other {
  public:
    explicit Other(std::unique_ptr<SocketEnd> end) : end_(std::move(end)) {}
    void say(FrameHead const& head, std::span<std::byte const> body = {})
    {
        auto const encoded = encode(head);
        Pieces pieces(encoded);
        pieces.add(body);
        (void)end_->send(pieces, in(long_enough));
    }
    void say_hello(std::string const& token = token_a)
    {
        say({FrameType::hello, 0, protocol_version}, std::as_bytes(std::span(token)));
    }
    // The id of the next request.
    std::uint64_t request()
    {
        for (;;) {
            auto const frame = end_->receive(in(long_enough));
            if (!frame || !*frame) return 0;
            auto const decoded = decode(**frame);
            if (decoded && decoded->head.type == FrameType::request) return decoded->head.id;
        }
    }
    void close() { end_->end(); }
    SocketEnd& end() { return *end_; }

  private:
    std::unique_ptr<SocketEnd> end_;
};

struct Pair {
    explicit Pair(Millis patience = long_enough)
    {
        auto [one, two] = test::connected_ends();
        side.emplace(std::move(one), patience);
        other.emplace(std::move(two));
    }
    void meet()
    {
        other->say_hello();
        ASSERT_TRUE(side->connection.wait_until_ready(in(long_enough)));
    }
    std::optional<Side> side;
    std::optional<Other> other;
};

// Two sides that have met.
struct TwoSides {
    TwoSides()
    {
        auto [one, two] = test::connected_ends();
        a.emplace(std::move(one));
        b.emplace(std::move(two), offers, Connection::Settings{{token_b, token_a}, long_enough});
        EXPECT_TRUE(a->connection.wait_until_ready(in(long_enough)));
        EXPECT_TRUE(b->wait_until_ready(in(long_enough)));
    }
    std::shared_ptr<Offers> offers{std::make_shared<Offers>()};  ///< of b
    std::optional<Side> a;
    std::optional<Connection> b;
};

TEST(Connection, BothSidesFetchFromEachOtherAtTheSameTime)
{
    TwoSides sides;
    auto& a = *sides.a;
    auto& b = *sides.b;
    auto const& offers = sides.offers;
    for (std::size_t const size : {std::size_t{1}, largest_body - 1, largest_body,
                                   2 * largest_body + 1, std::size_t{30'000'000}}) {
        auto const from_a = random_bytes(size);
        auto const from_b = random_bytes(size + 3);
        a.offers->add(sha256(from_a), offer_of(from_a));
        offers->add(sha256(from_b), offer_of(from_b));
        std::vector<std::byte> at_b;
        std::thread fetching([&] {
            auto const take = [&](std::span<std::byte const> piece) {
                at_b.insert(at_b.end(), piece.begin(), piece.end());
            };
            EXPECT_TRUE(b.fetch(sha256(from_a), static_cast<std::int64_t>(size), take,
                                {{}, in(long_enough)}));
        });
        auto const at_a = a.fetch(sha256(from_b), size + 3);
        fetching.join();
        ASSERT_TRUE(at_a) << at_a.error();
        EXPECT_TRUE(*at_a == from_b);
        EXPECT_TRUE(at_b == from_a);
    }
}

TEST(Connection, SeveralFetchesWaitForEachOther)
{
    TwoSides sides;
    auto& a = *sides.a;
    auto const& offers = sides.offers;
    auto const bytes = random_bytes(1'000'000);
    offers->add(sha256(bytes), offer_of(bytes));
    constexpr int count = 8;
    std::vector<std::thread> threads;
    threads.reserve(count);
    std::atomic<int> good{0};
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 5; ++n) {
                auto const found = a.fetch(sha256(bytes), bytes.size());
                good += found && *found == bytes ? 1 : 0;
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(good, 40);
}

TEST(Connection, BytesThatAreNotOfferedAreRefusedAndTheConnectionGoesOn)
{
    TwoSides sides;
    auto& a = *sides.a;
    auto const& offers = sides.offers;
    auto const bytes = random_bytes(1000);
    for (int i = 0; i < 50; ++i) {
        auto const none = a.fetch(sha256(bytes), bytes.size());
        ASSERT_FALSE(none);
        EXPECT_THAT(none.error(), HasSubstr("does not offer"));
    }
    offers->add(sha256(bytes), offer_of(bytes));
    EXPECT_FALSE(a.fetch(sha256(bytes), bytes.size() + 1)) << "the size differs";
    EXPECT_TRUE(a.fetch(sha256(bytes), bytes.size()));
}

TEST(Connection, WhatASideHasReadForTheOtherArrivesBeforeItLeaves)
{
    for (int n = 0; n < 100; ++n) {
        TwoSides sides;
        auto const bytes = random_bytes(1000);
        auto const offered = offer_of(bytes);
        sides.offers->add(sha256(bytes), {std::ssize(bytes), [&](auto offset, auto place) {
                                              sides.b->say_leave();
                                              return offered.read(offset, place);
                                          }});
        auto const found = sides.a->fetch(sha256(bytes), bytes.size());
        ASSERT_TRUE(found) << found.error();
        sides.a->wait_until_told();
        EXPECT_EQ(sides.a->ends.front(), Connection::has_left);
    }
}

TEST(Connection, APeerThatNeverSpeaksEndsIt)
{
    Pair pair(short_patience);
    EXPECT_FALSE(pair.side->connection.wait_until_ready(in(long_enough)));
    EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr("did not show its token"));
    EXPECT_FALSE(pair.side->fetch({}, 10));
}

TEST(Connection, AWrongTokenOrVersionEndsIt)
{
    for (auto const& token :
         {std::string(64, 'b'), std::string(63, 'a'), std::string(65, 'a'), std::string()}) {
        Pair pair;
        pair.other->say_hello(token);
        EXPECT_FALSE(pair.side->connection.wait_until_ready(in(long_enough)));
        EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr("wrong token"));
    }
    Pair pair;
    pair.other->say({FrameType::hello, 0, 2}, std::as_bytes(std::span(token_a)));
    EXPECT_FALSE(pair.side->connection.wait_until_ready(in(long_enough)));
    EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr("version 2"));
}

TEST(Connection, APeerThatAsksBeforeItsTokenGetsNothing)
{
    Pair pair;
    auto const bytes = random_bytes(1000);
    pair.side->offers->add(sha256(bytes), offer_of(bytes));
    auto const digest = sha256(bytes);
    pair.other->say({FrameType::request, 1, bytes.size()}, std::as_bytes(std::span(digest.bytes)));
    EXPECT_FALSE(pair.side->connection.wait_until_ready(in(long_enough)));
    EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr("token first"));
}

struct Nonsense {
    char const* why;
    std::function<void(Other&, std::uint64_t id)> say;
};

std::vector<std::byte> const ten = random_bytes(10);

// What a peer says after a request of 10 bytes.
std::vector<Nonsense> const nonsense{
    {"another digest",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id, 1});
         o.say({FrameType::data, id, 0}, ten);
     }},
    {"do not follow",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::data, id, 0}, ten);
     }},
    {"do not follow",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id, 1});
         o.say({FrameType::data, id, 1}, std::span(ten).first(2));
     }},
    {"do not follow",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id, 1});
         o.say({FrameType::data, id + 1, 0}, ten);
     }},
    {"do not follow",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id, 1});
         o.say({FrameType::data, id, 0}, random_bytes(11));
     }},
    {"do not follow",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id, 1});
         o.say({FrameType::data, id, 0});
     }},
    {"replied to nothing",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id + 1, 1});
     }},
    {"replied to nothing",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id, 1});
         o.say({FrameType::reply, id, 1});
     }},
    {"hello twice", [](Other& o, std::uint64_t) { o.say_hello(); }},
    {"no digest",
     [](Other& o, std::uint64_t) {
         o.say({FrameType::request, 1, 10}, ten);
     }},
    {"no frame",
     [](Other& o, std::uint64_t) {
         o.say({static_cast<FrameType>(9), 1, 1});
     }},
    {"no frame", [](Other& o, std::uint64_t) { (void)o.end().send(Pieces(ten), in(long_enough)); }},
    {"closed", [](Other& o, std::uint64_t) { o.close(); }},
    {"sent nothing", [](Other&, std::uint64_t) {}},
    {"sent nothing",
     [](Other& o, std::uint64_t id) {
         o.say({FrameType::reply, id, 1});
     }},
};

TEST(Connection, NonsenseEndsItAndCostsAtMostThePatience)
{
    for (auto const& [why, say] : nonsense) {
        Pair pair(std::string_view(why) == "sent nothing" ? short_patience : Millis{long_enough});
        pair.meet();
        auto const began = monotonic_now();
        std::thread other([&, &speak = say] { speak(*pair.other, pair.other->request()); });
        auto const found = pair.side->fetch(sha256(std::string_view("x")), 10);
        other.join();
        ASSERT_FALSE(found) << why;
        EXPECT_THAT(found.error(), HasSubstr(why));
        EXPECT_LT(monotonic_now() - began, short_patience + Seconds{5});
        EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr(why));
        EXPECT_FALSE(pair.side->fetch({}, 10)) << "it is of no use any more";
        pair.side->wait_until_told();
    }
}

TEST(Connection, AFetchEndsAtItsTime)
{
    Pair pair;
    pair.meet();
    auto const began = monotonic_now();
    std::atomic<bool> done{false};
    std::thread other([&] {
        auto const id = pair.other->request();
        pair.other->say({FrameType::reply, id, 1});
        for (std::uint64_t i = 0; !done; ++i) {  // slow, but not without progress
            pair.other->say({FrameType::data, id, i}, std::span(ten).first(1));
            std::this_thread::sleep_for(Millis{20});
        }
    });
    auto const found = pair.side->fetch({}, 1'000'000, Millis{500});
    done = true;
    other.join();
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error(), HasSubstr("time for the transfer"));
    EXPECT_LT(monotonic_now() - began, Seconds{5});
}

TEST(Connection, ACancelledFetchEndsAtOnceAndTheConnectionGoesOn)
{
    TwoSides sides;
    auto const bytes = random_bytes(3 * largest_body);
    auto const small = random_bytes(10);
    std::atomic<bool> go_on{false};
    auto const offered = offer_of(bytes);
    sides.offers->add(sha256(bytes), {std::ssize(bytes), [&](auto offset, auto place) {
                                          while (offset > 0 && !go_on) std::this_thread::yield();
                                          return offered.read(offset, place);
                                      }});
    sides.offers->add(sha256(small), offer_of(small));
    std::stop_source stop;
    auto const begun = [&](std::span<std::byte const>) { stop.request_stop(); };
    auto const cancelled = sides.a->connection.fetch(sha256(bytes), std::ssize(bytes), begun,
                                                     {stop.get_token(), in(long_enough)});
    ASSERT_FALSE(cancelled);
    EXPECT_THAT(cancelled.error(), HasSubstr("nobody needs it"));
    // The other end is still sending.
    auto const busy = sides.a->fetch(sha256(small), small.size());
    ASSERT_FALSE(busy);
    EXPECT_THAT(busy.error(), HasSubstr("still sends"));
    go_on = true;
    EXPECT_TRUE(test::eventually([&] { return sides.a->fetch(sha256(small), small.size()); }));
    auto const again = sides.a->fetch(sha256(bytes), bytes.size());
    ASSERT_TRUE(again) << again.error();
    EXPECT_TRUE(*again == bytes);
}

TEST(Connection, ACancelledFetchThatMakesNoProgressEndsItWithTheNext)
{
    Pair pair(short_patience);
    pair.meet();
    std::stop_source stop;
    std::thread other([&] {
        (void)pair.other->request();
        stop.request_stop();
    });
    EXPECT_FALSE(
        pair.side->connection.fetch({}, 10, [](auto) {}, {stop.get_token(), in(long_enough)}));
    other.join();
    EXPECT_TRUE(test::eventually([&] {
        (void)pair.side->fetch({}, 10);
        return !pair.side->connection.why_ended().empty();
    }));
    EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr("sent nothing"));
}

TEST(Connection, TwoRequestsAtATimeEndIt)
{
    Pair pair;
    pair.meet();
    auto const digest = sha256(ten);
    std::atomic<bool> go{false};
    // The first answer takes so long that the second request arrives meanwhile.
    pair.side->offers->add(digest, {10, [&](std::size_t, std::span<std::byte>) {
                                        while (!go) std::this_thread::sleep_for(Millis{1});
                                        return true;
                                    }});
    for (std::uint64_t id = 1; id <= 2; ++id)
        pair.other->say({FrameType::request, id, 10}, std::as_bytes(std::span(digest.bytes)));
    auto const until = in(long_enough);
    while (pair.side->connection.why_ended().empty() && monotonic_now() < until)
        std::this_thread::sleep_for(Millis{1});
    go = true;
    EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr("two requests"));
}

TEST(Connection, AnOfferThatCannotBeReadEndsIt)
{
    Pair pair;
    pair.meet();
    auto const digest = sha256(ten);
    pair.side->offers->add(digest, {10, [](std::size_t, std::span<std::byte>) { return false; }});
    pair.other->say({FrameType::request, 1, 10}, std::as_bytes(std::span(digest.bytes)));
    auto const until = in(long_enough);
    while (pair.side->connection.why_ended().empty() && monotonic_now() < until)
        std::this_thread::sleep_for(Millis{1});
    EXPECT_THAT(pair.side->connection.why_ended(), HasSubstr("cannot read"));
}

TEST(Connection, ItsEndEndsAFetchThatWaits)
{
    Pair pair;
    pair.meet();
    std::thread ending([&] {
        (void)pair.other->request();
        pair.side->connection.end("enough");
    });
    auto const found = pair.side->fetch({}, 10);
    ending.join();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error(), "enough");
}

}  // namespace
}  // namespace curtail::bridge
