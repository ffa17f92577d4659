// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD: each rank sleeps in the middle of a step, and cannot stop meanwhile. It
// intercepts MPI_Isend by MPI's profiling interface. CURTAIL_TEST_SLOW="MESSAGE SECONDS FILE" says
// before which message with gradients, and for how long. Each rank first appends a byte to FILE.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "trainer/comm/mpi_collectives.hpp"

namespace {

struct Plan {
    long message{0};
    double seconds{0};
    std::string file;
};

Plan plan_from_environment()
{
    Plan plan{.file = std::string(4096, '\0')};
    char const* text = std::getenv("CURTAIL_TEST_SLOW");
    if (text == nullptr ||
        std::sscanf(text, "%ld %lf %4095s", &plan.message, &plan.seconds, plan.file.data()) != 3)
        return {};
    return plan;
}

void sleep(Plan const& plan)
{
    int const fd = open(plan.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool const told = write(fd, ".", 1) == 1;
    close(fd);
    if (told) std::this_thread::sleep_for(std::chrono::duration<double>(plan.seconds));
}

}  // namespace

extern "C" int MPI_Isend(void const* buffer, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request)
{
    static Plan const plan = plan_from_environment();
    static long messages = 0;
    if (tag == curtail::comm::reduction_tag && count > 0 && ++messages == plan.message) sleep(plan);
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
