// SPDX-License-Identifier: Apache-2.0
#include "run/journal/site_log.hpp"

#include "run/journal/local_file.hpp"

namespace curtail::journal {
namespace {

// A stream that breaks the limits is that of a careless or hostile owner. It must not keep other
// owners from reading theirs.
Result<StreamContent> without_excess(Result<StreamContent> content)
{
    if (content || content.error().code != ExitCode::data) return content;
    StreamContent nothing;
    nothing.newest = {1};
    nothing.lacks_lines = true;
    nothing.problems.push_back(content.error().message());
    return nothing;
}

}  // namespace

LogReader::LogReader(config::Run const& run, std::shared_ptr<store::ObjectStore> store,
                     ReadLimits limits, RunNamedPieces named)
    : run_(run)
{
    Cache cache(run.folder / "cache" / "journal");
    if (store)
        reader_.emplace(std::move(store), run.run, std::move(cache), limits, std::move(named));
}

Result<SiteLog> LogReader::with_tail(StreamContent content, SiteId const& site, Stream stream) const
{
    auto const path = local_file(run_, site, stream);
    SiteLog log;
    log.text = std::move(content.text);
    log.fixed = content.fixed;
    log.pieces = content.pieces;
    log.until = content.published_until();
    log.stored = content.stored;
    log.clock = content.clock;
    log.problems = std::move(content.problems);
    log.lacks_lines = content.lacks_lines;
    auto const local = LocalFile::open(path);
    if (!local) return tl::unexpected(local.error());
    if (local->size() == 0) return log;
    auto const from = content.tip ? content.tip->header.range.from : 0;
    auto const end = local->read({from, local->size()});
    if (!end) return tl::unexpected(end.error());
    auto const tail = content.tip ? unpublished_tail(*content.tip, *end, from)
                                  : std::optional<std::string_view>(*end);
    log.reaches_local = tail.has_value();
    log.text += tail.value_or("");
    return log;
}

Result<SiteLog> LogReader::read(SiteId const& site, Stream stream) const
{
    if (reader_) {
        auto content = without_excess(reader_->read(site, stream));
        if (!content) return tl::unexpected(content.error());
        // A stream that a record names may be gone altogether.
        if (content->newest.value > 0 || content->lacks_lines)
            return with_tail(std::move(*content), site, stream);
    }
    auto const local = LocalFile::open(local_file(run_, site, stream));
    if (!local) return tl::unexpected(local.error());
    auto text = local->read({0, local->size()});
    if (!text) return tl::unexpected(text.error());
    SiteLog log;
    log.reaches_local = local->exists();
    log.text = std::move(*text);
    return log;
}

}  // namespace curtail::journal
