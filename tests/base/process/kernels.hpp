// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "base/process/kernel.hpp"

namespace curtail::process {

/// A test parameter: the kernel on which the tests run, or one that lacks newer system calls.
struct NamedKernel {
    char const* name;
    Kernel kernel;
    int error{};  ///< what the kernel answers to the new system calls; 0: it carries them out
};

/// Numbers of the system calls that Linux 4.18 lacks: pidfd_send_signal, pidfd_open, close_range.
inline std::vector<unsigned> const new_calls{424, 434, 436};

inline auto all_kernels()
{
    return testing::Values(NamedKernel{"Current", {}},
                           NamedKernel{"Linux418", {false, false, true}},
                           NamedKernel{"WithoutProc", {false, false, false}});
}

/// A current build of Curtail on an older kernel, and in a container that refuses unknown calls.
inline auto refusing_kernels()
{
    return testing::Values(NamedKernel{"AnswersEnosys", {}, ENOSYS},
                           NamedKernel{"AnswersEperm", {}, EPERM});
}

inline std::string kernel_name(testing::TestParamInfo<NamedKernel> const& tested)
{
    return tested.param.name;
}

}  // namespace curtail::process
