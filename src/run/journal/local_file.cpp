// SPDX-License-Identifier: Apache-2.0
#include "run/journal/local_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace curtail::journal {

std::filesystem::path local_file(config::Run const& run, SiteId const& site, Stream stream)
{
    switch (stream) {
        case Stream::poller:
            return run.poller_folder(site) / "events.jsonl";
        case Stream::signals:
            return run.poller_folder(site) / "signals.jsonl";
        case Stream::trainer:
            return run.site_folder(site) / "events.jsonl";
        case Stream::metrics:
            return run.site_folder(site) / "metrics.jsonl";
        case Stream::evaluation:
            break;
    }
    // In a folder of its own, whose lock the trainer does not hold.
    return run.site_folder(site) / "evaluation" / "evaluation.jsonl";
}

Result<LocalFile> LocalFile::open(std::filesystem::path const& path)
{
    auto opened = open_to_read(path);
    if (!opened) return tl::unexpected(opened.error());
    if (!*opened) return LocalFile(path, Fd(), 0);
    struct stat status {};
    if (fstat((*opened)->get(), &status) != 0)
        return fail(ExitCode::io, "cannot read " + path.string(), errno_text(errno));
    if (status.st_size > log_limit)
        return fail(ExitCode::data, "cannot read " + path.string(),
                    "it has " + std::to_string(status.st_size) + " bytes, the limit of a log is " +
                        std::to_string(log_limit),
                    "stop the programs that write it, and remove what is no line of the log");
    return LocalFile(path, std::move(**opened), status.st_size);
}

Result<std::string> LocalFile::read(ByteRange range) const
{
    auto const end = std::min(range.to, size_);
    if (range.from >= end) return std::string();
    std::string text(static_cast<std::size_t>(end - range.from), '\0');
    for (std::size_t have = 0; have < text.size();) {
        ssize_t const n = pread(fd_.get(), text.data() + have, text.size() - have,
                                static_cast<off_t>(range.from) + static_cast<off_t>(have));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(ExitCode::io, "cannot read " + path_.string(), errno_text(errno));
        if (n == 0) text.resize(have);  // it was cut meanwhile
        have += static_cast<std::size_t>(n);
    }
    return text;
}

}  // namespace curtail::journal
