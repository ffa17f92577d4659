// SPDX-License-Identifier: Apache-2.0
// Times training steps: the counterpart of bench/peers/gpt_step.py. Prints one line of JSON with
// the median time of each part of a step in seconds.
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>

#include "trainer/model/initialize.hpp"
#include "trainer/model/losses.hpp"
#include "trainer/model/optim/whole_optimizer.hpp"

using namespace curtail;

namespace {

using Options = std::map<std::string, std::int64_t>;

Options parse(int argc, char** argv)
{
    Options options{{"depth", 4},   {"vocabulary", 65'536}, {"sequence", 2048}, {"rows", 8},
                    {"threads", 1}, {"warmup", 3},          {"steps", 10},      {"aten", 0},
                    {"bf16", 0},    {"recompute", 0}};
    for (int i = 1; i + 1 < argc; i += 2) {
        auto const found = options.find(std::string(argv[i]).substr(2));
        if (found == options.end()) throw std::invalid_argument(argv[i]);
        found->second = std::stoll(argv[i + 1]);
    }
    return options;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double seconds_since(std::chrono::steady_clock::time_point begin)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

model::Parameters busy_weights(config::Model const& shape)
{
    auto weights = model::initial_parameters(shape, 1);
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
        weights.block(layer).attn_out.normal_(0, 0.02);
        weights.block(layer).mlp_out.normal_(0, 0.02);
    }
    return weights;
}

void measure(Options const& o)
{
    at::set_num_threads(static_cast<int>(o.at("threads")));
    auto const shape = config::model_of_depth(o.at("depth"), o.at("sequence"), o.at("vocabulary"));
    auto const type = o.at("bf16") != 0 ? at::kBFloat16 : at::kFloat;
    model::Gpt gpt(
        busy_weights(shape).to(c10::kCPU, type),
        {o.at("aten") != 0 ? model::aten_kernels() : model::kernels_for(type, c10::kCPU)},
        o.at("recompute") != 0 ? model::Activations::recompute : model::Activations::keep);
    Tokens const batch{o.at("rows") * o.at("sequence")};
    std::optional<model::Parameters> masters;
    if (type != at::kFloat) masters = busy_weights(shape);
    auto optimizer = test::whole_optimizer(shape, {}, batch);
    auto const ids = at::randint(o.at("vocabulary"), {o.at("rows"), o.at("sequence") + 1},
                                 at::TensorOptions(at::kLong));
    auto const input = ids.narrow(1, 0, o.at("sequence")).contiguous();
    auto const target = ids.narrow(1, 1, o.at("sequence")).contiguous();
    std::vector<double> passes;
    std::vector<double> updates;
    std::vector<double> total;
    for (std::int64_t step = 0; step < o.at("warmup") + o.at("steps"); ++step) {
        auto const begin = std::chrono::steady_clock::now();
        gpt.zero_gradients();
        test::accumulate_gradients(gpt, input, target, 1 / static_cast<double>(batch.value));
        auto const passed = seconds_since(begin);
        test::step(optimizer, masters ? *masters : gpt.weights(), gpt.gradients(), {100, 1000});
        if (masters) gpt.weights().flat().copy_(masters->flat());
        auto const all = seconds_since(begin);
        if (step < o.at("warmup")) continue;
        passes.push_back(passed);
        updates.push_back(all - passed);
        total.push_back(all);
    }
    fmt::print("{{\"step_s\": {:.6f}, \"passes_s\": {:.6f}, \"optimizer_s\": {:.6f}}}\n",
               median(total), median(passes), median(updates));
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        measure(parse(argc, argv));
    } catch (std::exception const& error) {
        fmt::print(stderr, "training_step: {}\n", error.what());
        return 64;
    }
}
