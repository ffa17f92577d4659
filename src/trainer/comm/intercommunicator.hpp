// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.hpp"

namespace curtail::comm {

/// Messages between this process and one of another job, in order. All functions return at once,
/// except those that make an Intercommunicator. Use it in one thread. Fails with `unavailable` if
/// MPI fails.
///
/// If the other process dies, MPI may never say so. The destructor frees nothing that MPI may still
/// use, so the process must end soon.
class Intercommunicator {
  public:
    /// Starts MPI, in a process that uses it for nothing else. Fails with `unavailable`.
    [[nodiscard]] static Result<void> start_mpi();
    /// Returns the name and version of MPI, which need not have been started.
    [[nodiscard]] static std::string library();
    /// Returns the name of the thread level that MPI provides, after start_mpi().
    [[nodiscard]] static std::string thread_level();
    /// Opens a port, at which another job can connect, and returns its name.
    [[nodiscard]] static Result<std::string> open_port();
    /// Waits at a port that this process has opened. May wait forever.
    [[nodiscard]] static Result<Intercommunicator> accept(std::string const& port);
    /// Connects with the process that waits at `port`. May wait forever.
    [[nodiscard]] static Result<Intercommunicator> connect(std::string const& port);
    Intercommunicator(Intercommunicator&&) noexcept;
    Intercommunicator& operator=(Intercommunicator&&) = delete;
    ~Intercommunicator();

    static constexpr std::size_t most_sends = 2;  ///< under way at a time
    /// Returns whether send() may be called.
    [[nodiscard]] bool can_send() const;
    /// Begins to send a message of at most `largest` bytes. Takes its memory, and leaves other
    /// memory of any content in its place.
    [[nodiscard]] Result<void> send(std::vector<std::byte>& message);
    /// Returns the next message that has arrived, valid until the next call; empty if there is
    /// none.
    [[nodiscard]] Result<std::optional<std::span<std::byte const>>> receive();
    /// Lets MPI work. Returns whether sends are under way.
    [[nodiscard]] Result<bool> progress();

    static constexpr std::size_t largest = (std::size_t{1} << 20) + 64;

  private:
    struct State;
    explicit Intercommunicator(std::unique_ptr<State> state);
    template <class Meet>
    static Result<Intercommunicator> make(Meet meet, std::string const& port,
                                          char const* operation);

    std::unique_ptr<State> state_;
};

}  // namespace curtail::comm
