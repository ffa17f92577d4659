// SPDX-License-Identifier: Apache-2.0
// What each type of store holds, as its listings show it.
#include "operate/list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/counting_store.hpp"
#include "support/each_store.hpp"

namespace curtail::operate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ListOf : public curtail::test::EachStore {
  protected:
    void put(std::string const& name, std::string_view content = "x")
    {
        ASSERT_TRUE(store_->put(*store::ObjectName::parse(name), store::bytes_of(content)));
    }
    std::unique_ptr<store::ObjectStore> store_{new_store()};
};

TEST_P(ListOf, RunsAreFoundWithoutReadingAllTheirNames)
{
    EXPECT_THAT(list_runs(*store_).value(), IsEmpty());
    for (std::string const run : {"a", "a-1", "a0", "ab", "z"}) {
        put("runs/" + run + "/run.json");
        for (int n = 1; n <= 5; ++n)
            put("runs/" + run + "/commits/0000000" + std::to_string(n) + ".json");
    }
    curtail::test::CountingStore counted(*store_);
    EXPECT_THAT(list_runs(counted).value(),
                ElementsAre(RunId{"a-1"}, RunId{"a"}, RunId{"a0"}, RunId{"ab"}, RunId{"z"}));
    EXPECT_EQ(counted.take(), 6);
}

TEST_P(ListOf, ObjectsAreCountedByKind)
{
    put("runs/a/run.json", "12345");
    put("runs/a/commits/00000001.json", "123");
    put("runs/a/commits/00000002.json", "1234");
    put("runs/a/models/1/A.01234567.0-1/w0.h5", "123456");
    put("runs/ab/models/1/A.01234567.0-1/w0.h5", "123456");
    int visited = 0;
    auto const kinds =
        count_objects(*store_, {"a"}, [&](store::ListedObject const&) { ++visited; }).value();
    EXPECT_EQ(visited, 4);
    ASSERT_EQ(kinds.size(), 3U);
    EXPECT_EQ(kinds.at("commits").objects, 2);
    EXPECT_EQ(kinds.at("commits").size, Bytes{7});
    EXPECT_LE(kinds.at("commits").oldest, kinds.at("commits").newest);
    EXPECT_EQ(kinds.at("models").size, Bytes{6});
    EXPECT_EQ(kinds.at("run.json").objects, 1);
    EXPECT_THAT(count_objects(*store_, {"none"}).value(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Each, ListOf, curtail::test::every_store, curtail::test::name_of_store);

}  // namespace
}  // namespace curtail::operate
