// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/kernels/cuda/cuda_kernels.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace curtail::model {
namespace {

constexpr std::size_t pack_bytes = 16;

template <class T>
T const* read(at::Tensor const& x)
{
    return static_cast<T const*>(x.const_data_ptr());
}
template <class T>
T* write(at::Tensor const& x)
{
    return static_cast<T*>(x.mutable_data_ptr());
}

void make(at::Tensor& out, at::IntArrayRef shape, at::TensorOptions options)
{
    if (!out.defined()) out = at::empty(shape, options);
    else if (out.sizes() != shape) throw std::invalid_argument("an output has another shape");
}

// The factors r of a normalization are float32 in either type.
void make_factors(at::Tensor& out, at::IntArrayRef shape, at::Tensor const& like)
{
    make(out, shape, like.options().dtype(at::kFloat));
}

using Tensors = std::initializer_list<at::Tensor>;

// Returns whether there is a kernel for these tensors.
bool usable(Tensors tensors)
{
    auto const type = tensors.begin()->scalar_type();
    if (type != at::kFloat && type != at::kBFloat16) return false;
    return std::all_of(tensors.begin(), tensors.end(), [&](at::Tensor const& x) {
        return x.scalar_type() == type && x.is_contiguous() && x.numel() > 0;
    });
}

bool usable_factors(at::Tensor const& r)
{
    return r.scalar_type() == at::kFloat && r.is_contiguous() && r.numel() > 0;
}

bool has_packs(at::Tensor const& x)
{
    auto const row =
        static_cast<std::size_t>(x.size(-1)) * static_cast<std::size_t>(x.element_size());
    auto const address = reinterpret_cast<std::uintptr_t>(x.const_data_ptr());
    return row % pack_bytes == 0 && address % pack_bytes == 0;
}

bool usable_as_packs(Tensors tensors)
{
    return usable(tensors) && std::all_of(tensors.begin(), tensors.end(), has_packs);
}

// The stream on which ATen's operators run.
void* current_stream(c10::Device device)
{
    if (device.is_cpu()) return nullptr;
    return c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
}

class CudaKernels final : public Kernels {
  public:
    CudaKernels(CudaTable const& table, CudaKernelSet set) : table_(table), set_(set) {}

    void normalize(at::Tensor const& x, NormalizationResult& out) const override
    {
        make(out.y, x.sizes(), x.options());
        make_factors(out.r, {x.size(0)}, x);
        if (!set_.normalize || !usable_as_packs({x, out.y}) || !usable_factors(out.r))
            return aten_->normalize(x, out);
        start_normalize("normalize", x, out);
    }

    void normalize_backward(at::Tensor const& dy, NormalizationResult const& out,
                            at::Tensor const& dx) const override
    {
        if (!set_.normalize || !usable_as_packs({dy, out.y, dx}) || !usable_factors(out.r))
            return aten_->normalize_backward(dy, out, dx);
        start("normalize_backward", dy, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.normalize_backward(stream, rows_of(dy), read<T>(dy), read<T>(out.y),
                                              read<float>(out.r), write<T>(dx));
        });
    }

