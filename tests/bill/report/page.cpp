// SPDX-License-Identifier: Apache-2.0
#include "bill/report/page.hpp"

#include <gmock/gmock.h>

#include "base/compress/gzip.hpp"
#include "base/core/base64.hpp"
#include "base/core/digest.hpp"
#include "bill/account/thin.hpp"
#include "bill/report/document.hpp"
#include "bill/report/html.hpp"

namespace curtail::report {
namespace {

using account::Account;
using account::thin_dots;
using account::thin_line;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Account account_named(std::string const& name)
{
    Account account;
    account.name = name;
    account.title = name;
    account.time_zero = parse_time("2026-01-11T17:00Z").value();
    account.notes.emplace_back(name, name);
    return account;
}

std::string page_of(Account const& account, std::string plotly)
{
    return page(document(account, std::nullopt), std::move(plotly));
}

TEST(Page, ForeignTextNeverBecomesMarkup)
{
    auto const html = page_of(account_named("</script><script>alert(1)</script>"), "1;");
    EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(html, HasSubstr("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
    EXPECT_THAT(html, HasSubstr("<h1>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;<span"));
}

TEST(Page, PolicyAllowsOnlyTheTwoScriptsInside)
{
    std::string const plotly = "var x = \"</script>\";";
    auto const html = page_of(account_named("demo"), plotly);
    auto const policy = html.substr(html.find("Content-Security-Policy"), 400);
    EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
    auto const script_sources = policy.substr(policy.find("script-src"),
                                              policy.find("style-src") - policy.find("script-src"));
    EXPECT_THAT(script_sources, Not(HasSubstr("unsafe")));
    EXPECT_THAT(script_sources, HasSubstr("'sha256-" + to_base64(sha256(plotly).bytes) + "'"));
    EXPECT_THAT(html, HasSubstr(">" + to_base64(gzip(plotly)) + "</script>"));
    EXPECT_THAT(html, Not(HasSubstr(plotly)));
    EXPECT_THAT(html, Not(HasSubstr("{{")));
}

TEST(Page, PlaceholdersInsideValuesAreOnlyText)
{
    auto const html = page_of(account_named("{{PLOTLY}}"), "the_library();");
    auto const packed = to_base64(gzip("the_library();"));
    EXPECT_NE(html.find(packed), std::string::npos);
    EXPECT_EQ(html.find(packed), html.rfind(packed));
}

TEST(Page, NamesNoServerOfPlotly)
{
    auto const html = page_of(account_named("demo"), "u=\"https://cdn.jsdelivr.net/npm/x\";");
    EXPECT_THAT(html, HasSubstr(to_base64(gzip("u=\"x\";"))));
}

TEST(EscapeHtml, LeavesNoMarkupAndNoControlCharacters)
{
    EXPECT_EQ(escape_html("<a href='x'>\"&\""), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;");
    EXPECT_EQ(escape_html("a\x1b[1m"), "a\\x1b[1m");
}

TEST(Thin, KeepsFirstLastPeaksAndDips)
{
    std::vector<std::optional<double>> values(100'000, 1.0);
    values[54'321] = 9;
    values[12'345] = -9;
    auto const kept = thin_line(values, 4000);
    EXPECT_LE(kept.size(), 4000U);
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    EXPECT_EQ(kept.front(), 0U);
    EXPECT_EQ(kept.back(), values.size() - 1);
    EXPECT_THAT(kept, testing::IsSupersetOf({std::size_t{54'321}, std::size_t{12'345}}));
}

TEST(Thin, KeepsGaps)
{
    std::vector<std::optional<double>> values(50'000, 1.0);
    values[777] = std::nullopt;
    auto const kept = thin_line(values, 4000);
    EXPECT_THAT(kept, testing::Contains(std::size_t{777}));
}

TEST(Thin, KeepsShortLinesAndEveryNthDot)
{
    std::vector<std::optional<double>> const values{3, 1, 2};
    EXPECT_THAT(thin_line(values, 8), ElementsAre(0, 1, 2));
    EXPECT_THAT(thin_dots(10, 4), ElementsAre(0, 3, 6, 9));
    EXPECT_THAT(thin_dots(0, 4), ElementsAre());
}

}  // namespace
}  // namespace curtail::report
