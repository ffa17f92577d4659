// SPDX-License-Identifier: Apache-2.0
#include "check/kernels.hpp"

#include <ATen/core/Generator.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>

#include "model/rotary.hpp"
#include "model/sums.hpp"

namespace curtail::check {
namespace {

using model::Kernels;
using model::Normalized;

// Errors of rounding the result once or twice. Sums of float32 are made in double or in trees.
double tolerance_of(at::ScalarType type) { return type == at::kBFloat16 ? 0x1p-7 : 3e-6; }

at::Tensor exactly(at::Tensor const& x) { return x.to(at::kCPU, at::kDouble); }

double greatest_error(at::Tensor const& found, at::Tensor const& exact)
{
    auto const scale = exact.abs().add_(exact.square().mean().sqrt());
    return exactly(found).sub_(exact).abs_().div_(scale).max().item<double>();
}

void wait_for(at::Device device)
{
    if (!device.is_cpu())
        c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

// Seconds of one call, from as many calls as fill `enough_s`.
double seconds_of(std::function<void()> const& call, at::Device device, double enough_s)
{
    call();
    for (int calls = 1;; calls *= 2) {
        wait_for(device);
        auto const begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) call();
        wait_for(device);
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
        if (took.count() >= enough_s) return took.count() / calls;
    }
}

// A result and what it should be.
struct Pair {
    at::Tensor found, exact;
};

class Check {
  public:
    explicit Check(KernelSubject const& subject) : subject_(subject), sizes_(subject.sizes) {}

    std::vector<Measured> all()
    {
        normalize();
        mix();
        rotate();
        square_relu();
        cross_entropy();
        return std::move(lines_);
    }

  private:
    // A large scale makes the type's epsilon negligible in a normalization: the exact values are
    // computed with that of double.
    static constexpr double large = 32;

    [[nodiscard]] at::Tensor random(at::IntArrayRef shape, double scale = 1) const
    {
        return at::randn(shape, at::kDouble).mul_(scale).to(subject_.device, subject_.type);
    }

    // Of the type of sums (model/sums.hpp).
    [[nodiscard]] at::Tensor random_wide(at::IntArrayRef shape) const
    {
        return random(shape).to(model::type_of_sums(subject_.type));
    }

    void normalize()
    {
        auto const x = random({sizes_.tokens, sizes_.width}, large);
        auto const dy = random(x.sizes());
        auto const dx = random(x.sizes());
        auto const exact_dx = exactly(dx);
        Normalized out;
        Normalized exact;
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
        model::MixInput const in{random(shape, large), random(shape, large), random({}),
                                 random({})};
        auto const dy = random(shape, large);
        model::MixGradients const d{random(shape), random(shape), random_wide({}), random_wide({})};
        model::MixInput const exact_in{exactly(in.x), exactly(in.x0), exactly(in.a), exactly(in.b)};
        model::MixGradients const exact_d{exactly(d.x), exactly(d.x0), exactly(d.a), exactly(d.b)};
        Normalized out;
        Normalized exact;
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
        auto const tables = model::rotary_tables(
            sizes_.sequence, heads.size, at::TensorOptions(subject_.type).device(subject_.device));
        model::RotaryTables const exact_tables{exactly(tables.cos), exactly(tables.sin)};
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
        model::HeadGradients const d{random({sizes_.tokens, heads.query_width()}),
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
        at::Tensor squares;
        at::Tensor exact_squares;
        subject_.kernels.square_relu(f, squares);
        exact_->square_relu(exact_f, exact_squares);
        add("square_relu", {{f, exact_f}, {squares, exact_squares}},
            [&](Kernels const& kernels) { kernels.square_relu(f, squares); });
        auto const d = random(f.sizes());
        auto const exact_d = exactly(d);
        subject_.kernels.square_relu_backward(f, d);
        exact_->square_relu_backward(exact_f, exact_d);
        add("square_relu_backward", {{f, exact_f}, {d, exact_d}},
            [&](Kernels const& kernels) { kernels.square_relu_backward(f, d); });
    }

    // Logits of ordinary size, an ignored target and padding.
    void cross_entropy()
    {
        auto const rows = sizes_.logit_rows;
        auto const z = random({rows, sizes_.padded_vocabulary}, 4);
        auto target = at::randint(sizes_.vocabulary, {rows}, at::kLong);
        target[rows / 2].fill_(-1);
        auto const exact_z = exactly(z);
        auto const exact_losses = at::zeros({rows}, at::kDouble);
        exact_->cross_entropy(exact_z, target, sizes_.vocabulary, scale_of_losses, exact_losses);
        target = target.to(subject_.device);
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

    static Normalized exactly(Normalized const& out)
    {
        return {check::exactly(out.y), check::exactly(out.r)};
    }
    static at::Tensor exactly(at::Tensor const& x) { return check::exactly(x); }

    // Adds a line with the greatest error of the pairs, and with the time of `call`.
    void add(char const* name, std::vector<Pair> const& pairs,
             std::function<void(Kernels const&)> const& call)
    {
        Measured line{
            .name = std::string(name) + (subject_.type == at::kBFloat16 ? " bfloat16" : " float32"),
            .tolerance = tolerance_of(subject_.type),
            .times = {}};
        for (auto const& [found, exact] : pairs) {
            auto const error = greatest_error(found, exact);
            if (!(error <= line.error)) line.error = error;  // keeps NaN
        }
        if (subject_.seconds_per_time > 0)
            line.times = Times{time_of(call, subject_.kernels), time_of(call, *exact_)};
        lines_.push_back(std::move(line));
    }
    [[nodiscard]] double time_of(std::function<void(Kernels const&)> const& call,
                                 Kernels const& kernels) const
    {
        return seconds_of([&] { call(kernels); }, subject_.device, subject_.seconds_per_time);
    }

    static constexpr double scale_of_losses = 0.25;

    KernelSubject const& subject_;
    KernelSizes const& sizes_;
    std::unique_ptr<Kernels const> exact_{model::aten_kernels()};
    std::vector<Measured> lines_;
};

}  // namespace

KernelSizes large_kernel_sizes()
{
    constexpr std::int64_t depth = 20;
    return {.tokens = 8192,
            .sequence = 2048,
            .width = 64 * depth,
            .heads = {depth / 2, depth / 2, 128},
            .logit_rows = 256,
            .vocabulary = 65536,
            .padded_vocabulary = 65536};
}

std::vector<Measured> check_kernels(KernelSubject const& subject)
{
    at::manual_seed(7);
    return Check(subject).all();
}

}  // namespace curtail::check
