// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <map>
#include <thread>
#include <vector>

#include "s3/download.hpp"

namespace curtail::s3 {
namespace {

using Buffer = std::vector<std::byte>;

// Parts that have arrived, and how far the reader has got. Workers run ahead of the reader by at
// most `width` parts.
class Window {
  public:
    Window(std::size_t count, std::size_t width) : count_(count), width_(width) {}

    // The next part to request. Waits until there is space for it. Empty: there is none.
    std::optional<std::size_t> take()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock,
                      [this] { return error_ || next_ == count_ || next_ < delivered_ + width_; });
        if (error_ || next_ == count_) return std::nullopt;
        return next_++;
    }
    void arrived(std::size_t part, Buffer buffer)
    {
        std::lock_guard const guard(mutex_);
        ready_.emplace(part, std::move(buffer));
        changed_.notify_all();
    }
    void failed(Error error)
    {
        std::lock_guard const guard(mutex_);
        if (!error_) error_ = std::move(error);
        changed_.notify_all();
    }
    // Waits for a part. The parts are asked for in order.
    Result<Buffer> wait_for(std::size_t part)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return error_ || ready_.contains(part); });
        if (error_) return tl::unexpected(*error_);
        return std::move(ready_.extract(part).mapped());
    }
    void delivered()
    {
        std::lock_guard const guard(mutex_);
        ++delivered_;
        changed_.notify_all();
    }

  private:
    std::size_t count_;
    std::size_t width_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_{0};
    std::size_t delivered_{0};
    std::map<std::size_t, Buffer> ready_;
    std::optional<Error> error_;
};

}  // namespace

Result<bool> read_in_order(Session& session, std::string const& key, std::size_t whole,
                           TransferSizes const& sizes, Bucket::Sink const& sink, Call const& call)
{
    auto const part = static_cast<std::size_t>(sizes.part.value);
    auto const count = (whole + part - 1) / part;
    auto const width =
        std::min(count, static_cast<std::size_t>(session.parallelism(sizes.parallel)));
    Window window(count, width);
    RangeReader reader(session, key, whole);
    std::stop_source stop;
    std::stop_callback const forward(call.cancel, [&] { stop.request_stop(); });
    Call const inner{stop.get_token(), call.until};
    auto const work = [&] {
        while (auto const number = window.take()) {
            auto const offset = *number * part;
            Buffer buffer(std::min(part, whole - offset));
            if (auto read = reader.read(offset, buffer, inner); !read) {
                stop.request_stop();
                return window.failed(read.error());
            }
            window.arrived(*number, std::move(buffer));
        }
    };
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < width; ++i) workers.emplace_back(work);
    for (std::size_t number = 0; number < count; ++number) {
        auto const buffer = window.wait_for(number);
        if (!buffer) {
            workers.clear();
            if (reader.missing()) return false;
            return tl::unexpected(reader.size_error().value_or(buffer.error()));
        }
        sink(*buffer, {static_cast<std::int64_t>(whole)});
        window.delivered();
    }
    session.transferred();
    return true;
}

}  // namespace curtail::s3
