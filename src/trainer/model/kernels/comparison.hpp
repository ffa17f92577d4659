// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

#include "trainer/model/kernels/cuda/cuda_kernels.hpp"

namespace curtail::model {

/// The sizes of the tensors with which kernels are compared.
struct KernelSizes {
    std::int64_t tokens{};
    std::int64_t sequence{};  ///< T; divides `tokens`
    std::int64_t width{};     ///< C
    HeadSizes heads;
    std::int64_t logit_rows{};  ///< tokens of the cross entropy
    std::int64_t vocabulary{};  ///< V
    std::int64_t padded_vocabulary{};
};

/// The kernels to compare with ATen's operators, and how.
struct KernelSubject {
    Kernels const& kernels;
    CudaKernelSet operations;  ///< which groups of operations to compare
    at::Device device;
    at::ScalarType type;  ///< float32 or bfloat16
    KernelSizes sizes;
    at::Device exact_on;  ///< where ATen computes in double precision
};

/// The error of an operation: the greatest one of its results' elements, which is
/// |found - exact| / (|exact| + root mean square of all exact elements). NaN is an error.
struct KernelError {
    std::string operation;  ///< such as "rotate_backward"
    double error{};
    double tolerance{};
    [[nodiscard]] bool good() const { return error <= tolerance; }  ///< false for NaN
};

/// Gets the error of each operation. `call` does the operation again, on the same tensors.
using VisitError =
    std::function<void(KernelError const& error, std::function<void(Kernels const&)> const& call)>;

/// Compares operations with aten_kernels() in double precision, from the same random inputs. Calls
/// at::manual_seed().
void compare_kernels(KernelSubject const& subject, VisitError const& visit);

}  // namespace curtail::model
