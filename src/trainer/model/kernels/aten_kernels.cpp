// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/tanh.h>

#include <limits>
#include <stdexcept>

#include "trainer/model/kernels/check_ids.hpp"
#include "trainer/model/kernels/kernels.hpp"
#include "trainer/model/sums.hpp"

namespace curtail::model {
namespace {

double epsilon_of(at::Tensor const& x)
{
    switch (x.scalar_type()) {
        case at::kDouble:
            return std::numeric_limits<double>::epsilon();
        case at::kFloat:
        case at::kBFloat16:  // PyTorch's rms_norm, too, adds the epsilon of float32
            return std::numeric_limits<float>::epsilon();
        default:
            throw std::invalid_argument("kernels need double, float32 or bfloat16");
    }
}

// In the type of intermediate results, which is the next wider one.
at::Tensor wide(at::Tensor const& x)
{
    return x.to(x.scalar_type() == at::kBFloat16 ? at::kFloat : at::kDouble);
}

at::Tensor mean_of_product(at::Tensor const& a, at::Tensor const& b)
{
    return at::mul(a, b).mean(-1, true);
}

// 1 / sqrt(mean(x^2) + eps) over the last dimension, which stays with size 1. `x` is wide.
at::Tensor factor_of(at::Tensor const& x, double epsilon)
{
    return mean_of_product(x, x).add_(epsilon).rsqrt_();
}

// The derivative of x from that of y = x r, in the wide type: r (dy - y mean(dy y)). The divisor of
// the mean makes up for the rounding of y and r.
at::Tensor through_norm(at::Tensor const& dy, at::Tensor const& y, at::Tensor const& r)
{
    auto const wide_r = r.to(wide(y).scalar_type());
    auto const squares =
        mean_of_product(wide(y), wide(y)).add_(at::mul(wide_r, wide_r).mul_(epsilon_of(y)));
    auto const along = mean_of_product(wide(dy), wide(y)).div_(squares);
    return at::mul(wide(dy).sub(at::mul(wide(y), along)), wide_r);
}

void add_to(at::Tensor const& sum, at::Tensor const& term) { sum.add_(term.to(sum.scalar_type())); }

class AtenKernels final : public Kernels {
  public:
    void normalize(at::Tensor const& x, NormalizationResult& out) const override
    {
        auto const r = factor_of(wide(x), epsilon_of(x));
        out.y = at::mul(wide(x), r).to(x.scalar_type());
        out.r = r.squeeze(-1).to(type_of_sums(x.scalar_type()));
    }
    void normalize_backward(at::Tensor const& dy, NormalizationResult const& out,
                            at::Tensor const& dx) const override
    {
        add_to(dx, through_norm(dy, out.y, out.r.unsqueeze(-1)));
    }

    void embed(at::Tensor const& table, at::Tensor const& ids,
               NormalizationResult& out) const override
    {
        check_ids(ids, 0, table.size(0));
        normalize(at::index_select(table, 0, ids), out);
    }
    void embed_backward(at::Tensor const& dy, NormalizationResult const& out, at::Tensor const& ids,
                        at::Tensor const& dtable) const override
    {
        auto const dx = through_norm(dy, out.y, out.r.unsqueeze(-1));
        // Each adds in the same order in every run: the first on the CPU, the second on a GPU,
        // where the first would also need a second table.
        if (dtable.is_cpu())
            add_to(dtable, at::embedding_dense_backward(dx, ids, dtable.size(0), -1, false));
        else dtable.index_put_({ids}, dx.to(dtable.scalar_type()), true);
    }

    void mix(MixInput const& in, at::Tensor& mixed, NormalizationResult& out) const override
    {
        mixed = at::mul(wide(in.x), wide(in.a))
                    .add_(at::mul(wide(in.x0), wide(in.b)))
                    .to(in.x.scalar_type());
        normalize(mixed, out);
    }
    void mix_backward(at::Tensor const& dy, NormalizationResult const& out, MixInput const& in,
                      MixGradients const& gradients) const override
    {
        auto const d =
            through_norm(dy, out.y, out.r.unsqueeze(-1)).add_(wide(gradients.x));  // of the mix
        add_to(gradients.a, at::mul(d, wide(in.x)).sum());
        add_to(gradients.b, at::mul(d, wide(in.x0)).sum());
        add_to(gradients.x0, at::mul(d, wide(in.b)));
        gradients.x.copy_(at::mul(d, wide(in.a)));
    }