    void embed(at::Tensor const& table, at::Tensor const& ids,
               NormalizationResult& out) const override
    {
        make(out.y, {ids.numel(), table.size(1)}, table.options());
        make_factors(out.r, {ids.numel()}, table);
        if (!set_.embed || !usable_as_packs({table, out.y}) || !usable_factors(out.r))
            return aten_->embed(table, ids, out);
        start_normalize("embed", at::index_select(table, 0, ids), out);
    }
    void embed_backward(at::Tensor const& dy, NormalizationResult const& out, at::Tensor const& ids,
                        at::Tensor const& dtable) const override
    {
        if (!set_.embed || !usable_as_packs({dy, out.y}) || !usable_factors(out.r))
            return aten_->embed_backward(dy, out, ids, dtable);
        auto const dx = at::empty(dy.sizes(), dtable.options().dtype(at::kFloat));
        start("embed_backward", dy, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.embed_backward(stream, rows_of(dy), read<T>(dy), read<T>(out.y),
                                          read<float>(out.r), write<float>(dx));
        });
        dtable.index_put_({ids}, dx.to(dtable.scalar_type()), true);
    }

    void mix(MixInput const& in, at::Tensor& mixed, NormalizationResult& out) const override
    {
        make(mixed, in.x.sizes(), in.x.options());
        make(out.y, in.x.sizes(), in.x.options());
        make_factors(out.r, {in.x.size(0)}, in.x);
        if (!set_.mix || !usable_as_packs({in.x, in.x0, mixed, out.y}) || !usable_factors(out.r))
            return aten_->mix(in, mixed, out);
        auto const scalars = scalars_of(in);
        start("mix", in.x, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.mix(stream, rows_of(in.x), mix_rows<T>(in, scalars), write<T>(mixed),
                               write<T>(out.y), write<float>(out.r));
        });
    }

    void mix_backward(at::Tensor const& dy, NormalizationResult const& out, MixInput const& in,
                      MixGradients const& gradients) const override
    {
        if (!set_.mix || !usable_as_packs({dy, out.y, in.x, in.x0, gradients.x, gradients.x0}) ||
            !usable_factors(out.r))
            return aten_->mix_backward(dy, out, in, gradients);
        auto const scalars = scalars_of(in);
        auto const da = at::empty({dy.size(0)}, dy.options().dtype(at::kDouble));
        auto const db = at::empty_like(da);
        start("mix_backward", dy, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.mix_backward(stream, rows_of(dy), mix_rows<T>(in, scalars), read<T>(dy),
                                        read<T>(out.y), read<float>(out.r), write<T>(gradients.x),
                                        write<T>(gradients.x0), write<double>(da),
                                        write<double>(db));
        });
        gradients.a.add_(da.sum().to(gradients.a.scalar_type()));
        gradients.b.add_(db.sum().to(gradients.b.scalar_type()));
    }

    void rotate(at::Tensor const& qkv, HeadSizes sizes, RotaryTables const& tables,
                std::int64_t sequence, at::Tensor& r) const override
    {
        make_factors(r, {qkv.size(0), sizes.query_heads + sizes.kv_heads}, qkv);
        if (!set_.rotate || !usable_as_packs({qkv, tables.cos, tables.sin}) ||
            !rotates(sizes, qkv.scalar_type()) || !usable_factors(r))
            return aten_->rotate(qkv, sizes, tables, sequence, r);
        start("rotate", qkv, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.rotate(stream, narrow(qkv.size(0)),
                                  head_rows<T>(sizes, tables, sequence), write<T>(qkv),
                                  write<float>(r));
        });
    }

    void rotate_backward(HeadGradients const& gradients, at::Tensor const& rotated,
                         at::Tensor const& r, HeadSizes sizes, RotaryTables const& tables,
                         std::int64_t sequence, at::Tensor& dqkv) const override
    {
        make(dqkv, rotated.sizes(), rotated.options());
        if (!set_.rotate || !usable_factors(r) || !rotates(sizes, rotated.scalar_type()) ||
            !usable_as_packs(
                {rotated, gradients.q, gradients.k, gradients.v, tables.cos, tables.sin, dqkv}))
            return aten_->rotate_backward(gradients, rotated, r, sizes, tables, sequence, dqkv);
        start("rotate_backward", rotated,
              [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
                  return kernels.rotate_backward(
                      stream, narrow(rotated.size(0)), head_rows<T>(sizes, tables, sequence),
                      {read<T>(gradients.q), read<T>(gradients.k), read<T>(gradients.v)},
                      read<T>(rotated), read<float>(r), write<T>(dqkv));
              });
    }

    void square_relu(at::Tensor const& f) const override
    {
        if (!set_.square_relu || !usable_as_packs({f})) return aten_->square_relu(f);
        start("square_relu", f, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.square_relu(stream, f.numel(), write<T>(f));
        });
    }

    void square_relu_backward(at::Tensor const& squares, at::Tensor const& gradient) const override
    {
        if (!set_.square_relu || !usable_as_packs({squares, gradient}))
            return aten_->square_relu_backward(squares, gradient);
        start("square_relu_backward", squares,
              [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
                  return kernels.square_relu_backward(stream, squares.numel(), read<T>(squares),
                                                      write<T>(gradient));
              });
    }

    void cross_entropy(at::Tensor const& z, at::Tensor const& target, std::int64_t vocabulary,
                       double scale, at::Tensor const& losses) const override
    {
        if (!set_.cross_entropy || !usable_as_packs({z}))
            return aten_->cross_entropy(z, target, vocabulary, scale, losses);
        auto const to = wide_losses(losses);
        start("cross_entropy", z, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.cross_entropy(stream, z.size(0), entropy_shape(vocabulary, z),
                                         static_cast<float>(scale), read<std::int64_t>(target),
                                         write<T>(z), write<float>(to));
        });
        if (!to.is_same(losses)) losses.copy_(to);
    }

    void cross_entropy_losses(at::Tensor const& z, at::Tensor const& target,
                              std::int64_t vocabulary, at::Tensor const& losses) const override
    {
        if (!set_.cross_entropy || !usable_as_packs({z}))
            return aten_->cross_entropy_losses(z, target, vocabulary, losses);
        auto const to = wide_losses(losses);
        start(
            "cross_entropy_losses", z, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
                return kernels.cross_entropy_losses(stream, z.size(0), entropy_shape(vocabulary, z),
                                                    read<std::int64_t>(target), read<T>(z),
                                                    write<float>(to));
            });
        if (!to.is_same(losses)) losses.copy_(to);
    }

  private:
    void start_normalize(char const* name, at::Tensor const& x, NormalizationResult& out) const
    {
        start(name, x, [&]<class T>(CudaLaunches<T> const& kernels, void* stream) {
            return kernels.normalize(stream, rows_of(x), read<T>(x), write<T>(out.y),
                                     write<float>(out.r));
        });
    }

    // Calls body(launches for the type of `like`, stream), which starts the kernel `name`.
    template <class Body>
    void start(char const* name, at::Tensor const& like, Body const& body) const
    {
        c10::DeviceGuard const guard(like.device());
        auto* const stream = current_stream(like.device());
        char const* const failure = like.scalar_type() == at::kFloat ? body(table_.single, stream)
                                                                     : body(table_.half, stream);
        if (failure != nullptr)
            throw std::runtime_error(std::string("cannot start the kernel ") + name + ": " +
                                     failure);
    }

    static int narrow(std::int64_t size)
    {
        if (size > std::numeric_limits<int>::max())
            throw std::invalid_argument("a tensor is too large for a kernel");
        return static_cast<int>(size);
    }
    static RowShape rows_of(at::Tensor const& x) { return {x.size(0), narrow(x.size(1))}; }
    static EntropyShape entropy_shape(std::int64_t vocabulary, at::Tensor const& z)
    {
        return {narrow(vocabulary), narrow(z.size(1))};
    }

    static std::pair<at::Tensor, at::Tensor> scalars_of(MixInput const& in)
    {
        return {in.a.to(at::kFloat), in.b.to(at::kFloat)};
    }
    template <class T>
    static MixRows<T> mix_rows(MixInput const& in, std::pair<at::Tensor, at::Tensor> const& scalars)
    {
        return {read<T>(in.x), read<T>(in.x0), read<float>(scalars.first),
                read<float>(scalars.second)};
    }
    template <class T>
    static HeadRows<T> head_rows(HeadSizes sizes, RotaryTables const& tables, std::int64_t sequence)
    {
        return {narrow(sequence),   narrow(sizes.query_heads), narrow(sizes.kv_heads),
                narrow(sizes.size), read<T>(tables.cos),       read<T>(tables.sin)};
    }
    static at::Tensor wide_losses(at::Tensor const& losses)
    {
        if (losses.scalar_type() == at::kFloat && losses.is_contiguous()) return losses;
        return at::empty({losses.size(0)}, losses.options().dtype(at::kFloat));
    }

    CudaTable const& table_;
    CudaKernelSet set_;
    std::unique_ptr<Kernels const> aten_{aten_kernels()};
};

}  // namespace

bool rotates(HeadSizes sizes, at::ScalarType type)
{
    auto const bytes = static_cast<std::size_t>(sizes.size / 2) * c10::elementSize(type);
    constexpr std::size_t most_packs = 32;  // a warp has one for each lane
    return sizes.size % 2 == 0 && bytes % pack_bytes == 0 && bytes <= most_packs * pack_bytes;
}

std::unique_ptr<Kernels const> kernels_of(CudaTable const& table, CudaKernelSet set)
{
    return std::make_unique<CudaKernels>(table, set);
}

}  // namespace curtail::model
