// SPDX-License-Identifier: Apache-2.0
// curtail-model: how good the model of a run is, what it writes, and what its files hold.
#include "commands.hpp"

int main(int argc, char** argv)
{
    using namespace curtail::apps;
    Program const program{
        "curtail-model",
        "Evaluate the model of a run, let it write, look into checkpoints",
        {model::evaluate_command(), model::sample_command(), model::inspect_command()},
        "\nExample: curtail-model sample inputs/runs/demo.json --prompt 'The ' --tokens 100\n"};
    return run(program, argc, argv);
}
