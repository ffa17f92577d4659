// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

int main(int argc, char** argv)
{
    using namespace curtail::programs;
    Program const program{
        "curtail-data",
        "Turns text into a tokenizer and token shards for training, and inspects them",
        {data::prepare_command(), data::tokenizer_command(), data::encode_command(),
         data::decode_command(), data::inspect_command(), data::verify_command()},
        "\nExample: curtail-data prepare my_text/ --out data --vocabulary 2048\n"};
    return run(program, argc, argv);
}
