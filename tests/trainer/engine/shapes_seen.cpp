// SPDX-License-Identifier: Apache-2.0
// Micro-batches with a number of rows that the site has not computed before.
#include "trainer/engine/shapes_seen.hpp"

#include <gmock/gmock.h>

#include "trainer/job/small_training.hpp"

namespace curtail::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ShapesSeen, AreNewOnceAndNotInTheFirstStep)
{
    ShapesSeen shapes;
    for (std::int64_t const rows : {8, 8, 4}) shapes.computed(rows);
    EXPECT_THAT(shapes.end_step(), IsEmpty());
    for (std::int64_t const rows : {8, 3, 4, 2, 3}) shapes.computed(rows);
    EXPECT_THAT(shapes.end_step(), ElementsAre(3, 2));
    for (std::int64_t const rows : {2, 3}) shapes.computed(rows);
    EXPECT_THAT(shapes.end_step(), IsEmpty());
}

using NewShapes = test::SmallTraining;

// Ten blocks: steps of 16, 16 and 8 rows.
TEST_F(NewShapes, OfTheLastStepAreInItsMetricsAndInTheLog)
{
    configure(1, 0, 1, R"("tokens": 1280, )");
    ASSERT_TRUE(train(true)) << log_text_;
    std::vector<std::optional<std::int64_t>> found;
    for (auto const& row : metrics()) found.push_back(row.integer_at("new_shapes"));
    EXPECT_THAT(found, ElementsAre(std::nullopt, std::nullopt, 1));
    EXPECT_THAT(log_text_, HasSubstr("a step computed a micro-batch of 8 rows for the first time"));
    EXPECT_THAT(log_text_, Not(HasSubstr("micro-batch of 16 rows")));
}

}  // namespace
}  // namespace curtail::trainer
