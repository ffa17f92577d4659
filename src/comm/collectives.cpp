// SPDX-License-Identifier: Apache-2.0
#include "comm/collectives.hpp"

#include <cstdint>

namespace curtail::comm {
namespace {

class SingleProcess final : public Collectives {
  public:
    [[nodiscard]] int rank() const override { return 0; }
    [[nodiscard]] int size() const override { return 1; }
    void set_patience(Patience) override {}
    void all_reduce_sum(std::span<float>) override {}
    void all_reduce_sum(std::span<double>) override {}
    void broadcast(std::span<std::byte>, int root) override
    {
        if (root != 0)
            throw std::logic_error("broadcast from rank " + std::to_string(root) + " of 1");
    }
    void barrier() override {}
    [[nodiscard]] int all_reduce_max(int value) override { return value; }
};

}  // namespace

Error CommError::to_error() const
{
    return {code_, "the ranks cannot work together", what(),
            "start again to continue from the last commit"};
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
