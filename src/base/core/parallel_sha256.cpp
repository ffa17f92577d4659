// SPDX-License-Identifier: Apache-2.0
#include "base/core/parallel_sha256.hpp"

#include <system_error>

namespace curtail {

ParallelSha256::~ParallelSha256()
{
    wait();
    if (!thread_.joinable()) return;
    set(State::over);
    thread_.join();
}

void ParallelSha256::begin(std::span<std::byte const> piece)
{
    // Waking the thread takes as long as hashing some ten kilobytes.
    constexpr std::size_t large = std::size_t{256} << 10;
    if (piece.size() < large || !has_thread()) {
        hash_.update(piece);
        return;
    }
    piece_ = piece;
    set(State::working);
}

void ParallelSha256::wait() { state_.wait(State::working); }

Digest ParallelSha256::finish() { return hash_.finish(); }

bool ParallelSha256::has_thread()
{
    if (thread_.joinable() || no_thread_) return !no_thread_;
    try {
        thread_ = std::thread([this] { work(); });
    } catch (std::system_error const&) {
        no_thread_ = true;
    }
    return !no_thread_;
}

void ParallelSha256::work()
{
    for (;;) {
        state_.wait(State::idle);
        if (state_ == State::over) return;
        hash_.update(piece_);
        set(State::idle);
    }
}

void ParallelSha256::set(State state)
{
    state_ = state;
    state_.notify_one();
}

}  // namespace curtail
