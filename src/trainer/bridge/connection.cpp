// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/connection.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "base/core/clock.hpp"

namespace curtail::bridge {
namespace {

using Lock = std::unique_lock<std::mutex>;

std::span<std::byte const> bytes_of(std::string_view text)
{
    return std::as_bytes(std::span(text));
}

}  // namespace

Connection::Connection(std::unique_ptr<FrameStream> stream, std::shared_ptr<Offers const> offers,
                       Settings settings)
    : stream_(std::move(stream)), offers_(std::move(offers)), settings_(std::move(settings))
{
    enqueue({FrameType::hello, 0, protocol_version}, bytes_of(settings_.tokens.other));
    reader_ = std::thread([this] { run(&Connection::read); });
    try {
        writer_ = std::thread([this] { run(&Connection::write); });
    } catch (std::system_error const&) {
        end("this process cannot start a thread");
        reader_.join();
        throw;
    }
}

void Connection::run(void (Connection::*work)())
{
    try {
        (this->*work)();
    } catch (std::exception const& error) {
        end(error.what());
    }
}

Connection::~Connection()
{
    end("this site ended it");
    reader_.join();
    writer_.join();
}

void Connection::end(std::string const& why)
{
    {
        Lock const lock(mutex_);
        if (ended_) return;
        ended_ = true;
        why_ = why;
    }
    stream_->end();
    changed_.notify_all();
    settings_.ended(why);
}

void Connection::say_leave()
{
    Lock const lock(mutex_);
    if (std::exchange(leaving_, true)) return;
    enqueue({FrameType::leave, 0, 0}, {});
    changed_.notify_all();
}

void Connection::leave(MonoTime until)
{
    say_leave();
    {
        Lock lock(mutex_);
        changed_.wait_until(lock, until, [&] { return ended_ || left_; });
    }
    end("this site leaves");
}

std::string Connection::why_ended() const
{
    Lock const lock(mutex_);
    return why_;
}

bool Connection::wait_until_ready(MonoTime until)
{
    Lock lock(mutex_);
    return changed_.wait_until(lock, until, [&] { return ready_ || ended_; }) && !ended_;
}

// ---- what arrives

void Connection::read()
{
    auto const hello_until = monotonic_now() + settings_.patience;
    for (;;) {
        auto const bytes = stream_->receive(monotonic_now() + Millis{200});
        if (!bytes) return end(bytes.error().why);
        if (*bytes) {
            auto const frame = decode(**bytes);
            auto const why = frame ? take(*frame) : "it sent no frame";
            if (why) return end(*why);
            continue;
        }
        Lock const lock(mutex_);
        if (ended_) return;
        if (ready_ || monotonic_now() < hello_until) continue;
        break;
    }
    end("it did not show its token within " + format_duration(settings_.patience));
}

Connection::Why Connection::take(Frame const& frame)
{
    if (frame.head.type == FrameType::hello) return take_hello(frame);
    {
        Lock const lock(mutex_);
        if (!ready_) return "it did not show its token first";
    }
    switch (frame.head.type) {
        case FrameType::request:
            return take_request(frame);
        case FrameType::reply:
            return take_reply(frame.head);
        case FrameType::data:
            return take_data(frame);
        case FrameType::leave:
            return has_left;
        case FrameType::hello:
            break;
    }
    return "it sent no frame";
}

Connection::Why Connection::take_hello(Frame const& frame)
{
    Lock const lock(mutex_);
    if (ready_) return "it said hello twice";
    if (frame.head.number != protocol_version)
        return "it speaks version " + std::to_string(frame.head.number) +
               " of the protocol, and this site version " + std::to_string(protocol_version);
    auto const token = bytes_of(settings_.tokens.own);
    if (!std::ranges::equal(frame.body, token)) return "it showed a wrong token";
    ready_ = true;
    changed_.notify_all();
    return {};
}

Connection::Why Connection::take_request(Frame const& frame)
{
    Request request{frame.head.id, {}, static_cast<std::int64_t>(frame.head.number)};
    if (frame.body.size() != request.digest.bytes.size()) return "its request has no digest";
    std::ranges::transform(frame.body, request.digest.bytes.begin(),
                           [](std::byte b) { return std::to_integer<unsigned char>(b); });
    Lock const lock(mutex_);
    if (serving_) return "it sent two requests at a time";
    serving_ = true;
    outgoing_.emplace_back(request);
    changed_.notify_all();
    return {};
}

Connection::Why Connection::take_reply(FrameHead const& head)
{
    Lock const lock(mutex_);
    if (!fetch_ || fetch_->id != head.id || fetch_->follows) return "it replied to nothing";
    fetch_->progress = monotonic_now();
    (head.number == 1 ? fetch_->follows : fetch_->refused) = true;
    if (fetch_->refused && fetch_->sink == nullptr) fetch_.reset();
    changed_.notify_all();
    return {};
}

Connection::Why Connection::take_data(Frame const& frame)
{
    Lock const lock(mutex_);
    auto const size = static_cast<std::int64_t>(frame.body.size());
    if (!fetch_ || fetch_->id != frame.head.id || !fetch_->follows || size == 0 ||
        frame.head.number != static_cast<std::uint64_t>(fetch_->arrived) ||
        size > fetch_->bytes - fetch_->arrived)
        return "it sent data that do not follow";
    if (fetch_->sink != nullptr) {
        fetch_->hash.update(frame.body);
        (*fetch_->sink)(frame.body);
    }
    fetch_->arrived += size;
    fetch_->progress = monotonic_now();
    if (fetch_->arrived < fetch_->bytes) return {};
    if (fetch_->sink == nullptr) {
        fetch_.reset();
        return {};
    }
    if (fetch_->hash.finish() != fetch_->digest) return "it sent bytes with another digest";
    fetch_->complete = true;
    changed_.notify_all();
    return {};
}

// ---- what goes out

void Connection::enqueue(FrameHead const& head, std::span<std::byte const> body)
{
    auto const encoded = encode(head);
    std::vector<std::byte> frame(encoded.begin(), encoded.end());
    frame.insert(frame.end(), body.begin(), body.end());
    outgoing_.emplace_back(std::move(frame));
}

void Connection::write()
{
    for (;;) {
        std::optional<Request> request;
        auto sent = send_waiting();
        if (sent) {
            Lock lock(mutex_);
            changed_.wait(lock, [&] { return ended_ || !outgoing_.empty(); });
            if (ended_) return;
            if (std::holds_alternative<Request>(outgoing_.front())) {
                request = std::get<Request>(outgoing_.front());
                outgoing_.pop_front();
            }
        }
        if (request) sent = serve(*request);
        if (!sent) return end(sent.error().why);
    }
}

Result<void> Connection::send_waiting()
{
    for (;;) {
        std::vector<std::byte> frame;
        {
            Lock const lock(mutex_);
            auto const first = std::find_if(outgoing_.begin(), outgoing_.end(), [](auto const& o) {
                return std::holds_alternative<std::vector<std::byte>>(o);
            });
            if (ended_ || first == outgoing_.end()) return {};
            frame = std::get<std::vector<std::byte>>(std::move(*first));
            outgoing_.erase(first);
        }
        if (auto sent = stream_->send(frame, monotonic_now() + settings_.patience); !sent)
            return sent;
        if (frame.front() != static_cast<std::byte>(FrameType::leave)) continue;
        Lock const lock(mutex_);
        left_ = true;
        changed_.notify_all();
    }
}

Result<void> Connection::send(FrameHead const& head, std::span<std::byte const> body)
{
    auto const encoded = encode(head);
    Pieces pieces(encoded);
    pieces.add(body);
    return stream_->send(pieces, monotonic_now() + settings_.patience);
}

Result<void> Connection::serve(Request const& request)
{
    auto const offered = offers_->find(request.digest, request.bytes);
    // The other end may ask again as soon as it has the last frame of the answer.
    auto const send_last = [&](FrameHead const& head, std::span<std::byte const> body) {
        {
            Lock const lock(mutex_);
            serving_ = false;
        }
        return send(head, body);
    };
    if (!offered || request.bytes <= 0) return send_last({FrameType::reply, request.id, 0}, {});
    auto sent = send({FrameType::reply, request.id, 1}, {});
    std::vector<std::byte> piece;
    auto const size = static_cast<std::size_t>(request.bytes);
    for (std::size_t offset = 0; sent && offset < size; offset += piece.size()) {
        piece.resize(std::min(largest_body, size - offset));
        if (!offered->read(offset, piece))
            return fail(ExitCode::io, "cannot serve another site",
                        "this site cannot read what it offered");
        FrameHead const head{FrameType::data, request.id, offset};
        if (offset + piece.size() == size) return send_last(head, piece);
        sent = send(head, piece);
        if (sent) sent = send_waiting();
    }
    return sent;
}

// ---- fetches

tl::expected<void, std::string> Connection::fetch(Digest const& digest, std::int64_t bytes,
                                                  Sink const& sink, CallLimits const& call)
{
    using Text = std::string;
    std::unique_lock const turn(turn_, call.until.value_or(MonoTime::max()));
    if (!turn) return tl::unexpected(Text("the connection was busy"));
    Lock lock(mutex_);
    if (ended_) return tl::unexpected(why_);
    if (!ready_) return tl::unexpected(Text("it has not shown its token yet"));
    if (call.is_over()) return tl::unexpected(Text("there was no time for it"));
    if (!fetch_) {
        auto const id = ++fetches_;
        enqueue({FrameType::request, id, static_cast<std::uint64_t>(bytes)},
                std::as_bytes(std::span(digest.bytes)));
        fetch_ = Fetch{id, digest, bytes, &sink};
        fetch_->progress = monotonic_now();
        changed_.notify_all();
    } else if (monotonic_now() < fetch_->progress + settings_.patience) {
        return tl::unexpected(Text("it still sends what this site does not need any more"));
    }
    auto done = wait_for_fetch(call, lock);
    if (done || fetch_->refused) {
        fetch_.reset();
        return done;
    }
    fetch_->sink = nullptr;
    if (call.cancel.stop_requested()) return done;
    lock.unlock();
    end(done.error());
    return done;
}

tl::expected<void, std::string> Connection::wait_for_fetch(CallLimits const& call, Lock& lock)
{
    auto const until = call.until.value_or(MonoTime::max());
    for (;;) {
        if (fetch_->complete) return {};
        if (fetch_->refused) return tl::unexpected(std::string("it does not offer these bytes"));
        if (ended_) return tl::unexpected(why_);
        if (call.cancel.stop_requested())
            return tl::unexpected(std::string("nobody needs it any more"));
        auto const now = monotonic_now();
        if (now >= until) return tl::unexpected(std::string("the time for the transfer was over"));
        auto const stuck = fetch_->progress + settings_.patience;
        if (now >= stuck)
            return tl::unexpected("it sent nothing for " + format_duration(settings_.patience));
        (void)changed_.wait_until(lock, call.cancel, std::min(until, stuck),
                                  [&] { return fetch_->complete || fetch_->refused || ended_; });
    }
}

}  // namespace curtail::bridge
