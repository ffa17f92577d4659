// SPDX-License-Identifier: Apache-2.0
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
    std::string mark;  ///< of the run's folder, which tells two runs of one name apart: run_mark()
    std::filesystem::path run_file;  ///< absolute
    std::filesystem::path folder;    ///< the site's: its jobs' working folder, logs and records
    std::filesystem::path
        build;  ///< the job's CURTAIL_BUILD, with the programs in its bin/; empty: not told
    int ranks{1};
    config::Launcher how;
};

/// What a job carries with it to be recognised by.
struct Comment {
    WindowId window;
    plan::IntentId intent;
};

/// Whose a job is, by its comment.
struct Claim {
    enum class Owner {
        us,
        another,  ///< another run, site or folder
        nobody    ///< it is no comment of this kind
    };
    Owner owner{Owner::nobody};
    Comment comment;  ///< empty if it is nobody's
};

/// The first 8 hex digits of the SHA-256 of the folder's absolute path, without symbolic links:
/// `printf %s "$(realpath DIR)" | sha256sum`.
[[nodiscard]] std::string folder_mark(std::filesystem::path const& run_folder);
/// `curtail.<run>.<site>.<mark>`. None of the parts has a dot.
[[nodiscard]] std::string job_name(JobOrder const& order);
/// `{"run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"...","intent":"i1768151100000"}`.
[[nodiscard]] std::string comment_text(JobOrder const& order, Comment const& comment);
[[nodiscard]] Claim read_comment(JobOrder const& order, std::string const& text);

}  // namespace curtail::launch
