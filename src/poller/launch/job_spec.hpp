// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/core/ids.hpp"
#include "poller/plan/job.hpp"
#include "run/config/site.hpp"

namespace curtail::launch {

/// What all jobs of one site of one run have in common.
struct JobSpec {
    RunId run;
    SiteId site;
    std::string folder_id;  ///< id of the run's folder (run_folder_id()); distinguishes runs with
                            ///< the same name
    std::filesystem::path run_file;  ///< absolute path of the run's file
    std::filesystem::path folder;    ///< the site's folder
    /// Folder for the output of jobs, open to its owner only. Slurm follows links when it opens a
    /// job's output, as the owner.
    std::filesystem::path logs;
    /// Path that jobs receive as CURTAIL_BUILD: a folder with the programs in its bin/. An empty
    /// path means that jobs do not receive the variable.
    std::filesystem::path build;
    int ranks{1};
    config::LaunchSettings launch;
    /// The group of a shared run: jobs of its members count. Empty: only those of the user.
    std::optional<gid_t> shared_group{};
};

/// The part of a job's comment that differs between the jobs of a site.
struct Comment {
    WindowId window;
    plan::IntentId intent;
};

/// The result of parsing a job's comment.
struct ParsedComment {
    /// To whom the job with this comment belongs.
    enum class Owner {
        ours,    ///< a job of this run and site, in the same run folder
        other,   ///< a job of another run or site, or of another run folder
        unknown  ///< the comment does not have the form that comment_text() writes
    };
    Owner owner{Owner::unknown};
    Comment comment;  ///< empty if `owner` is `unknown`
};

/// Returns the first 8 hex digits of the SHA-256 of the folder's absolute path without symbolic
/// links. The command `printf %s "$(realpath DIR)" | sha256sum` prints the whole SHA-256.
[[nodiscard]] std::string hash_path(std::filesystem::path const& run_folder);
/// Returns the name of a site's jobs, `curtail.<run>.<site>.<folder id>`. None of the three parts
/// contains a dot.
[[nodiscard]] std::string job_name(JobSpec const& spec);
/// Writes a comment such as
/// `{"run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"...","intent":"i1768151100000"}`.
[[nodiscard]] std::string comment_text(JobSpec const& spec, Comment const& comment);
/// Parses the comment `text` of a job, and compares it with `spec`.
[[nodiscard]] ParsedComment parse_comment(JobSpec const& spec, std::string const& text);

}  // namespace curtail::launch
