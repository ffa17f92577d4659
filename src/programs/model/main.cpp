// SPDX-License-Identifier: Apache-2.0
// curtail-model: evaluates, samples and inspects the model of a run.
#include "commands.hpp"

int main(int argc, char** argv)
{
    using namespace curtail::programs;
    Program const program{
        "curtail-model",
        "Evaluates and samples the model of a run, and inspects tensor files",
        {model::evaluate_command(), model::sample_command(), model::inspect_command()},
        "\nExample: curtail-model sample inputs/runs/demo.json --prompt 'The ' --tokens 100\n"};
    return run(program, argc, argv);
}
