// SPDX-License-Identifier: Apache-2.0
#include "storage/store/object_name.hpp"

#include <gtest/gtest.h>

namespace curtail::store {
namespace {

TEST(ObjectName, EveryFormOfTheProtocolIsAccepted)
{
    for (auto const* good : {
             "runs/demo/run.json",
             "runs/demo/probe/NEM_SA.0123abcd-1",
             "runs/demo/commits/00000001.json",
             "runs/demo/contrib/NEM-SA.0123abcd.12/3.json",
             "runs/demo/deltas/7/NEM_SA.0123abcd.12/3/w0.h5",
             "runs/demo/models/7/NEM_SA.0123abcd.12-2/m0_b.h5",
             "runs/demo/merge/7/1.json",
             "runs/demo/status/NEM_SA.json",
             "runs/demo/amendments/12.json",
             "runs/demo/repair/7/1.json",
             "runs/demo/journal/NEM_SA/poller/00000001.jsonl",
             "runs/demo/journal/NEM_SA/signals/00000001.jsonl",
             "runs/demo/journal/NEM_SA/trainer/00000001.jsonl",
             "runs/demo/journal/NEM_SA/metrics/99999999.jsonl",
             "runs/demo/journal/NEM_SA/evaluation/00000001.jsonl",
         }) {
        auto const name = ObjectName::parse(good);
        ASSERT_TRUE(name) << name.error().message();
        EXPECT_EQ(name->text(), good);
    }
}

TEST(ObjectName, TextOfAnyOtherFormIsRefused)
{
    using namespace std::string_literals;
    for (auto const& bad : {
             ""s,
             "/"s,
             "runs"s,
             "runs/demo"s,
             "run.json"s,
             "/runs/demo/run.json"s,
             "runs/demo/run.json/"s,
             "runs//run.json"s,
             "runs/../run.json"s,
             "runs/demo/../../etc/passwd"s,
             "runs/demo/commits/../run.json"s,
             "runs/demo/./run.json"s,
             "runs/demo/run.json\0"s,
             "runs/de\0mo/run.json"s,
             "runs/demo/run.json\n"s,
             "runs/d emo/run.json"s,
             "Runs/demo/run.json"s,
             "runs/demo/commits/1.json"s,
             "runs/demo/commits/000000001.json"s,
             "runs/demo/commits/0000000a.json"s,
             "runs/demo/commits/.json"s,
             "runs/demo/commits/00000001"s,
             "runs/demo/commits/00000001.json.tmp"s,
             "runs/demo/contrib/A/1.json"s,
             "runs/demo/contrib/A.0123abcd/1.json"s,
             "runs/demo/contrib/A.0123ABCD.1/1.json"s,
             "runs/demo/contrib/A.0123abcd.123456789/1.json"s,
             "runs/demo/contrib/.0123abcd.1/1.json"s,
             "runs/demo/contrib/A.0123abcd.1/-1.json"s,
             "runs/demo/contrib/A.0123abcd.1/1234567890123456789.json"s,
             "runs/demo/deltas/7/A.0123abcd.1/3/W.h5"s,
             "runs/demo/deltas/7/A.0123abcd.1/3/.h5"s,
             "runs/demo/deltas/7/A.0123abcd.1/w.h5"s,
             "runs/demo/models/7/A.0123abcd.1/w.h5"s,
             "runs/demo/models/7/A.0123abcd-1/w.h5"s,
             "runs/demo/models/x/A.0123abcd.1-1/w.h5"s,
             "runs/demo/probe/A.0123abcd"s,
             "runs/demo/probe/A-1"s,
             "runs/demo/journal/A/metrics/1.jsonl"s,
             "runs/demo/journal/A/metrics/00000001.json"s,
             "runs/demo/journal/A/other/00000001.jsonl"s,
             "runs/demo/journal/../metrics/00000001.jsonl"s,
             "runs/demo/journal/A/B/metrics/00000001.jsonl"s,
             "runs/demo/status/..json"s,
             "runs/demo/status/.json"s,
             "runs/demo/status/"s + std::string(33, 'a') + ".json"s,
             std::string(100'000, 'a'),
         }) {
        auto const name = ObjectName::parse(bad);
        ASSERT_FALSE(name) << bad;
        EXPECT_EQ(name.error().code, ExitCode::protocol);
        EXPECT_LT(name.error().message().size(), 2000U);
    }
}

TEST(ObjectName, IsSplitIntoFolderAndFile)
{
    auto const name = *ObjectName::parse("runs/demo/commits/00000001.json");
    EXPECT_EQ(name.folder(), "runs/demo/commits");
    EXPECT_EQ(name.file(), "00000001.json");
}

}  // namespace
}  // namespace curtail::store
