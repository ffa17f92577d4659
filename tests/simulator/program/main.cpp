// SPDX-License-Identifier: Apache-2.0
// curtail-sim: runs Curtail's decisions in a simulation.
#include "commands.hpp"

int main(int argc, char** argv)
{
    using namespace curtail::programs;
    Program const program{
        "curtail-sim",
        "Runs Curtail's decisions in a simulation, many times faster than real time",
        {sim_program::rounds_command()},
        "\nExamples:\n"
        "  curtail-sim rounds --seeds 0-99\n"
        "  curtail-sim rounds --seeds 17-17 --steps 20000\n"};
    return run(program, argc, argv);
}
