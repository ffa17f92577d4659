// SPDX-License-Identifier: Apache-2.0
#include "gpu/operations.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <map>
#include <stdexcept>

#include "gpu/device_time.hpp"
#include "trainer/model/attention.hpp"
#include "trainer/model/gpu_operators.hpp"
#include "trainer/model/kernels/comparison.hpp"
#include "trainer/model/optim/optimizer.hpp"
#include "trainer/model/products.hpp"
#include "trainer/model/sums.hpp"

namespace curtail::check {
namespace {

constexpr double multiply_and_add = 2;

class Measurement {
  public:
    Measurement(OperationSubject const& subject, std::function<void(Operation const&)> const& visit)
        : subject_(subject),
          visit_(visit),
          tokens_(subject.rows * subject.shape.sequence),
          layers_per_step_(static_cast<double>(subject.shape.layers * subject.micro_batches))
    {
    }

    // The six matrix products of a layer, of which q, k and v are one.
    void products() const
    {
        auto const width = subject_.shape.width;
        auto const qkv = width + 2 * subject_.shape.kv_heads * subject_.shape.head_size();
        product("qkv", {qkv, width}, tokens_, layers_per_step_, false);
        product("out", {width, width}, tokens_, layers_per_step_, true);
        product("fc", {4 * width, width}, tokens_, layers_per_step_, false);
        product("proj", {width, 4 * width}, tokens_, layers_per_step_, true);
    }

