// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/collectives.hpp"

#include <algorithm>
#include <cstdint>

#include "trainer/comm/polling.hpp"

namespace curtail::comm {
namespace {

class SingleProcess final : public Collectives {
  public:
    [[nodiscard]] int rank() const override { return 0; }
    [[nodiscard]] int size() const override { return 1; }
    void set_patience(Patience) override {}
    void all_reduce_sum(std::span<float>) override {}
    void all_reduce_sum(std::span<double>) override {}
    void reduce_scatter_sum(std::span<float const> all, std::span<float> own) override
    {
        copy(all, own);
    }
    void all_gather(std::span<float const> own, std::span<float> all) override { copy(own, all); }
    void broadcast(std::span<float>, int root) override { require_rank(root); }
    void broadcast(std::span<std::byte>, int root) override { require_rank(root); }
    void barrier() override {}
    [[nodiscard]] int all_reduce_max(int value) override { return value; }

  private:
    void copy(std::span<float const> from, std::span<float> to) const
    {
        require_chunks(from.size(), to.size());
        if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
    }
};

}  // namespace

Error CommError::to_error() const
{
    return {code_, "the ranks cannot work together", what(),
            "start again to continue from the last commit"};
}

void Collectives::wait_until(std::function<bool()> const& done)
{
    Backoff backoff;
    while (!done())
        if (!backoff.spin()) backoff.nap();
}

void Collectives::require_rank(int root) const
{
    if (root < 0 || root >= size())
        throw std::logic_error("broadcast from rank " + std::to_string(root) + " of " +
                               std::to_string(size()));
}

void Collectives::require_chunks(std::size_t all, std::size_t own) const
{
    if (all != own * static_cast<std::size_t>(size()))
        throw std::logic_error("the sizes of two buffers differ");
}

std::unique_ptr<Collectives> single_process() { return std::make_unique<SingleProcess>(); }

std::string broadcast_text(Collectives& ranks, std::string_view text, int root, std::size_t limit)
{
    std::uint64_t size = text.size();
    ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
    if (size > limit)
        throw CommError("cannot broadcast a text of " + std::to_string(size) +
                        " bytes: the limit is " + std::to_string(limit));
    std::string received = ranks.rank() == root ? std::string(text) : std::string(size, '\0');
    ranks.broadcast(std::as_writable_bytes(std::span(received)), root);
    return received;
}

}  // namespace curtail::comm
