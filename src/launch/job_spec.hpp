// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "config/site.hpp"
#include "core/ids.hpp"
#include "plan/job.hpp"

namespace curtail::launch {

/// What all jobs of one site of one run have in common.
struct JobSpec {
    RunId run;
    SiteId site;
    std::string folder_id;           ///< distinguishes two runs of one name: run_folder_id()
    std::filesystem::path run_file;  ///< absolute
    std::filesystem::path folder;    ///< the site's folder: working folder, logs and job records
    std::filesystem::path build;     ///< CURTAIL_BUILD of the job, with the programs in its bin/;
                                     ///< empty: not set
    int ranks{1};
    config::Launcher launcher;
};

/// The part of a job's comment that differs from job to job.
struct Comment {
    WindowId window;
    plan::IntentId intent;
};

/// A job's comment and the run that it names.
struct ParsedComment {
    enum class Owner {
        ours,
        other,   ///< another run, site or folder
        unknown  ///< not a comment of Curtail
    };
    Owner owner{Owner::unknown};
    Comment comment;  ///< empty if the owner is unknown
};

/// The first 8 hex digits of the SHA-256 of the folder's absolute path, without symbolic links:
/// `printf %s "$(realpath DIR)" | sha256sum`.
[[nodiscard]] std::string hash_path(std::filesystem::path const& run_folder);
/// `curtail.<run>.<site>.<folder id>`. No part contains a dot.
[[nodiscard]] std::string job_name(JobSpec const& spec);
/// `{"run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"...","intent":"i1768151100000"}`.
[[nodiscard]] std::string comment_text(JobSpec const& spec, Comment const& comment);
[[nodiscard]] ParsedComment parse_comment(JobSpec const& spec, std::string const& text);

}  // namespace curtail::launch
