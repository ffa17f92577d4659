// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "trainer/model/kernels/kernels.hpp"

namespace curtail::test {

/// Kernels that call others. Tests override single functions.
class ForwardingKernels : public model::Kernels {
  public:
    explicit ForwardingKernels(std::unique_ptr<model::Kernels const> inner)
        : inner_(std::move(inner))
    {
    }
    void normalize(at::Tensor const& x, model::NormalizationResult& out) const override
    {
        inner_->normalize(x, out);
    }
    void normalize_backward(at::Tensor const& dy, model::NormalizationResult const& out,
                            at::Tensor const& dx) const override
    {
        inner_->normalize_backward(dy, out, dx);
    }
    void embed(at::Tensor const& table, at::Tensor const& ids,
               model::NormalizationResult& out) const override
    {
        inner_->embed(table, ids, out);
    }
    void embed_backward(at::Tensor const& dy, model::NormalizationResult const& out,
                        at::Tensor const& ids, at::Tensor const& dtable) const override
    {
        inner_->embed_backward(dy, out, ids, dtable);
    }
    void mix(model::MixInput const& in, at::Tensor& mixed,
             model::NormalizationResult& out) const override
    {
        inner_->mix(in, mixed, out);
    }
    void mix_backward(at::Tensor const& dy, model::NormalizationResult const& out,
                      model::MixInput const& in,
                      model::MixGradients const& gradients) const override
    {
        inner_->mix_backward(dy, out, in, gradients);
    }
    void rotate(at::Tensor const& qkv, model::HeadSizes sizes, model::RotaryTables const& tables,
                std::int64_t sequence, at::Tensor& r) const override
    {
        inner_->rotate(qkv, sizes, tables, sequence, r);
    }
    void rotate_backward(model::HeadGradients const& gradients, at::Tensor const& rotated,
                         at::Tensor const& r, model::HeadSizes sizes,
                         model::RotaryTables const& tables, std::int64_t sequence,
                         at::Tensor& dqkv) const override
    {
        inner_->rotate_backward(gradients, rotated, r, sizes, tables, sequence, dqkv);
    }
    void square_relu(at::Tensor const& f) const override { inner_->square_relu(f); }
    void square_relu_backward(at::Tensor const& squares, at::Tensor const& gradient) const override
    {
        inner_->square_relu_backward(squares, gradient);
    }
    void cross_entropy(at::Tensor const& z, at::Tensor const& target, std::int64_t vocabulary,
                       double scale, at::Tensor const& losses) const override
    {
        inner_->cross_entropy(z, target, vocabulary, scale, losses);
    }
    void cross_entropy_losses(at::Tensor const& z, at::Tensor const& target,
                              std::int64_t vocabulary, at::Tensor const& losses) const override
    {
        inner_->cross_entropy_losses(z, target, vocabulary, losses);
    }

  private:
    std::unique_ptr<model::Kernels const> inner_;
};

}  // namespace curtail::test
