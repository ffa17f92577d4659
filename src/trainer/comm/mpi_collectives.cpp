// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/mpi_collectives.hpp"

#include <algorithm>
#include <vector>

#include "trainer/comm/mpi_call.hpp"

namespace curtail::comm {
namespace {

void add(std::span<float const> term, std::span<float> sum)
{
    float const* const from = term.data();
    float* const to = sum.data();
    for (std::size_t i = 0; i < term.size(); ++i) to[i] += from[i];
}

// Before each operation the ranks wait for each other without spinning, since one may be late by a
// whole step. MPI's order of summation depends only on the count and the number of ranks.
class MpiCollectives final : public Collectives {
  public:
    [[nodiscard]] int rank() const override { return comm_.rank(); }
    [[nodiscard]] int size() const override { return comm_.size(); }
    void set_patience(Patience patience) override { patience_ = std::move(patience); }
    void all_reduce_sum(std::span<float> values) override { sum(values, MPI_FLOAT); }
    void all_reduce_sum(std::span<double> values) override { sum(values, MPI_DOUBLE); }

    void broadcast(std::span<float> values, int root) override
    {
        broadcast(std::as_writable_bytes(values), root);
    }

    void broadcast(std::span<std::byte> bytes, int root) override
    {
        require_rank(root);
        meet("broadcast");
        in_pieces(bytes, [&](std::byte* data, int count) {
            complete("broadcast", [&](MPI_Request* request) {
                return MPI_Ibcast(data, count, MPI_BYTE, root, comm_.get(), request);
            });
        });
    }

    // Slice by slice, so that the received chunks of all other ranks need little memory.
    void reduce_scatter_sum(std::span<float const> all, std::span<float> own) override
    {
        require_chunks(all.size(), own.size());
        meet("sum over the ranks");
        for (std::size_t first = 0; first < own.size(); first += slice_elements)
            sum_slice(all, own.size(), first,
                      own.subspan(first, std::min(slice_elements, own.size() - first)));
    }

    void all_gather(std::span<float const> own, std::span<float> all) override
    {
        require_chunks(all.size(), own.size());
        auto const mine = all.subspan(static_cast<std::size_t>(rank()) * own.size(), own.size());
        if (mine.data() != own.data()) std::copy(own.begin(), own.end(), mine.begin());
        meet("gather from the ranks");
        for (std::size_t first = 0; first < own.size(); first += slice_elements) {
            auto const count = std::min(slice_elements, own.size() - first);
            exchange(
                [&](std::size_t) { return own.subspan(first, count); },
                [&](std::size_t other) { return all.subspan(other * own.size() + first, count); },
                gather_tag, "gather from the ranks");
        }
    }

    void barrier() override { meet("pass a barrier"); }

    [[nodiscard]] int all_reduce_max(int value) override
    {
        meet("find the maximum");
        int greatest = value;
        complete("find the maximum", [&](MPI_Request* request) {
            return MPI_Iallreduce(&value, &greatest, 1, MPI_INT, MPI_MAX, comm_.get(), request);
        });
        return greatest;
    }

  private:
    static constexpr std::size_t slice_elements = std::size_t{1} << 22;  // 16 MiB

    // Sends outgoing(r) to every other rank r and receives incoming(r) from it.
    template <class Outgoing, class Incoming>
    void exchange(Outgoing const& outgoing, Incoming const& incoming, int tag,
                  char const* operation)
    {
        std::vector<MPI_Request> requests;
        for (int other = 0; other < size(); ++other) {
            if (other == rank()) continue;
            std::span<float> const to = incoming(static_cast<std::size_t>(other));
            check(MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_FLOAT, other, tag,
                            comm_.get(), &requests.emplace_back()),
                  operation);
        }
        for (int other = 0; other < size(); ++other) {
            if (other == rank()) continue;
            std::span<float const> const from = outgoing(static_cast<std::size_t>(other));
            check(MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_FLOAT, other, tag,
                            comm_.get(), &requests.emplace_back()),
                  operation);
        }
        if (!await_all(requests, patience_, operation)) give_up(operation);
    }

    // own := the sum of this rank's chunks from element `first` on.
    void sum_slice(std::span<float const> all, std::size_t chunk, std::size_t first,
                   std::span<float> own)
    {
        auto const count = own.size();
        received_.resize(static_cast<std::size_t>(size()) * std::min(chunk, slice_elements));
        auto const of_rank = [&](std::size_t other) {
            return std::span(received_).subspan(other * count, count);
        };
        exchange([&](std::size_t other) { return all.subspan(other * chunk + first, count); },
                 of_rank, reduction_tag, "sum over the ranks");
        auto const mine = static_cast<std::size_t>(rank());
        for (std::size_t other = 0; other < static_cast<std::size_t>(size()); ++other) {
            std::span<float const> const term =
                other == mine ? all.subspan(mine * chunk + first, count) : of_rank(other);
            if (other == 0) std::copy(term.begin(), term.end(), own.begin());
            else add(term, own);
        }
    }

    // Starts a nonblocking operation and waits for its end. A blocking one would wait forever for a
    // rank that hangs inside it.
    template <class Start>
    void complete(char const* operation, Start const& start)
    {
        MPI_Request request = MPI_REQUEST_NULL;
        check(start(&request), operation);
        // await_all() tests the request until it is done.
        // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker)
        if (!await_all({&request, 1}, patience_, operation)) give_up(operation);
    }

    // Waits for all ranks without spinning.
    void meet(char const* operation)
    {
        if (size() == 1) return;
        complete(operation,
                 [this](MPI_Request* request) { return MPI_Ibarrier(comm_.get(), request); });
    }

    [[noreturn]] void give_up(char const* operation) const
    {
        throw CommTimeout(std::string("cannot ") + operation + ": " + late_rank(patience_));
    }

    template <class T>
    void sum(std::span<T> values, MPI_Datatype type)
    {
        meet("sum over the ranks");
        in_pieces(values, [&](T* data, int count) {
            complete("sum over the ranks", [&](MPI_Request* request) {
                return MPI_Iallreduce(MPI_IN_PLACE, data, count, type, MPI_SUM, comm_.get(),
                                      request);
            });
        });
    }

    // MPI's counts are of type int.
    template <class T, class CallLimits>
    static void in_pieces(std::span<T> values, CallLimits const& call)
    {
        constexpr std::size_t most = std::size_t{1} << 28;
        for (; !values.empty(); values = values.subspan(std::min(most, values.size())))
            call(values.data(), static_cast<int>(std::min(most, values.size())));
    }

    Communicator comm_;
    Patience patience_;
    std::vector<float> received_;
};

}  // namespace

std::unique_ptr<Collectives> mpi_collectives() { return std::make_unique<MpiCollectives>(); }

}  // namespace curtail::comm
