// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/products.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

namespace curtail::model {

void multiply(at::Tensor const& x, at::Tensor const& w, at::Tensor& out)
{
    if (!out.defined()) out = at::empty({x.size(0), w.size(0)}, x.options());
    at::mm_out(out, x, w.t());
}

void add_product(at::Tensor const& x, at::Tensor const& w, at::Tensor const& sum)
{
    sum.addmm_(x, w.t());
}

void multiply_backward(at::Tensor const& dy, at::Tensor const& w, at::Tensor& dx)
{
    if (!dx.defined()) dx = at::empty({dy.size(0), w.size(1)}, dy.options());
    at::mm_out(dx, dy, w);
}

void add_weight_gradient(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& dw)
{
    if (dw.scalar_type() == dy.scalar_type()) {
        dw.addmm_(dy.t(), x);
    } else if (dw.is_cpu()) {
        dw.add_(at::mm(dy.t(), x));
    } else {  // only on a GPU can the product be added in another type
        auto sum = dw;
        at::addmm_out(sum, sum, dy.t(), x, dw.scalar_type());
    }
}

}  // namespace curtail::model
