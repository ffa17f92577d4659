// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "launch/kernel.hpp"

namespace curtail::launch {

/// A test parameter: the kernel on which the tests run, or one that lacks newer system calls.
struct NamedKernel {
    char const* name;
    Kernel kernel;
};

inline auto all_kernels()
{
    return testing::Values(NamedKernel{"Current", {}},
                           NamedKernel{"Linux418", {false, false, true}},
                           NamedKernel{"WithoutProc", {false, false, false}});
}

inline std::string kernel_name(testing::TestParamInfo<NamedKernel> const& tested)
{
    return tested.param.name;
}

}  // namespace curtail::launch
