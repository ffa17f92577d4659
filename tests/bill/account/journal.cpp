// SPDX-License-Identifier: Apache-2.0
// The account of a synthetic run whose logs are in the store.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "base/core/clock_file.hpp"
#include "base/core/files.hpp"
#include "bill/account/account_of.hpp"
#include "bill/account/audit.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/synthetic_run.hpp"
#include "bill/account/timeline.hpp"
#include "bill/report/document.hpp"
#include "protocol/chain/chain.hpp"
#include "run/journal/publisher.hpp"
#include "run/journal/verify.hpp"
#include "run/samples/trace.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::account {
namespace {

namespace fs = std::filesystem;
using journal::Stream;
using testing::HasSubstr;

class PublishedRun : public testing::Test {
  protected:
    PublishedRun()
    {
        test::write_synthetic_run(folder_.path(), {});
        run_ = config::read_run(folder_ / "run.json").value();
        auto const trace = samples::read_trace(folder_ / "trace.csv").value();
        for (auto const& site : run_.sites) {
            auto const samples = trace.samples(site.region).value();
            samples::SampleLog log(run_.poller_folder(site.site) / "signals.jsonl");
            log.add(site.region, samples);
            EXPECT_TRUE(log.write());
        }
    }
    // Publishes all local files, as if it were `now`.
    void publish(Time now) const
    {
        std::shared_ptr<store::ObjectStore> const store = store::open_store(run_.store).value();
        journal::WriterOptions options;
        options.now = [now] { return now; };
        options.clock = read_clock(run_.folder).value();
        for (auto const& site : run_.sites)
            for (auto const source : {journal::Source::poller, journal::Source::trainer})
                EXPECT_TRUE(journal::Publisher(run_, site.site, source,
                                               journal::Publisher::Hold::always, store, options, {})
                                .publish({}));
        set_store_time(now);
    }
    // The store's clock shows `now` when the objects are stored.
    void set_store_time(Time now) const
    {
        timespec const time{to_unix_ms(now) / 1000, 0};
        std::array const times{time, time};
        for (auto const& entry :
             fs::recursive_directory_iterator(folder_ / "store/runs/demo/journal"))
            utimensat(AT_FDCWD, entry.path().c_str(), times.data(), 0);
    }
    void remove_local_files() const
    {
        for (auto const* name : {"sites", "poller", "clock.json", "cache"})
            fs::remove_all(folder_ / name);
    }
    [[nodiscard]] Account account() const
    {
        auto const files = load_run(folder_ / "run.json", {.trace = folder_ / "trace.csv"});
        EXPECT_TRUE(files) << files.error().message();
        return account_of(*files);
    }
    [[nodiscard]] std::string verified_digest() const
    {
        std::shared_ptr<store::ObjectStore> const store = store::open_store(run_.store).value();
        chain::ChainSummary chain;
        chain.run.run = run_.run;
        for (auto const& site : run_.sites) chain.run.sites.push_back(site.site);
        auto const commits = chain::read_chain({*store, run_.run}, chain::Check::links).value();
        for (auto const& commit : commits) chain.digests.push_back(protocol::encode(commit).sha256);
        chain.tip = commits.back();
        return journal::verify_journals(store, chain).value().run_digest.hex();
    }
    // The document without the statements about the journal.
    [[nodiscard]] static std::string figures(Account const& account)
    {
        auto doc = report::document(account, std::nullopt);
        auto audit = *doc.find("audit")->as_object();
        json::Array lines;
        for (auto const& line : *audit.find("lines")->as_array())
            if (auto const key = line.as_object()->text_at("key"); key != "logs" && key != "digest")
                lines.push_back(line);
        audit.set("lines", lines);
        audit.set("run_digest", nullptr);
        doc.set("audit", audit);
        return json::to_string(doc);
    }
    [[nodiscard]] static std::string logs_line(Account const& account)
    {
        for (auto const& line : audit_of(account))
            if (line.key == "logs") return line.text;
        return "";
    }
    [[nodiscard]] fs::path file(std::size_t site, Stream stream) const
    {
        return journal::local_file(run_, run_.sites.at(site).site, stream);
    }
    // Keeps the lines of a site's local files that were written until `until`.
    void cut(std::size_t site, Time until) const
    {
        for (auto const stream : {Stream::poller, Stream::trainer}) {
            auto const all = runlog::read_events(file(site, stream)).value().events;
            fs::remove(file(site, stream));
            for (auto const& event : all)
                if (event.time <= until) (void)runlog::EventLog(file(site, stream)).append(event);
        }
        auto const steps =
            runlog::parse_metrics(read_file(file(site, Stream::metrics)).value()).steps;
        fs::remove(file(site, Stream::metrics));
        for (auto const& step : steps)
            if (step.time <= until) (void)runlog::append_metrics(file(site, Stream::metrics), step);
    }
    void append(std::size_t site, Stream stream, std::string const& line) const
    {
        std::ofstream(file(site, stream), std::ios::app) << line << "\n";
    }
    [[nodiscard]] Time end() const { return last_.value(); }
    // A time in the middle of the last job of a site.
    [[nodiscard]] Time middle_of_last_job(std::size_t site)
    {
        auto const files = load_run(folder_ / "run.json", {.trace = folder_ / "trace.csv"}).value();
        auto const timeline = timeline_of(files);
        last_ = timeline.end;
        auto const& job = timeline.sites.at(site).jobs.back();
        return job.begin + (*job.end - job.begin) / 2;
    }

