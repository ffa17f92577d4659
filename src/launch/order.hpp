#pragma once
#include <filesystem>
#include <string>

#include "config/site.hpp"
#include "core/ids.hpp"
#include "plan/job.hpp"

namespace curtail::launch {

/// What all jobs of one site have in common.
struct JobOrder {
    RunId run;
    SiteId site;
    std::filesystem::path run_file;  ///< absolute
    std::filesystem::path folder;    ///< the site's: its jobs' working folder, logs and records
    std::filesystem::path build;     ///< the job's CURTAIL_BUILD, with the programs in its bin/; empty: not told
    int ranks{1};
    config::Launcher how;
};

/// What a job carries with it to be recognised by.
struct Comment {
    WindowId window;
    plan::IntentId intent;
};

/// `curtail-<run>-<site>`.
[[nodiscard]] std::string job_name(JobOrder const& order);
/// `{"run":"demo","site":"SPP_TX","window":"...","intent":"i1768151100000"}`.
[[nodiscard]] std::string comment_text(JobOrder const& order, Comment const& comment);
/// Reads comment_text of the same run and site; of anything else both parts are empty.
[[nodiscard]] Comment read_comment(JobOrder const& order, std::string const& text);

}  // namespace curtail::launch
