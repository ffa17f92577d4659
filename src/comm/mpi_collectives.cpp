// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_collectives.hpp"

#include <algorithm>

#include "comm/mpi_call.hpp"

namespace curtail::comm {
namespace {

// Before each operation the ranks wait for each other without spinning, since one may be late by a
// whole step. After that, MPI's blocking call, which spins, is the fastest and short. Its order of
// summation depends only on the count and the number of ranks.
class MpiCollectives final : public Collectives {
  public:
    [[nodiscard]] int rank() const override { return comm_.rank(); }
    [[nodiscard]] int size() const override { return comm_.size(); }
    void set_patience(Patience patience) override { patience_ = std::move(patience); }
    void all_reduce_sum(std::span<float> values) override { sum(values, MPI_FLOAT); }
    void all_reduce_sum(std::span<double> values) override { sum(values, MPI_DOUBLE); }

    void broadcast(std::span<std::byte> bytes, int root) override
    {
        if (root < 0 || root >= size())
            throw std::logic_error("broadcast from rank " + std::to_string(root) + " of " +
                                   std::to_string(size()));
        meet("broadcast");
        in_pieces(bytes, [&](std::byte* data, int count) {
            check(MPI_Bcast(data, count, MPI_BYTE, root, comm_.get()), "broadcast");
        });
    }

    void barrier() override { meet("pass a barrier"); }

    [[nodiscard]] int all_reduce_max(int value) override
    {
        meet("find the maximum");
        int greatest = value;
        check(MPI_Allreduce(&value, &greatest, 1, MPI_INT, MPI_MAX, comm_.get()),
              "find the maximum");
        return greatest;
    }

  private:
    // Waits for all ranks without spinning.
    void meet(char const* operation)
    {
        if (size() == 1) return;
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibarrier(comm_.get(), &request), operation);
        if (!await(request, patience_, operation)) give_up(operation);
    }

    [[noreturn]] void give_up(char const* operation) const
    {
        bool const stopping = patience_.stop_end && patience_.stop_end();
        throw CommTimeout(
            std::string("cannot ") + operation + ": a rank did not arrive " +
            (stopping ? "in the time for a stop" : "within " + format_duration(patience_.limit)));
    }

    template <class T>
    void sum(std::span<T> values, MPI_Datatype type)
    {
        meet("sum over the ranks");
        in_pieces(values, [&](T* data, int count) {
            check(MPI_Allreduce(MPI_IN_PLACE, data, count, type, MPI_SUM, comm_.get()),
                  "sum over the ranks");
        });
    }

    // MPI's counts are of type int.
    template <class T, class Call>
    static void in_pieces(std::span<T> values, Call const& call)
    {
        constexpr std::size_t most = std::size_t{1} << 28;
        for (; !values.empty(); values = values.subspan(std::min(most, values.size())))
            call(values.data(), static_cast<int>(std::min(most, values.size())));
    }

    Communicator comm_;
    Patience patience_;
};

}  // namespace

std::unique_ptr<Collectives> mpi_collectives() { return std::make_unique<MpiCollectives>(); }

}  // namespace curtail::comm
