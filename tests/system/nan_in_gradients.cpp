// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD: damages gradients on their way between ranks. It intercepts MPI_Isend
// by MPI's profiling interface. CURTAIL_TEST_NAN="FIRST COUNT" makes this rank send NaN as the
// first value of COUNT messages with gradients, from the FIRST one on.
#include <mpi.h>

#include <cstdlib>
#include <limits>

#include "trainer/comm/mpi_collectives.hpp"

namespace {

struct Plan {
    long first{0};
    long count{0};
};

Plan plan_from_environment()
{
    Plan plan;
    char const* text = std::getenv("CURTAIL_TEST_NAN");
    if (text == nullptr || std::sscanf(text, "%ld %ld", &plan.first, &plan.count) != 2) return {};
    return plan;
}

}  // namespace

extern "C" int MPI_Isend(void const* buffer, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request)
{
    static Plan const plan = plan_from_environment();
    static long messages = 0;
    if (tag == curtail::comm::reduction_tag && count > 0 && ++messages >= plan.first &&
        messages < plan.first + plan.count)
        static_cast<float*>(const_cast<void*>(buffer))[0] = std::numeric_limits<float>::quiet_NaN();
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
