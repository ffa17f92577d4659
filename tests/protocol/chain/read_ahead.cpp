// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/read_ahead.hpp"

#include <gtest/gtest.h>

#include "protocol/records/names.hpp"
#include "support/counting_store.hpp"
#include "support/memory_store.hpp"

namespace curtail::chain {
namespace {

struct Ahead : testing::Test {
    Ahead()
    {
        for (int n = 1; n <= 2000; ++n) {
            names.push_back(protocol::header_name({"A.00000001.2"}, {n}));
            if (n % 7 == 0) continue;  // missing
            auto const stored =
                store.put(*object_name({"r"}, names.back()), store::bytes_of(std::to_string(n)));
            if (!stored) throw std::runtime_error(stored.error().message());
        }
    }
    std::string const& name(int n) { return names.at(static_cast<std::size_t>(n) - 1); }
    std::optional<std::string> expected(int n)
    {
        return n % 7 == 0 ? std::nullopt : std::optional(std::to_string(n));
    }
    store::MemoryStore store;
    curtail::test::CountingStore counted{store};
    RunObjects objects{counted, {"r"}};
    std::vector<std::string> names;
};

TEST_F(Ahead, ReturnsEachRecordAndReadsItOnce)
{
    ReadAhead in_order(objects, names);
    for (int n = 1; n <= 2000; ++n) EXPECT_EQ(in_order.record(name(n)).value(), expected(n));
    EXPECT_EQ(counted.take(), 2000);
}

TEST_F(Ahead, NamesMayBeLeftOutOrStandOutsideTheOrder)
{
    ReadAhead some(objects, names);
    for (int n = 3; n <= 2000; n += 500) EXPECT_EQ(some.record(name(n)).value(), expected(n));
    EXPECT_EQ(some.record(name(1)).value(), expected(1)) << "too late, but right";
    EXPECT_EQ(some.record(protocol::run_name).value(), std::nullopt);
    ASSERT_TRUE(store.put(*object_name({"r"}, protocol::run_name), store::bytes_of("run")));
    EXPECT_EQ(some.record(protocol::run_name).value(), "run");
}

}  // namespace
}  // namespace curtail::chain
