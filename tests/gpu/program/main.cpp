// SPDX-License-Identifier: Apache-2.0
// curtail-gpu-check: checks and measures the libraries, kernels and operations of a build for GPUs.
// Each command prints a result as soon as it has it, since the next one may end the process.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/core/build_info.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "gpu/fat_binary.hpp"
#include "gpu/golden_model.hpp"
#include "gpu/gpu_libraries.hpp"
#include "gpu/kernels.hpp"
#include "gpu/nccl_check.hpp"
#include "gpu/operations.hpp"
#include "programs/frame/program.hpp"
#include "trainer/comm/nccl_api.hpp"
#include "trainer/model/gpu_operators.hpp"

namespace {

using namespace curtail;
using programs::Arguments;
using programs::Console;
using programs::OptionType;

// What the kernels must be compiled for: A100 and H100 (docs/gpu.md).
constexpr int needed_capabilities[] = {80, 90};
constexpr auto first_gpu = [] { return at::Device(at::kCUDA, 0); };

void print(Console const& console, std::string const& text, json::Object const& object)
{
    console.print((console.json ? json::to_string(json::Value(object)) : text) + "\n");
}

Result<check::DeviceCode> code_of_this_program()
{
    auto const file = read_file("/proc/self/exe");
    if (!file) return tl::unexpected(file.error());
    auto const section = check::elf_section(*file, check::fat_binary_section);
    auto const code = section ? check::device_code(*section) : std::nullopt;
    if (!code)
        return fail(ExitCode::software, "cannot read the kernels of this program",
                    "its section .nv_fatbin is missing or has another format", "");
    for (int const capability : needed_capabilities)
        if (code->binaries.count(capability) == 0)
            return fail(ExitCode::software, "the kernels are incomplete",
                        fmt::format("there is no code for sm_{}", capability),
                        "build with CMAKE_CUDA_ARCHITECTURES=\"80-real;90\"");
    return *code;
}

Result<void> check_machine(Arguments const&, Console const& console)
{
    auto const code = code_of_this_program();
    if (!code) return tl::unexpected(code.error());
    auto libraries = check::gpu_libraries();
    libraries.insert(libraries.begin(),
                     {{"curtail", build_info().commit}, {"LibTorch", build_info().torch}});
    for (auto const& library : libraries)
        print(console, library.name + " " + library.version,
              {{"name", library.name}, {"version", library.version}});
    auto const binaries = fmt::format("sm_{}", fmt::join(code->binaries, ", sm_"));
    auto const intermediate = code->intermediate.empty()
                                  ? "none"
                                  : fmt::format("{}", fmt::join(code->intermediate, ", "));
    print(console, fmt::format("kernels for {}; PTX for {}", binaries, intermediate),
          {{"name", "kernels"}, {"version", binaries}});
    auto const gpus = check::gpus();
    if (!gpus) return tl::unexpected(gpus.error());
    for (auto const& gpu : *gpus) print(console, gpu, {{"name", "GPU"}, {"version", gpu}});
    return {};
}

Result<void> need_gpu()
{
    auto const gpus = check::gpus();
    if (!gpus) return tl::unexpected(gpus.error());
    return {};
}

// Prints checks and remembers whether all are good.
class Verdict {
  public:
    explicit Verdict(Console const& console) : console_(console)
    {
        if (!console.json) console.print(check::heading());
    }
    void add(check::Measured const& line)
    {
        good_ = good_ && line.good();
        if (console_.json)
            console_.print(json::to_string(json::Value(check::to_json(line))) + "\n");
        else console_.print(check::to_text(line));
    }
    [[nodiscard]] Result<void> result() const
    {
        if (good_) return {};
        return fail(ExitCode::software, "this GPU computes wrong results",
                    "the lines marked WRONG exceed their tolerances",
                    "do not train on it; please report the table and the GPU");
    }

