// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <map>
#include <vector>

#include "base/core/large_memory.hpp"
#include "storage/s3/download.hpp"
#include "storage/s3/parts.hpp"

namespace curtail::s3 {
namespace {

// A part. Parts use the same memory in turns, because the kernel needs long to provide fresh
// memory.
struct Buffer {
    AlignedMemory memory;
    std::size_t size{0};
    [[nodiscard]] std::span<std::byte> bytes() const { return memory.bytes().first(size); }
};

// Parts that have arrived, and how far the reader has got. Workers run ahead of the reader by at
// most `width` parts of at most `part` bytes.
class Window {
  public:
    Window(std::size_t count, std::size_t width, std::size_t part)
        : count_(count), width_(width), part_(part)
    {
    }

    // The next part to request. Waits until there is space for it. Empty: there is none.
    std::optional<std::size_t> take()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock,
                      [this] { return closed_ || next_ == count_ || next_ < delivered_ + width_; });
        if (closed_ || next_ == count_) return std::nullopt;
        return next_++;
    }
    // Memory for a part, which arrived() gets.
    Buffer buffer()
    {
        std::unique_lock lock(mutex_);
        if (unused_.empty()) {
            lock.unlock();
            return {AlignedMemory(part_)};
        }
        auto buffer = std::move(unused_.back());
        unused_.pop_back();
        return buffer;
    }
    void arrived(std::size_t part, Buffer buffer)
    {
        std::lock_guard const guard(mutex_);
        ready_.emplace(part, std::move(buffer));
        changed_.notify_all();
    }
    // Ends all waiting. wait_for() returns the first error, or throws the first exception.
    void close(std::optional<Error> error = {}, std::exception_ptr exception = {})
    {
        std::lock_guard const guard(mutex_);
        if (!closed_) {
            error_ = std::move(error);
            exception_ = std::move(exception);
        }
        closed_ = true;
        changed_.notify_all();
    }
    // Waits for a part. The parts are asked for in order.
    Result<Buffer> wait_for(std::size_t part)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || ready_.contains(part); });
        if (exception_) std::rethrow_exception(exception_);
        if (error_) return tl::unexpected(*error_);
        return std::move(ready_.extract(part).mapped());
    }
    void delivered(Buffer buffer)
    {
        std::lock_guard const guard(mutex_);
        unused_.push_back(std::move(buffer));
        ++delivered_;
        changed_.notify_all();
    }

  private:
    std::size_t count_;
    std::size_t width_;
    std::size_t part_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_{0};
    std::size_t delivered_{0};
    std::map<std::size_t, Buffer> ready_;
    std::vector<Buffer> unused_;
    bool closed_{false};
    std::optional<Error> error_;
    std::exception_ptr exception_;
};

// The workers that read ahead. However the reader leaves, the destructor cancels their requests,
// ends their waiting and waits for them.
class Workers {
  public:
    Workers(Session& session, RangeReader& reader, Window& window, std::size_t whole,
            TransferSizes const& sizes, CallLimits const& call)
        : session_(session),
          reader_(reader),
          window_(window),
          whole_(whole),
          part_(static_cast<std::size_t>(sizes.part.value)),
          parallel_(sizes.parallel),
          until_(call.until),
          forward_(call.cancel, Stop{stop_})
    {
    }
    ~Workers() { end(); }
    Workers(Workers const&) = delete;
    Workers& operator=(Workers const&) = delete;

    // Starts up to `count` workers. Fails if not even one can start.
    Result<void> start(std::size_t count)
    {
        auto started =
            start_threads(threads_, static_cast<int>(count), [this](int worker) { run(worker); });
        return threads_.empty() ? started : Result<void>{};
    }
    void end()
    {
        stop_.request_stop();
        window_.close();
        threads_.clear();
    }

  private:
    struct Stop {
        std::stop_source source;
        void operator()() { source.request_stop(); }
    };
    void run(int worker)
    {
        try {
            read_parts(worker);
        } catch (...) {
            window_.close({}, std::current_exception());
        }
    }
    // After a SlowDown, the workers with the highest numbers end.
    void read_parts(int worker)
    {
        CallLimits const call{stop_.get_token(), until_};
        while (worker < session_.parallelism(parallel_)) {
            auto const number = window_.take();
            if (!number) return;
            auto const offset = *number * part_;
            auto buffer = window_.buffer();
            buffer.size = std::min(part_, whole_ - offset);
            if (auto read = reader_.read(offset, buffer.bytes(), call); !read)
                return window_.close(read.error());
            window_.arrived(*number, std::move(buffer));
        }
    }

    Session& session_;
    RangeReader& reader_;
    Window& window_;
    std::size_t whole_;
    std::size_t part_;
    int parallel_;
    std::optional<MonoTime> until_;
    std::stop_source stop_;
    std::stop_callback<Stop> forward_;
    std::vector<std::jthread> threads_;
};

// A sink that reads its piece several times finds it in the processor's cache.
constexpr std::size_t piece_size = std::size_t{1} << 20;

}  // namespace

Result<bool> read_in_order(Session& session, std::string const& key, ObjectHead const& head,
                           TransferSizes const& sizes, Bucket::Sink const& sink,
                           CallLimits const& call)
{
    auto const whole = static_cast<std::size_t>(head.size.value);
    auto const part = static_cast<std::size_t>(sizes.part.value);
    auto const count = (whole + part - 1) / part;
    auto const width =
        std::min(count, static_cast<std::size_t>(session.parallelism(sizes.parallel)));
    Window window(count, width, part);
    RangeReader reader(session, key, whole, head.etag);
    Workers workers(session, reader, window, whole, sizes, call);
    if (auto started = workers.start(width); !started) return tl::unexpected(started.error());
    for (std::size_t number = 0; number < count; ++number) {
        auto buffer = window.wait_for(number);
        if (!buffer) {
            workers.end();
            if (reader.missing() && number == 0) return false;
            if (reader.missing())
                return fail(ExitCode::temporary, "cannot read " + key,
                            "it was removed while it was read");
            return tl::unexpected(reader.size_error().value_or(buffer.error()));
        }
        for (auto rest = buffer->bytes(); !rest.empty();) {
            auto const piece = rest.first(std::min(rest.size(), piece_size));
            sink(piece, head.size);
            rest = rest.subspan(piece.size());
        }
        window.delivered(std::move(*buffer));
    }
    session.transferred();
    return true;
}

}  // namespace curtail::s3
