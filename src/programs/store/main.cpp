// SPDX-License-Identifier: Apache-2.0
// curtail-store: lists, verifies, repairs, copies, forks, amends and cleans up the runs in a store,
// and examines stores.
#include "commands.hpp"

int main(int argc, char** argv)
{
    using namespace curtail::programs;
    using namespace curtail::programs::store_program;
    Program const program{
        "curtail-store",
        "Lists, verifies, repairs, copies, forks, amends and cleans up the runs in a store, and "
        "examines stores",
        {ls_command(), show_command(), verify_command(), gc_command(), sweep_command(),
         copy_command(), fork_command(), amend_command(), repair_command(), doctor_command()},
        "\nExamples:\n"
        "  curtail-store doctor inputs/runs/demo.json\n"
        "  curtail-store ls file:///shared/store\n"
        "  curtail-store copy inputs/mine/run.json file:///archive/mine\n"
        "  curtail-store fork inputs/mine/run.json inputs/mine2/run.json --commit 12\n"};
    return run(program, argc, argv);
}
