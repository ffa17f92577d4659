// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "trainer/comm/collectives.hpp"

namespace curtail::test {

/// Collectives that call others, which must outlive them. Tests override single functions.
class ForwardingCollectives : public comm::Collectives {
  public:
    explicit ForwardingCollectives(comm::Collectives& inner) : inner_(inner) {}
    [[nodiscard]] int rank() const override { return inner_.rank(); }
    [[nodiscard]] int size() const override { return inner_.size(); }
    [[nodiscard]] comm::Memory memory() const override { return inner_.memory(); }
    void set_patience(comm::Patience patience) override
    {
        inner_.set_patience(std::move(patience));
    }
    void all_reduce_sum(std::span<float> values) override { inner_.all_reduce_sum(values); }
    void all_reduce_sum(std::span<double> values) override { inner_.all_reduce_sum(values); }
    void reduce_scatter_sum(std::span<float const> all, std::span<float> own) override
    {
        inner_.reduce_scatter_sum(all, own);
    }
    void all_gather(std::span<float const> own, std::span<float> all) override
    {
        inner_.all_gather(own, all);
    }
    void broadcast(std::span<float> values, int root) override { inner_.broadcast(values, root); }
    void broadcast(std::span<std::byte> bytes, int root) override { inner_.broadcast(bytes, root); }
    void finish() override { inner_.finish(); }
    void finish(std::uint64_t operations) override { inner_.finish(operations); }
    [[nodiscard]] std::uint64_t enqueued() const override { return inner_.enqueued(); }
    void synchronize() override { inner_.synchronize(); }
    void wait_until(std::function<bool()> const& done) override { inner_.wait_until(done); }
    void barrier() override { inner_.barrier(); }
    [[nodiscard]] int all_reduce_max(int value) override { return inner_.all_reduce_max(value); }

  protected:
    comm::Collectives& inner_;
};

}  // namespace curtail::test