  private:
    Console const& console_;
    bool good_{true};
};

Result<void> check_kernels(Arguments const& arguments, Console const& console)
{
    auto const choice = model::parse_gpu_choice(arguments.text("only"), "");
    if (!choice) return tl::unexpected(choice.error());
    if (auto gpu = need_gpu(); !gpu) return gpu;
    auto const kernels = model::cuda_kernels(choice->kernels);
    Verdict verdict(console);
    for (auto const type : {at::kBFloat16, at::kFloat})
        check::check_kernels(
            {*kernels, choice->kernels, first_gpu(), type, check::large_kernel_sizes(), at::kCPU},
            arguments.number("seconds"), [&](check::Measured const& line) { verdict.add(line); });
    return verdict.result();
}

// The golden models in both types, with ATen's operators and with our kernels.
Result<void> check_models(Arguments const& arguments, Console const& console)
{
    if (auto gpu = need_gpu(); !gpu) return gpu;
    Verdict verdict(console);
    std::filesystem::path const folder = arguments.text("FOLDER");
    for (auto const type : {at::kFloat, at::kBFloat16})
        for (auto const* file : {"gpt_mha.h5", "gpt_gqa.h5"})
            for (bool const own : {false, true}) {
                check::ModelSubject subject{first_gpu(), type, {}};
                if (own)
                    subject.kernels = [] {
                        return model::cuda_kernels(model::CudaKernelSet::all());
                    };
                auto lines = check::check_golden_model(folder / file, subject);
                if (!lines) return tl::unexpected(lines.error());
                for (auto& line : *lines) {
                    line.name += own ? ", our kernels" : ", ATen";
                    verdict.add(line);
                }
            }
    return verdict.result();
}

void print_operation(Console const& console, check::Operation const& operation)
{
    auto text = fmt::format("{:<30} {:>10.1f} us", operation.name, operation.seconds * 1e6);
    if (operation.flop > 0)
        text += fmt::format(" {:>8.1f} TFLOP/s", operation.flop / operation.seconds / 1e12);
    if (operation.bytes > 0)
        text += fmt::format(" {:>8.1f} GB/s", operation.bytes / operation.seconds / 1e9);
    if (operation.aten_seconds)
        text += fmt::format(" {:>10.1f} us (ATen)", *operation.aten_seconds * 1e6);
    print(console, text, check::to_json(operation));
}

Result<void> measure_operations(Arguments const& arguments, Console const& console)
{
    if (auto gpu = need_gpu(); !gpu) return gpu;
    auto const kernels = model::cuda_kernels(model::CudaKernelSet::all());
    auto const rows = arguments.integer("rows");
    auto const shape = config::model_of_depth(arguments.integer("depth"));
    check::OperationSubject const subject{
        *kernels,
        model::preferred_attention({}, model::facts_of(first_gpu(), at::kBFloat16)),
        shape,
        rows,
        arguments.integer("batch-tokens") / (rows * shape.sequence),
        first_gpu(),
        at::kBFloat16,
        arguments.number("seconds")};
    auto const only = arguments.text("only");
    for (auto const group : check::operation_groups())
        if (only.empty() || group == only)
            check::measure_operations(group, subject, [&](check::Operation const& operation) {
                print_operation(console, operation);
            });
    return {};
}

Result<void> check_nccl(Arguments const& arguments, Console const& console)
{
    if (auto gpu = need_gpu(); !gpu) return gpu;
    return check::check_nccl(
        *comm::nccl_api(), first_gpu(), arguments.number("seconds"),
        [&](check::Operation const& operation) { print_operation(console, operation); });
}

programs::Option seconds_option()
{
    return {.name = "seconds",
            .type = OptionType::number,
            .placeholder = "S",
            .fallback = "0.1",
            .help = "How long to measure each time; 0: measure no times of kernels",
            .range = {0, 60}};
}

programs::Option integer_option(std::string name, std::string fallback, std::string help)
{
    return {.name = std::move(name),
            .type = OptionType::integer,
            .placeholder = "N",
            .fallback = std::move(fallback),
            .help = std::move(help),
            .range = {1, 1e9}};
}

std::vector<programs::Command> commands()
{
    return {{"machine",
             "Prints the libraries, the GPUs and what the kernels are compiled for",
             {},
             {},
             check_machine,
             true,
             "curtail-gpu-check machine"},
            {"kernels",
             "Compares kernels with ATen's operators in double precision, and their times",
             {{.name = "only",
               .placeholder = "LIST",
               .help = "Operations to check, such as rotate,mix; default: all"},
              seconds_option()},
             {},
             check_kernels,
             true,
             "curtail-gpu-check kernels --only rotate,mix"},
            {"models",
             "Compares losses and gradients of small models with the reference's",
             {},
             {{"FOLDER", "Folder with gpt_mha.h5 and gpt_gqa.h5 (tests/golden)"}},
             check_models,
             true,
             "curtail-gpu-check models tests/golden"},
            {"operations",
             "Measures the operations of a training step",
             {{.name = "only",
               .placeholder = "GROUP",
               .help = fmt::format("One of: {}; default: all",
                                   fmt::join(check::operation_groups(), ", "))},
              integer_option("depth", "20", "Depth of the model"),
              integer_option("rows", "16", "Rows of a micro-batch"),
              integer_option("batch-tokens", "524288", "Tokens of a step"),
              seconds_option()},
             {},
             measure_operations,
             true,
             "curtail-gpu-check operations --only attention"},
            {"nccl",
             "Checks and measures NCCL with one rank",
             {seconds_option()},
             {},
             check_nccl,
             true,
             "curtail-gpu-check nccl"}};
}

}  // namespace

int main(int argc, char** argv)
{
    programs::Program const program{
        "curtail-gpu-check",
        "Checks and measures the libraries, kernels and operations of a build for GPUs, on the "
        "first GPU. scripts/gpu/measure.sh runs all commands.",
        commands(),
        "\nWith --json, a command prints one JSON object in a line for each result, as soon as it "
        "has it.\n"
        "Exit codes: 0 every result is within its tolerance; 69 there is no GPU, or no driver for "
        "CUDA 13; 70 a result is wrong, or the program lacks kernels.\n"};
    return programs::run(program, argc, argv);
}