    void rotate(at::Tensor const& qkv, HeadSizes sizes, RotaryTables const& tables,
                std::int64_t sequence, at::Tensor& r) const override
    {
        auto const heads = rotated_heads(qkv, sizes, sequence);
        auto const halves = wide(heads).chunk(2, 3);
        auto const [cos, sin] = at_positions(tables, sequence);
        auto const turned = at::cat({at::mul(halves[0], cos).add_(at::mul(halves[1], sin)),
                                     at::mul(halves[1], cos).sub_(at::mul(halves[0], sin))},
                                    3);
        auto const factor = factor_of(turned, epsilon_of(qkv));
        heads.copy_(at::mul(turned, factor));
        r = factor.view({qkv.size(0), -1}).to(type_of_sums(qkv.scalar_type()));
    }
    void rotate_backward(HeadGradients const& gradients, at::Tensor const& rotated,
                         at::Tensor const& r, HeadSizes sizes, RotaryTables const& tables,
                         std::int64_t sequence, at::Tensor& dqkv) const override
    {
        dqkv = at::cat({gradients.q, gradients.k, gradients.v}, 1);
        auto const gradient = rotated_heads(dqkv, sizes, sequence);
        auto const heads = rotated_heads(rotated, sizes, sequence);
        auto const halves =
            through_norm(gradient, heads, r.view(heads.sizes().slice(0, 3)).unsqueeze(-1))
                .chunk(2, 3);
        auto const [cos, sin] = at_positions(tables, sequence);
        gradient.copy_(at::cat({at::mul(halves[0], cos).sub_(at::mul(halves[1], sin)),
                                at::mul(halves[1], cos).add_(at::mul(halves[0], sin))},
                               3));
    }

    void square_relu(at::Tensor const& f) const override { f.relu_().square_(); }
    void square_relu_backward(at::Tensor const& squares, at::Tensor const& gradient) const override
    {
        gradient.copy_(wide(squares).sqrt().mul_(2).mul_(gradient));
    }

    void cross_entropy(at::Tensor const& z, at::Tensor const& target, std::int64_t vocabulary,
                       double scale, at::Tensor const& losses) const override
    {
        SoftcapResult const capped(z, target, vocabulary);
        losses.copy_(capped.losses());
        auto const p = at::mul(capped.tanh, softcap).sub_(capped.log_sum).exp_();
        p.scatter_add_(1, capped.index, capped.counts.neg());
        auto const slope = at::mul(capped.tanh, capped.tanh).neg_().add_(1);
        z.narrow(1, 0, vocabulary).copy_(p.mul_(slope).mul_(at::mul(capped.counts, scale)));
        z.narrow(1, vocabulary, z.size(1) - vocabulary).zero_();
    }
    void cross_entropy_losses(at::Tensor const& z, at::Tensor const& target,
                              std::int64_t vocabulary, at::Tensor const& losses) const override
    {
        losses.copy_(SoftcapResult(z, target, vocabulary).losses());
    }

  private:
    // The query and key heads in `qkv`: (B, T, H + K, D).
    static at::Tensor rotated_heads(at::Tensor const& qkv, HeadSizes sizes, std::int64_t sequence)
    {
        return qkv.narrow(1, 0, sizes.query_width() + sizes.kv_width())
            .view({-1, sequence, sizes.query_heads + sizes.kv_heads, sizes.size});
    }
    // The first `sequence` positions of the tables, for tensors (B, T, heads, D / 2).
    static std::pair<at::Tensor, at::Tensor> at_positions(RotaryTables const& tables,
                                                          std::int64_t sequence)
    {
        return {tables.cos.narrow(0, 0, sequence).unsqueeze(1),
                tables.sin.narrow(0, 0, sequence).unsqueeze(1)};
    }

    struct SoftcapResult {
        SoftcapResult(at::Tensor const& z, at::Tensor const& target, std::int64_t vocabulary)
            : tanh(at::div(z.narrow(1, 0, vocabulary).to(type_of_sums(z.scalar_type())), softcap)
                       .tanh_()),
              log_sum(at::logsumexp(at::mul(tanh, softcap), 1, true)),
              index(target.clamp_min(0).unsqueeze(1)),
              counts(target.ge(0).to(type_of_sums(z.scalar_type())).unsqueeze(1))
        {
            check_ids(target, -1, vocabulary);
        }
        [[nodiscard]] at::Tensor losses() const
        {
            return at::mul(log_sum.sub(tanh.gather(1, index).mul_(softcap)), counts).squeeze(1);
        }
        at::Tensor tanh;           // (n, V): tanh(z / 15)
        at::Tensor log_sum;        // (n, 1)
        at::Tensor index, counts;  // (n, 1): target and 1; both 0 where it is ignored
    };
};

}  // namespace

std::unique_ptr<Kernels const> aten_kernels() { return std::make_unique<AtenKernels>(); }

std::unique_ptr<Kernels const> kernels_for(at::ScalarType type, c10::DeviceType device)
{
    return type == at::kFloat && device == c10::kCPU ? cpu_kernels() : aten_kernels();
}

}  // namespace curtail::model
