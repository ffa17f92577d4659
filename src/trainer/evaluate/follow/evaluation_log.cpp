// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate/follow/evaluation_log.hpp"

#include "base/core/clock_file.hpp"
#include "run/journal/site_log.hpp"

namespace curtail::follow {
namespace {

std::filesystem::path file_of(config::Run const& run, SiteId const& site)
{
    return journal::local_file(run, site, journal::Stream::evaluation);
}

}  // namespace

EvaluationLog::EvaluationLog(config::Run const& run, SiteId site,
                             std::shared_ptr<store::ObjectStore> store, Log const& log,
                             FileLock lock)
    : run_(run),
      site_(std::move(site)),
      store_(std::move(store)),
      log_(log),
      lock_(std::move(lock)),
      publisher_(run_, site_, journal::Source::evaluator, journal::Publisher::Hold::always, store_,
                 // The replay's clock is for people who read the stream.
                 {.clock = read_clock(run_.folder).value_or(std::nullopt)}, log_)
{
}

Result<EvaluationLog> EvaluationLog::open(config::Run const& run, SiteId const& site,
                                          std::shared_ptr<store::ObjectStore> store, Log const& log)
{
    auto const folder = file_of(run, site).parent_path();
    if (auto made = make_folder(folder); !made) return tl::unexpected(made.error());
    auto lock = FileLock::take(folder / "follow.lock");
    if (!lock) {
        auto error = lock.error().with_context("cannot follow run " + run.run.value + " at site " +
                                               site.value);
        if (error.code == ExitCode::temporary)
            error.remedy = "end the other process first, or follow the run at another site";
        return tl::unexpected(error);
    }
    return EvaluationLog(run, site, std::move(store), log, std::move(*lock));
}

Result<void> EvaluationLog::read()
{
    auto const found = journal::LogReader(run_, store_).read(site_, journal::Stream::evaluation);
    if (!found) return tl::unexpected(found.error());
    for (auto const& problem : found->problems) log_.warning("damaged journal: " + problem);
    lines_ = runlog::parse_held_out(found->text).lines;
    return {};
}

Result<void> EvaluationLog::append(runlog::HeldOutLine line)
{
    auto const text = json::to_string(runlog::to_json(line));
    if (auto appended = append_line(file_of(run_, site_), text, true); !appended) return appended;
    lines_.push_back(std::move(line));
    return {};
}

}  // namespace curtail::follow
