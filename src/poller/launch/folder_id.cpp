// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/folder_id.hpp"

#include <sys/stat.h>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "poller/launch/job_spec.hpp"

namespace curtail::launch {
namespace {

// The content of mark.json. A file system numbers a folder once, whatever path it is mounted at.
struct FolderRecord {
    std::string id;     // stored as `mark`
    std::string path;   // made printable: JSON holds only UTF-8, a path any bytes
    std::string inode;  // empty if the folder does not exist
};

FolderRecord describe(std::filesystem::path const& run_folder)
{
    std::error_code error;
    auto const path = std::filesystem::weakly_canonical(run_folder, error);
    struct stat status {};
    bool const exists = stat(run_folder.c_str(), &status) == 0;
    return {hash_path(run_folder), printable((error ? run_folder : path).string()),
            exists ? std::to_string(status.st_ino) : ""};
}

FolderRecord read_record(json::ObjectReader& r)
{
    FolderRecord record{r.text("mark"), r.text("path"), r.text("inode")};
    bool const is_hex = record.id.find_first_not_of("0123456789abcdef") == std::string::npos;
    r.require(record.id.size() == 8 && is_hex, "mark", "must be 8 hex digits");
    return record;
}

// Another process may create the file meanwhile.
Result<void> ensure_record(std::filesystem::path const& run_folder,
                           std::filesystem::path const& file)
{
    if (auto made = make_folder(run_folder); !made) return made;
    std::error_code error;
    if (std::filesystem::exists(file, error)) return {};
    auto const record = describe(run_folder);
    json::Object const content{{"mark", record.id}, {"path", record.path}, {"inode", record.inode}};
    return create_file(file, json::to_string(content) + "\n");
}

}  // namespace

Result<std::string> run_folder_id(std::filesystem::path const& run_folder, bool create)
{
    auto const file = run_folder / "mark.json";
    if (create)
        if (auto made = ensure_record(run_folder, file); !made) return tl::unexpected(made.error());
    auto record = json::read_record(file, read_record);
    if (!record) {
        if (record.error().code != ExitCode::io)
            record.error().remedy =
                "restore it from a copy; or remove it, if the run's folder was never moved or the "
                "run has no jobs";
        return tl::unexpected(record.error());
    }
    auto const now = describe(run_folder);
    if (!*record) return now.id;
    auto const& known = **record;
    if (known.path == now.path || known.inode == now.inode) return known.id;
    return fail(ExitCode::config, now.path + " is a copy of a run's folder",
                file.string() + " was created for " + known.path +
                    ", and the jobs of both folders would be indistinguishable",
                "start a run in a new folder; if you moved the folder, write its new path into "
                "that file");
}

}  // namespace curtail::launch
