// SPDX-License-Identifier: Apache-2.0
#include "base/core/hash_beside.hpp"

#include <system_error>

namespace curtail {

HashBeside::~HashBeside()
{
    wait();
    if (!thread_.joinable()) return;
    set(State::over);
    thread_.join();
}

void HashBeside::begin(std::span<std::byte const> piece)
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

void HashBeside::wait() { state_.wait(State::working); }

Digest HashBeside::finish() { return hash_.finish(); }

bool HashBeside::has_thread()
{
    if (thread_.joinable() || no_thread_) return !no_thread_;
    try {
        thread_ = std::thread([this] { work(); });
    } catch (std::system_error const&) {
        no_thread_ = true;
    }
    return !no_thread_;
}

void HashBeside::work()
{
    for (;;) {
        state_.wait(State::idle);
        if (state_ == State::over) return;
        hash_.update(piece_);
        set(State::idle);
    }
}

void HashBeside::set(State state)
{
    state_ = state;
    state_.notify_one();
}

}  // namespace curtail
