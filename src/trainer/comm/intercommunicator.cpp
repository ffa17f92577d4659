// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/intercommunicator.hpp"

#include <array>
#include <deque>

#include "trainer/comm/mpi_call.hpp"

namespace curtail::comm {
namespace {

constexpr int tag = 1;

tl::unexpected<Error> failed(char const* operation, int code)
{
    return fail(ExitCode::unavailable, std::string("cannot ") + operation, text_of(code));
}

}  // namespace

Result<void> Intercommunicator::start_mpi()
{
    int provided = MPI_THREAD_SINGLE;
    if (int const code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        code != MPI_SUCCESS)
        return failed("start MPI", code);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    return {};
}

std::string Intercommunicator::library()
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string const whole(text, static_cast<std::size_t>(length));
    return whole.substr(0, whole.find(','));
}

std::string Intercommunicator::thread_level()
{
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
           : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
           : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                            : "MPI_THREAD_SINGLE";
}

Result<std::string> Intercommunicator::open_port()
{
    char port[MPI_MAX_PORT_NAME]{};
    if (int const code = MPI_Open_port(MPI_INFO_NULL, port); code != MPI_SUCCESS)
        return failed("open an MPI port", code);
    return std::string(port);
}

struct Intercommunicator::State {
    struct Transfer {
        std::vector<std::byte> buffer;
        MPI_Request request{MPI_REQUEST_NULL};
    };
    MPI_Comm comm{MPI_COMM_NULL};
    std::array<Transfer, 2> receives;
    std::size_t next{0};  ///< receive that is complete first
    bool taken{false};    ///< the caller uses the buffer of the receive before `next`
    std::deque<Transfer> sends;
    std::vector<std::byte> spare;  ///< memory of a send that has ended

    [[nodiscard]] Result<void> post(Transfer& receive) const
    {
        receive.buffer.resize(largest);
        int const code = MPI_Irecv(receive.buffer.data(), static_cast<int>(receive.buffer.size()),
                                   MPI_BYTE, 0, tag, comm, &receive.request);
        if (code != MPI_SUCCESS) return failed("receive over MPI", code);
        return {};
    }
};

Intercommunicator::Intercommunicator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Intercommunicator::Intercommunicator(Intercommunicator&&) noexcept = default;
// MPI may still use the buffers.
Intercommunicator::~Intercommunicator() { (void)state_.release(); }

// Later calls of receive() and progress() test the requests.
// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)

// `meet` is MPI_Comm_accept or MPI_Comm_connect.
template <class Meet>
Result<Intercommunicator> Intercommunicator::make(Meet meet, std::string const& port,
                                                  char const* operation)
{
    auto state = std::make_unique<State>();
    int const code = meet(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &state->comm);
    if (code != MPI_SUCCESS) return failed(operation, code);
    MPI_Comm_set_errhandler(state->comm, MPI_ERRORS_RETURN);
    for (auto& receive : state->receives)
        if (auto posted = state->post(receive); !posted) {
            (void)state.release();  // MPI may use the other buffer
            return tl::unexpected(posted.error());
        }
    return Intercommunicator(std::move(state));
}

Result<Intercommunicator> Intercommunicator::accept(std::string const& port)
{
    return make(MPI_Comm_accept, port, "accept a connection over MPI");
}

Result<Intercommunicator> Intercommunicator::connect(std::string const& port)
{
    return make(MPI_Comm_connect, port, "connect over MPI");
}

bool Intercommunicator::can_send() const { return state_->sends.size() < most_sends; }

Result<void> Intercommunicator::send(std::vector<std::byte>& message)
{
    auto& send = state_->sends.emplace_back();
    send.buffer.swap(state_->spare);
    send.buffer.swap(message);
    int const code = MPI_Isend(send.buffer.data(), static_cast<int>(send.buffer.size()), MPI_BYTE,
                               0, tag, state_->comm, &send.request);
    if (code != MPI_SUCCESS) return failed("send over MPI", code);
    return {};
}

Result<std::optional<std::span<std::byte const>>> Intercommunicator::receive()
{
    using Received = std::optional<std::span<std::byte const>>;
    auto& receives = state_->receives;
    if (state_->taken) {
        state_->taken = false;
        auto& last = receives[(state_->next + receives.size() - 1) % receives.size()];
        if (auto posted = state_->post(last); !posted) return tl::unexpected(posted.error());
    }
    auto& receive = receives[state_->next];
    int done = 0;
    MPI_Status status;
    if (int const code = MPI_Test(&receive.request, &done, &status); code != MPI_SUCCESS)
        return failed("receive over MPI", code);
    if (done == 0) return Received{};
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    state_->next = (state_->next + 1) % receives.size();
    state_->taken = true;
    return Received{std::span(receive.buffer).first(static_cast<std::size_t>(count))};
}

Result<bool> Intercommunicator::progress()
{
    while (!state_->sends.empty()) {
        int done = 0;
        int const code = MPI_Test(&state_->sends.front().request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return failed("send over MPI", code);
        if (done == 0) return true;
        state_->spare = std::move(state_->sends.front().buffer);
        state_->sends.pop_front();
    }
    return false;
}

// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

}  // namespace curtail::comm
