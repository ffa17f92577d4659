// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "comm/mpi_call.hpp"
#include "comm/mpi_session.hpp"

namespace curtail::comm {
namespace {

/// All ranks meet first, politely, since one may be late by a whole step. Then all are there, and
/// MPI's blocking form, which spins, is both the fastest and soon over. Its order of summation
/// depends on count and number of ranks alone.
class MpiCollectives final : public Collectives {
  public:
    [[nodiscard]] int rank() const override { return comm_.rank(); }
    [[nodiscard]] int size() const override { return comm_.size(); }
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

    void barrier() override { meet("meet at a barrier"); }

    [[nodiscard]] int all_agree_max(int value) override
    {
        meet("agree");
        int greatest = value;
        check(MPI_Allreduce(&value, &greatest, 1, MPI_INT, MPI_MAX, comm_.get()), "agree");
        return greatest;
    }

  private:
    void meet(char const* act)
    {
        if (size() == 1) return;
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibarrier(comm_.get(), &request), act);
        (void)await(request, std::nullopt, act);
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

    /// MPI counts in int.
    template <class T, class Act>
    static void in_pieces(std::span<T> values, Act const& act)
    {
        constexpr std::size_t most = std::size_t{1} << 28;
        for (; !values.empty(); values = values.subspan(std::min(most, values.size())))
            act(values.data(), static_cast<int>(std::min(most, values.size())));
    }

    Communicator comm_;
};

}  // namespace

std::unique_ptr<Collectives> mpi_collectives() { return std::make_unique<MpiCollectives>(); }

}  // namespace curtail::comm
