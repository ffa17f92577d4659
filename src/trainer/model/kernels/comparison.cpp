// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/kernels/comparison.hpp"

#include <ATen/core/Generator.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "trainer/model/rotary.hpp"
#include "trainer/model/sums.hpp"

namespace curtail::model {
namespace {

// Errors of rounding the result once or twice. Sums of float32 are made in double or in trees.
double tolerance_of(at::ScalarType type) { return type == at::kBFloat16 ? 0x1p-7 : 3e-6; }

double greatest_error(at::Tensor const& found, at::Tensor const& exact)
{
    auto const scale = exact.abs().add_(exact.square().mean().sqrt());
    return found.to(exact.options()).sub_(exact).abs_().div_(scale).max().item<double>();
}

// A result and what it should be.
struct Pair {
    at::Tensor result, exact;
};

class Comparison {
  public:
    Comparison(KernelSubject const& subject, VisitError const& visit)
        : subject_(subject), sizes_(subject.sizes), visit_(visit)
    {
    }

    void all()
    {
        auto const& operations = subject_.operations;
        if (operations.embed) embed();
        if (operations.normalize) normalize();
        if (operations.mix) mix();
        if (operations.rotate) rotate();
        if (operations.square_relu) square_relu();
        if (operations.cross_entropy) cross_entropy();
    }

  private:
    // A large scale makes the type's epsilon negligible in a normalization: the exact values are
    // computed with that of double.
    static constexpr double large = 32;

    [[nodiscard]] at::Tensor random(at::IntArrayRef shape, double scale = 1) const
    {
        return at::randn(shape, at::TensorOptions(at::kFloat).device(subject_.device))
            .mul_(scale)
            .to(subject_.type);
    }

    // The values have the type of sums (trainer/model/sums.hpp).
    [[nodiscard]] at::Tensor random_wide(at::IntArrayRef shape) const
    {
        return random(shape).to(type_of_sums(subject_.type));
    }

    // Few rows of the table, so that some ids occur twice.
    void embed()
    {
        auto const rows = std::max<std::int64_t>(1, sizes_.tokens / 2);
        auto const table = random({rows, sizes_.width}, large);
        auto const ids = at::randint(rows, {sizes_.tokens},
                                     at::TensorOptions(at::kLong).device(subject_.device));
        auto const exact_ids = ids.to(subject_.exact_on);
        NormalizationResult out;
        NormalizationResult exact;
        subject_.kernels.embed(table, ids, out);
        exact_->embed(exactly(table), exact_ids, exact);
        add("embed", {{out.y, exact.y}, {out.r, exact.r}},
            [&](Kernels const& kernels) { kernels.embed(table, ids, out); });
        auto const dy = random(out.y.sizes());
        auto const dtable = random_wide(table.sizes());
        auto const exact_dtable = exactly(dtable);
        exact_->embed_backward(exactly(dy), exactly(out), exact_ids, exact_dtable);
        subject_.kernels.embed_backward(dy.clone(), out, ids, dtable);
        add("embed_backward", {{dtable, exact_dtable}},
            [&](Kernels const& kernels) { kernels.embed_backward(dy, out, ids, dtable); });
    }

    void normalize()
    {
        auto const x = random({sizes_.tokens, sizes_.width}, large);
        auto const dy = random(x.sizes());
        auto const dx = random(x.sizes());
        auto const exact_dx = exactly(dx);
        NormalizationResult out;
        NormalizationResult exact;
        subject_.kernels.normalize(x, out);
        exact_->normalize(exactly(x), exact);
        add("normalize", {{out.y, exact.y}, {out.r, exact.r}},
            [&](Kernels const& kernels) { kernels.normalize(x, out); });
        subject_.kernels.normalize_backward(dy, out, dx);
        exact_->normalize_backward(exactly(dy), exactly(out), exact_dx);
        add("normalize_backward", {{dx, exact_dx}},
            [&](Kernels const& kernels) { kernels.normalize_backward(dy, out, dx); });
    }

    void mix()
    {
        auto const shape = {sizes_.tokens, sizes_.width};
        MixInput const in{random(shape, large), random(shape, large), random_wide({}),
                          random_wide({})};
        auto const dy = random(shape, large);
        MixGradients const d{random(shape), random(shape), random_wide({}), random_wide({})};
        MixInput const exact_in{exactly(in.x), exactly(in.x0), exactly(in.a), exactly(in.b)};
        MixGradients const exact_d{exactly(d.x), exactly(d.x0), exactly(d.a), exactly(d.b)};
        NormalizationResult out;
        NormalizationResult exact;
        at::Tensor mixed;
        at::Tensor exact_mixed;
        subject_.kernels.mix(in, mixed, out);
        exact_->mix(exact_in, exact_mixed, exact);
        add("mix", {{mixed, exact_mixed}, {out.y, exact.y}, {out.r, exact.r}},
            [&](Kernels const& kernels) { kernels.mix(in, mixed, out); });
        subject_.kernels.mix_backward(dy, out, in, d);
        exact_->mix_backward(exactly(dy), exactly(out), exact_in, exact_d);
        add("mix_backward",
            {{d.x, exact_d.x}, {d.x0, exact_d.x0}, {d.a, exact_d.a}, {d.b, exact_d.b}},
            [&](Kernels const& kernels) { kernels.mix_backward(dy, out, in, d); });
    }

