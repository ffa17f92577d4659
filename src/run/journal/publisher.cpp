// SPDX-License-Identifier: Apache-2.0
#include "run/journal/publisher.hpp"

#include "base/core/exceptions.hpp"

namespace curtail::journal {
namespace {

std::vector<Stream> streams_of(Source source)
{
    if (source == Source::poller) return {Stream::poller, Stream::signals};
    if (source == Source::trainer) return {Stream::trainer, Stream::metrics};
    return {Stream::evaluation};
}

// The thread of the publisher must not end its program.
Result<Pass> try_to_publish(StreamWriter& writer, CallLimits const& call)
{
    try {
        return writer.publish(call);
    } catch (std::exception const& thrown) {
        return tl::unexpected(error_of(thrown));
    }
}

}  // namespace

Publisher::Publisher(config::Run const& run, SiteId const& site, Source source, Hold hold,
                     std::shared_ptr<store::ObjectStore> const& store, WriterOptions const& options,
                     Log log)
    : hold_(hold), log_(std::move(log))
{
    for (auto const stream : streams_of(source)) {
        StreamId const id{run.run, site, stream};
        auto const file = local_file(run, site, stream);
        folder_ = file.parent_path();
        writers_.push_back({id, StreamWriter(StreamObjects(store, id), file, options),
                            trouble_file(run, site, stream)});
    }
}

bool Publisher::publish(CallLimits const& call)
{
    std::error_code error;
    if (!std::filesystem::is_directory(folder_, error)) return true;
    if (!lock_) {
        auto lock = FileLock::take(folder_ / "publish.lock");
        if (!lock && lock.error().code == ExitCode::temporary) return true;
        if (!lock) {
            report(writers_.front(), lock.error().message());
            return false;
        }
        lock_ = std::move(*lock);
    }
    bool is_complete = true;
    for (auto& writer : writers_) {
        auto const pass = try_to_publish(writer.writer, call);
        report(writer, pass ? std::string() : pass.error().message());
        is_complete = is_complete && pass && pass->complete;
    }
    if (hold_ == Hold::briefly) lock_.reset();
    return is_complete;
}

void Publisher::report(Writer& writer, std::string const& trouble) const
{
    if (!writer.trouble)
        writer.trouble =
            read_file_if_exists(writer.trouble_file).value_or(std::nullopt).value_or("");
    if (trouble == *writer.trouble) return;
    writer.trouble = trouble;
    std::error_code ignored;
    if (trouble.empty()) {
        log_.info(writer.id.text() + " is published again");
        std::filesystem::remove(writer.trouble_file, ignored);
    } else {
        log_.warning(trouble + " (trying again)");
        (void)write_file(writer.trouble_file, trouble);
    }
}

std::filesystem::path trouble_file(config::Run const& run, SiteId const& site, Stream stream)
{
    auto file = local_file(run, site, stream);
    return file.replace_extension(".unpublished");
}

}  // namespace curtail::journal