    // The head's products for slices of several sizes. The model uses those of 4096 tokens.
    void head() const
    {
        constexpr std::int64_t used = 4096;
        for (std::int64_t const slice : {std::int64_t{16'384}, std::int64_t{8192}, used}) {
            auto const rows = std::min(slice, tokens_);
            double const slices = static_cast<double>(tokens_) / static_cast<double>(rows) *
                                  static_cast<double>(slice == used ? subject_.micro_batches : 0);
            product("head " + std::to_string(slice),
                    {subject_.shape.padded_vocabulary(), subject_.shape.width}, rows, slices,
                    false);
        }
    }

    void attention() const
    {
        auto const& shape = subject_.shape;
        model::HeadSizes const sizes{shape.heads, shape.kv_heads, shape.head_size()};
        auto const qkv = random({tokens_, sizes.row_width()});
        auto const dy = random({tokens_, sizes.query_width()});
        // Two products of T x T, of which the causal mask leaves half; five in the backward pass.
        double const flop = multiply_and_add * static_cast<double>(tokens_ * shape.sequence) *
                            static_cast<double>(sizes.query_width());
        for (auto const operation : {model::GpuAttention::flash, model::GpuAttention::cudnn}) {
            auto const name = "attention " + std::string(model::to_text(operation));
            double const used = operation == subject_.attention ? layers_per_step_ : 0;
            auto const out = model::attend(qkv, sizes, shape.sequence, operation);
            report({.name = name + " forward", .flop = flop, .per_step = used},
                   [&] { (void)model::attend(qkv, sizes, shape.sequence, operation); });
            report({.name = name + " backward", .flop = 2.5 * flop, .per_step = used}, [&] {
                (void)model::attend_backward(dy, qkv, out, sizes, shape.sequence, operation);
            });
        }
    }

    // The operations between the products, compared with ATen in double precision on the device.
    void kernels() const
    {
        auto const& shape = subject_.shape;
        auto const slice = std::min<std::int64_t>(4096, tokens_);
        model::KernelSizes const sizes{tokens_,
                                       shape.sequence,
                                       shape.width,
                                       {shape.heads, shape.kv_heads, shape.head_size()},
                                       slice,
                                       shape.vocabulary,
                                       shape.padded_vocabulary()};
        auto const aten = model::aten_kernels();
        auto const traffic = traffic_of(sizes);
        model::compare_kernels(
            {subject_.kernels, model::CudaKernelSet::all(), subject_.device, subject_.type, sizes,
             subject_.device},
            [&](model::KernelError const& found, auto const& call) {
                auto const& [elements, per_micro_batch] = traffic.at(found.operation);
                report({.name = found.operation,
                        .bytes = elements * static_cast<double>(c10::elementSize(subject_.type)),
                        .per_step = per_micro_batch * static_cast<double>(subject_.micro_batches),
                        .aten_seconds = time_of([&] { call(*aten); }),
                        .error = found.error},
                       [&] { call(subject_.kernels); });
            });
    }

    void optimizer() const
    {
        auto const& shape = subject_.shape;
        config::OptimizerSettings settings;
        settings.muon_bfloat16 = subject_.type == at::kBFloat16;
        optim::Optimizer optimizer(shape, settings, Tokens{tokens_ * subject_.micro_batches},
                                   optim::deal_shards(shape, 1).of(0), subject_.device);
        auto const options = at::TensorOptions(at::kFloat).device(subject_.device);
        auto const weights = at::randn({shape.parameters()}, options);
        auto const gradients = at::randn({shape.parameters()}, options);
        std::vector<at::Tensor> w;
        std::vector<at::Tensor> g;
        for (auto const& range : optim::deal_shards(shape, 1).of(0)) {
            w.push_back(weights.narrow(0, range.offset, range.count));
            g.push_back(gradients.narrow(0, range.offset, range.count));
        }
        auto const skip = at::zeros({}, options);
        report({.name = "optimizer step", .per_step = 1}, [&] {
            (void)optimizer.step(w, g, {1, 1}, 1.0, {skip});
        });
    }

    void copy() const
    {
        auto const from = random({tokens_, 8 * subject_.shape.width});
        auto const to = at::empty_like(from);
        report({.name = "copy", .bytes = 2 * static_cast<double>(from.nbytes())},
               [&] { to.copy_(from); });
    }

  private:
    struct MatrixShape {
        std::int64_t rows, columns;
    };

    [[nodiscard]] at::Tensor random(at::IntArrayRef sizes) const
    {
        return at::randn(sizes, at::TensorOptions(at::kFloat).device(subject_.device))
            .to(subject_.type);
    }

    [[nodiscard]] double time_of(std::function<void()> const& call) const
    {
        return seconds_of(call, subject_.device, subject_.seconds_per_time);
    }

    void report(Operation operation, std::function<void()> const& call) const
    {
        operation.seconds = time_of(call);
        visit_(operation);
    }

    // x w^T, or its addition to the residual stream, and the products of its backward pass.
    void product(std::string const& name, MatrixShape of, std::int64_t tokens, double per_step,
                 bool adds) const
    {
        auto const x = random({tokens, of.columns});
        auto const w = random({of.rows, of.columns});
        auto y = random({tokens, of.rows});
        auto dx = random({tokens, of.columns});
        auto const dw =
            at::zeros({of.rows, of.columns}, x.options().dtype(model::type_of_sums(subject_.type)));
        double const flop = multiply_and_add * static_cast<double>(tokens * of.rows) *
                            static_cast<double>(of.columns);
        report({.name = name + " forward", .flop = flop, .per_step = per_step}, [&] {
            if (adds) model::add_product(x, w, y);
            else model::multiply(x, w, y);
        });
        y.normal_();  // products of growing sums would become infinite
        report({.name = name + " dx", .flop = flop, .per_step = per_step},
               [&] { model::multiply_backward(y, w, dx); });
        report({.name = name + " dw", .flop = flop, .per_step = per_step},
               [&] { model::add_weight_gradient(y, x, dw); });
    }

    struct Traffic {
        double elements;         // that one call must read and write
        double per_micro_batch;  // calls
    };
    [[nodiscard]] std::map<std::string, Traffic> traffic_of(model::KernelSizes const& sizes) const
    {
        auto const n = static_cast<double>(sizes.tokens);
        double const stream = n * static_cast<double>(sizes.width);
        double const queries = n * static_cast<double>(sizes.heads.query_width());
        double const keys = n * static_cast<double>(sizes.heads.kv_width());
        double const hidden = 4 * stream;
        double const logits =
            static_cast<double>(sizes.logit_rows) * static_cast<double>(sizes.padded_vocabulary);
        auto const layers = static_cast<double>(subject_.shape.layers);
        double const slices = n / static_cast<double>(sizes.logit_rows);
        return {{"embed", {4 * stream, 1}},
                {"embed_backward", {4 * stream, 1}},
                {"normalize", {2 * stream, layers + 1}},
                {"normalize_backward", {4 * stream, layers + 1}},
                {"mix", {4 * stream, layers}},
                {"mix_backward", {8 * stream, layers}},
                {"rotate", {2 * (queries + keys), layers}},
                {"rotate_backward", {3 * (queries + keys) + 2 * keys, layers}},
                {"square_relu", {2 * hidden, layers}},
                {"square_relu_backward", {3 * hidden, layers}},
                {"cross_entropy_losses", {logits, 0}},
                {"cross_entropy", {3 * logits, slices}}};
    }

    OperationSubject const& subject_;
    std::function<void(Operation const&)> const& visit_;
    std::int64_t tokens_;
    double layers_per_step_;
};

struct Group {
    std::string_view name;
    void (Measurement::*measure)() const;
};
constexpr std::array groups{
    Group{"products", &Measurement::products},   Group{"head", &Measurement::head},
    Group{"attention", &Measurement::attention}, Group{"kernels", &Measurement::kernels},
    Group{"optimizer", &Measurement::optimizer}, Group{"copy", &Measurement::copy}};
constexpr auto group_names = [] {
    std::array<std::string_view, groups.size()> names;
    for (std::size_t i = 0; i < groups.size(); ++i) names[i] = groups[i].name;
    return names;
}();

}  // namespace

json::Object to_json(Operation const& operation)
{
    json::Object object{
        {"name", operation.name}, {"seconds", operation.seconds}, {"per_step", operation.per_step}};
    if (operation.flop > 0) object.set("tflop_per_s", operation.flop / operation.seconds / 1e12);
    if (operation.bytes > 0) object.set("gb_per_s", operation.bytes / operation.seconds / 1e9);
    if (operation.aten_seconds) object.set("aten_seconds", *operation.aten_seconds);
    if (operation.error) object.set("error", *operation.error);
    return object;
}

std::span<std::string_view const> operation_groups() { return group_names; }

void measure_operations(std::string_view group, OperationSubject const& subject,
                        std::function<void(Operation const&)> const& visit)
{
    for (auto const& [name, measure] : groups)
        if (name == group) return (Measurement(subject, visit).*measure)();
    throw std::invalid_argument("no group of operations has this name");
}

}  // namespace curtail::check
