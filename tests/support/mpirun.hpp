// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/child_process.hpp"

namespace curtail::test {

/// Runs `program` as `ranks` processes under mpirun, on this machine only. `options` are further
/// options of mpirun. Throws if the program is still running after `limit`.
inline Outcome run_ranks(std::vector<std::string> const& program, int ranks,
                         std::vector<std::string> const& options = {},
                         std::chrono::milliseconds limit = std::chrono::seconds{30})
{
    for (auto const& [name, value] : {std::pair{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                      std::pair{"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                      std::pair{"OMPI_MCA_mpi_yield_when_idle", "1"},
                                      std::pair{"OMPI_MCA_btl", "self,vader,tcp"},
                                      std::pair{"OMPI_MCA_btl_tcp_if_include", "lo"},
                                      std::pair{"OMPI_MCA_oob_tcp_if_include", "lo"}})
        setenv(name, value, 0);
    std::vector<std::string> command{"mpirun",          "--bind-to", "none",
                                     "--oversubscribe", "-n",        std::to_string(ranks)};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), program.begin(), program.end());
    return run_program(std::move(command), limit);
}

}  // namespace curtail::test