    void rotate()
    {
        auto const& heads = sizes_.heads;
        auto const tables = rotary_tables(sizes_.sequence, heads.size,
                                          at::TensorOptions(subject_.type).device(subject_.device));
        RotaryTables const exact_tables{exactly(tables.cos), exactly(tables.sin)};
        auto const qkv = random({sizes_.tokens, heads.row_width()}, large);
        auto const exact_qkv = exactly(qkv);
        at::Tensor r;
        at::Tensor exact_r;
        subject_.kernels.rotate(qkv, heads, tables, sizes_.sequence, r);
        exact_->rotate(exact_qkv, heads, exact_tables, sizes_.sequence, exact_r);
        auto const rotated = qkv.clone();  // timing rotates qkv again and again
        add("rotate", {{qkv, exact_qkv}, {r, exact_r}}, [&](Kernels const& kernels) {
            kernels.rotate(qkv, heads, tables, sizes_.sequence, r);
        });
        HeadGradients const d{random({sizes_.tokens, heads.query_width()}),
                              random({sizes_.tokens, heads.kv_width()}),
                              random({sizes_.tokens, heads.kv_width()})};
        at::Tensor dqkv;
        at::Tensor exact_dqkv;
        auto const factors = random_wide(r.sizes()).abs_().add_(1).div_(large);
        subject_.kernels.rotate_backward(d, rotated, factors, heads, tables, sizes_.sequence, dqkv);
        exact_->rotate_backward({exactly(d.q), exactly(d.k), exactly(d.v)}, exactly(rotated),
                                exactly(factors), heads, exact_tables, sizes_.sequence, exact_dqkv);
        add("rotate_backward", {{dqkv, exact_dqkv}}, [&](Kernels const& kernels) {
            kernels.rotate_backward(d, rotated, factors, heads, tables, sizes_.sequence, dqkv);
        });
    }

    void square_relu()
    {
        auto const f = random({sizes_.tokens, 4 * sizes_.width});
        auto const exact_f = exactly(f);
        subject_.kernels.square_relu(f);
        exact_->square_relu(exact_f);
        auto const squares = f.clone();  // timing squares f again and again
        add("square_relu", {{f, exact_f}}, [&](Kernels const& kernels) { kernels.square_relu(f); });
        auto const d = random(f.sizes());
        auto const exact_d = exactly(d);
        subject_.kernels.square_relu_backward(squares, d);
        exact_->square_relu_backward(exactly(squares), exact_d);
        add("square_relu_backward", {{d, exact_d}},
            [&](Kernels const& kernels) { kernels.square_relu_backward(squares, d); });
    }

    // Logits of ordinary size, an ignored target and padding.
    void cross_entropy()
    {
        auto const rows = sizes_.logit_rows;
        auto const z = random({rows, sizes_.padded_vocabulary}, 4);
        auto const target = at::randint(sizes_.vocabulary, {rows},
                                        at::TensorOptions(at::kLong).device(subject_.device));
        target[rows / 2].fill_(-1);
        auto const exact_z = exactly(z);
        auto const exact_losses = at::zeros({rows}, exact_z.options());
        exact_->cross_entropy(exact_z, target.to(subject_.exact_on), sizes_.vocabulary,
                              scale_of_losses, exact_losses);
        auto const losses = at::zeros({rows}, z.options().dtype(at::kFloat));
        auto const run_losses = [&](Kernels const& kernels) {
            kernels.cross_entropy_losses(z, target, sizes_.vocabulary, losses);
        };
        auto const run = [&](Kernels const& kernels) {
            kernels.cross_entropy(z, target, sizes_.vocabulary, scale_of_losses, losses);
        };
        run_losses(subject_.kernels);
        add("cross_entropy_losses", {{losses, exact_losses}}, run_losses);
        run(subject_.kernels);
        add("cross_entropy", {{losses, exact_losses}, {z, exact_z}}, run);
    }

    [[nodiscard]] at::Tensor exactly(at::Tensor const& x) const
    {
        return x.to(subject_.exact_on, at::kDouble, false, true);
    }
    [[nodiscard]] NormalizationResult exactly(NormalizationResult const& out) const
    {
        return {exactly(out.y), exactly(out.r)};
    }

    // Reports the greatest error of the pairs.
    void add(char const* name, std::vector<Pair> const& pairs,
             std::function<void(Kernels const&)> const& call) const
    {
        KernelError greatest{name, 0, tolerance_of(subject_.type)};
        for (auto const& [result, exact] : pairs) {
            auto const error = greatest_error(result, exact);
            if (!(error <= greatest.error)) greatest.error = error;  // keeps NaN
        }
        visit_(greatest, call);
    }

    static constexpr double scale_of_losses = 0.25;

    KernelSubject const& subject_;
    KernelSizes const& sizes_;
    VisitError const& visit_;
    std::unique_ptr<Kernels const> exact_{aten_kernels()};
};

}  // namespace

void compare_kernels(KernelSubject const& subject, VisitError const& visit)
{
    at::manual_seed(7);
    Comparison(subject, visit).all();
}

}  // namespace curtail::model
