// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/nccl_communicator.hpp"

#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "base/core/abandonable.hpp"
#include "trainer/comm/polling.hpp"

namespace curtail::comm {
namespace {

// What rank 0 sends to the others.
struct Invitation {
    NcclId id;
    NcclResult result;
};

bool failed(NcclResult result)
{
    return result != NcclResult::success && result != NcclResult::in_progress;
}

}  // namespace

bool NcclCommunicator::end() noexcept
{
    if (comm_ == nullptr || std::uncaught_exceptions() > exceptions_) return abort();
    try {
        enqueue("end NCCL", api_.comm_finalize);
    } catch (std::exception const&) {  // what the caller has waited for is correct all the same
        return abort();
    }
    return release(api_.comm_destroy);
}

void NcclCommunicator::join(Collectives& host)
{
    char const* const blocking = std::getenv("NCCL_COMM_BLOCKING");
    if (blocking != nullptr && std::atoi(blocking) != 0)
        throw CommError(
            "cannot start NCCL: NCCL_COMM_BLOCKING is set, so that NCCL would wait for other ranks "
            "without a limit of time; unset this variable",
            ExitCode::config);
    Invitation invitation{};
    if (host.rank() == 0) invitation.result = api_.get_unique_id(&invitation.id);
    host.broadcast(std::as_writable_bytes(std::span(&invitation, 1)), 0);
    if (failed(invitation.result)) throw error("start NCCL on rank 0", invitation.result);
    auto const begun = api_.comm_init(&comm_, host.size(), &invitation.id, host.rank());
    if (failed(begun)) throw error("start NCCL", begun);
    await("start NCCL");
}

void NcclCommunicator::enqueue(char const* operation,
                               std::function<NcclResult(NcclComm*)> const& start)
{
    check(operation);
    auto const begun = start(comm_);
    if (failed(begun)) throw error(operation, begun);
    if (begun == NcclResult::in_progress) await(operation);
}

void NcclCommunicator::check(char const* operation)
{
    if (comm_ == nullptr)
        throw CommError(std::string("cannot ") + operation + ": an earlier operation failed");
    (void)ready(operation);
}

bool NcclCommunicator::abort() noexcept { return comm_ == nullptr || release(api_.comm_abort); }

// Returns true if no function of NCCL is in progress.
bool NcclCommunicator::ready(char const* operation)
{
    auto state = NcclResult::success;
    auto const polled = api_.comm_get_async_error(comm_, &state);
    if (failed(polled)) throw error(operation, polled);
    if (failed(state)) throw error(operation, state);
    return state == NcclResult::success;
}

void NcclCommunicator::await(char const* operation)
{
    if (!poll([&] { return ready(operation); }, patience_))
        throw CommTimeout(std::string("cannot ") + operation + ": " + late_rank(patience_));
}

// Calls a function that can block, and after which the communicator is invalid.
bool NcclCommunicator::release(NcclResult (*function)(NcclComm*)) noexcept
{
    AbandonableThreads thread;
    return thread.start([function, comm = std::exchange(comm_, nullptr)] { function(comm); }) &&
           thread.wait(monotonic_now() + abort_limit_);
}

CommError NcclCommunicator::error(char const* operation, NcclResult result) const
{
    std::string text = std::string("cannot ") + operation + ": NCCL: " + api_.error_text(result);
    if (char const* const last = api_.last_error(comm_); last != nullptr && *last != '\0')
        text += std::string(" (") + last + ")";
    return CommError(
        text, result == NcclResult::remote_error ? ExitCode::unavailable : ExitCode::temporary);
}

}  // namespace curtail::comm