    curtail::test::TemporaryFolder folder_;
    config::Run run_;
    std::optional<Time> last_;
    Time const later_{from_unix_ms(1'900'000'000'000)};
};

TEST_F(PublishedRun, HasTheSameFiguresWithoutItsLocalFiles)
{
    auto const local = account();
    EXPECT_EQ(logs_line(local), "");
    publish(later_);
    EXPECT_EQ(figures(account()), figures(local));
    EXPECT_EQ(logs_line(account()), "") << "this machine has the files";
    remove_local_files();
    EXPECT_EQ(figures(account()), figures(local));
    EXPECT_THAT(logs_line(account()), HasSubstr("CAISO_NORTH: published until 2030-03-17"));
    EXPECT_EQ(figures(account()), figures(local)) << "from the cache";
}

TEST_F(PublishedRun, LocalLinesThatAreNotPublishedCount)
{
    auto const local = account();
    auto const middle = middle_of_last_job(0);
    auto const whole = folder_ / "whole";
    fs::copy(folder_ / "sites", whole, fs::copy_options::recursive);
    cut(0, middle);
    publish(later_);
    fs::remove_all(folder_ / "sites");
    fs::copy(whole, folder_ / "sites", fs::copy_options::recursive);
    auto const mixed = account();
    EXPECT_EQ(mixed.sites[0].bill.total.energy, local.sites[0].bill.total.energy);
    EXPECT_EQ(mixed.sites[0].unpublished, 0);
}

// The digest stands for the lines, not for the way in which they are published.
TEST_F(PublishedRun, RunDigestIsThatOfTheLines)
{
    auto const digest = [&] { return account().run_digest.value().hex(); };
    auto const local = digest();
    auto const whole = folder_ / "whole";
    fs::create_directory(whole);
    for (auto const* name : {"sites", "poller"})
        fs::copy(folder_ / name, whole / name, fs::copy_options::recursive);
    cut(0, middle_of_last_job(0));
    EXPECT_NE(digest(), local) << "lines are gone";
    publish(later_);
    for (auto const* name : {"sites", "poller"})
        fs::copy(whole / name, folder_ / name,
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    EXPECT_EQ(digest(), local) << "the rest is not published";
    publish(later_);
    EXPECT_EQ(digest(), local) << "in several pieces";
    remove_local_files();
    EXPECT_EQ(digest(), local);
    EXPECT_EQ(digest(), local) << "from the cache";
    auto const metrics = folder_ / "store/runs/demo/journal/CAISO_NORTH/metrics";
    EXPECT_EQ(verified_digest(), local);
    fs::remove(metrics / "00000002.jsonl");
    fs::remove_all(folder_ / "cache");
    auto const shorter = digest();
    EXPECT_NE(shorter, local);
    ASSERT_TRUE(write_file(metrics / "00000002.jsonl", "x"));
    fs::remove_all(folder_ / "cache");
    EXPECT_NE(digest(), shorter) << "it knows that lines are missing";
}

TEST_F(PublishedRun, MissingEndIsNotYetPublished)
{
    auto const local = account();
    auto const middle = middle_of_last_job(0);
    cut(0, middle);
    publish(middle);
    set_store_time(later_);
    remove_local_files();
    auto const partial = account();
    auto const& site = partial.sites[0];
    EXPECT_EQ(site.publication.until, middle);
    EXPECT_DOUBLE_EQ(site.unpublished, FractionalSeconds(end() - middle).count());
    EXPECT_THAT(logs_line(partial),
                HasSubstr("CAISO_NORTH: not yet published after " + utc_text(middle)));
    EXPECT_LT(site.bill.total.energy, local.sites[0].bill.total.energy);
    EXPECT_EQ(site.bill.total.bound, energy::Bound::at_least);
    EXPECT_EQ(partial.sites[1].bill.total.bound, energy::Bound::exact);
    EXPECT_NEAR(site.states.back().when.to_s, local.sites[0].states.back().when.to_s,
                partial.clock_factor * FractionalSeconds(end() - middle).count());
    EXPECT_LT(site.states.back().when.to_s, local.sites[0].states.back().when.to_s);
    EXPECT_FALSE(total_of(partial).known_carbon());
    EXPECT_THAT(partial.missing.at("carbon"), HasSubstr("CAISO_NORTH"));
    std::vector<std::string> titles;
    for (auto const& [title, text] : partial.notes) titles.push_back(title);
    EXPECT_THAT(titles, testing::Contains("Not yet published"));
}

TEST(Unpublished, ShortEndIsNamedButMakesNoFigureABound)
{
    SiteAccount site;
    site.states.push_back({"training", {0, 4 * 3600}});
    site.publication.is_remote = true;
    site.publication.until = from_unix_ms(1'768'151'100'000);
    EXPECT_THAT(publication_text(site), HasSubstr("published until 2026-01-11"));
    site.unpublished = 60;
    EXPECT_FALSE(lacks_energy(site, 1));
    EXPECT_TRUE(lacks_energy(site, 300)) << "a minute of a replay is five hours";
    EXPECT_THAT(publication_text(site), HasSubstr("not yet published after 2026-01-11"));
    EXPECT_THAT(publication_text(site), HasSubstr("1m00s with devices"));
    site.unpublished = 100;
    EXPECT_TRUE(lacks_energy(site, 1));
}

TEST(Publication, EvaluationsSayNothingAboutTheJobsOfASite)
{
    SiteLogs logs;
    auto& trainer = logs.texts.at(static_cast<std::size_t>(Stream::trainer));
    auto& evaluation = logs.texts.at(static_cast<std::size_t>(Stream::evaluation));
    trainer.pieces = 1;
    trainer.until = from_unix_ms(1'768'151'100'000);
    evaluation.pieces = 1;
    evaluation.until = *trainer.until + Millis{600'000};
    evaluation.reaches_local = true;  // this machine evaluates; the site's jobs run elsewhere
    evaluation.problems = {"piece 1 of journal/A/evaluation is damaged"};
    auto const publication = publication_of(logs);
    EXPECT_TRUE(publication.is_remote);
    EXPECT_EQ(publication.until, trainer.until);
    EXPECT_EQ(publication.problems, evaluation.problems);
}

TEST_F(PublishedRun, SiteWithoutAJournalIsNamed)
{
    publish(later_);
    remove_local_files();
    fs::remove_all(folder_ / "store/runs/demo/journal/NEM_SA");
    auto const partial = account();
    EXPECT_THAT(logs_line(partial), HasSubstr("NEM_SA: nothing is published yet"));
    EXPECT_FALSE(total_of(partial).known_carbon()) << "the model includes its work";
}

TEST_F(PublishedRun, DamagedPieceIsNamed)
{
    publish(later_);
    remove_local_files();
    auto const piece = folder_ / "store/runs/demo/journal/NEM_SA/metrics/00000001.jsonl";
    auto bytes = read_file(piece).value();
    bytes.back() = '?';
    ASSERT_TRUE(write_file(piece, bytes));
    auto const partial = account();
    EXPECT_THAT(logs_line(partial), HasSubstr("damaged: piece 1 of journal/NEM_SA/metrics"));
    EXPECT_THAT(logs_line(partial), HasSubstr("SPP_TX: published until"));
}

TEST_F(PublishedRun, LinesAboutAnotherSiteDoNotCount)
{
    auto const local = account();
    append(0, Stream::trainer,
           R"({"time":"2026-11-21T09:00:00Z","type":"trainer-start","site":"NEM_SA","job":"x"})");
    append(0, Stream::poller,
           R"({"time":"2026-11-21T09:00:00Z","type":"window-open","site":"SPP_TX","window":"w"})");
    append(0, Stream::signals,
           R"({"region":"NEM_SA","time":"2026-01-11T17:05:00Z","intensity_gco2_per_kwh":1})");
    publish(later_);
    remove_local_files();
    auto const files = load_run(folder_ / "run.json", {.trace = folder_ / "trace.csv"}).value();
    EXPECT_EQ(test::broken_lines_of(files), 3);
    auto const found = account_of(files);
    for (std::size_t s = 0; s < 3; ++s)
        EXPECT_EQ(found.sites[s].bill.total, local.sites[s].bill.total) << s;
    EXPECT_EQ(found.windows.size(), local.windows.size());
    auto const live = load_run(folder_ / "run.json").value();
    EXPECT_EQ(test::broken_lines_of(live), 3);
    EXPECT_TRUE(live.wrong_samples.faulty.empty());
}

TEST_F(PublishedRun, LinesWithImpossibleTimesDoNotCount)
{
    auto const local = account();
    for (auto const* time : {"9999-01-01T00:00:00Z", "1970-01-01T00:00:00Z"}) {
        append(0, Stream::trainer,
               std::string(R"({"time":")") + time + R"(","type":"state","site":"CAISO_NORTH"})");
        append(0, Stream::metrics,
               std::string(R"({"time":")") + time +
                   R"(","step":1,"round":1,"tokens":1,"progress_tokens":1,"loss":1,"step_s":1})");
    }
    publish(later_);
    remove_local_files();
    auto const files = load_run(folder_ / "run.json", {.trace = folder_ / "trace.csv"}).value();
    EXPECT_EQ(test::broken_lines_of(files), 4);
    EXPECT_EQ(account_of(files).end_s, local.end_s);
}

}  // namespace
}  // namespace curtail::account
