// SPDX-License-Identifier: Apache-2.0
// curtail-gpu-check: the libraries and kernels of a build for GPUs, and the kernels' speed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "apps/program.hpp"
#include "check/fat_binary.hpp"
#include "check/golden_model.hpp"
#include "check/gpu_libraries.hpp"
#include "check/kernels.hpp"
#include "core/build_info.hpp"
#include "core/files.hpp"
#include "model/kernels/cuda/cuda_kernels.hpp"

namespace {

using namespace curtail;

// What the kernels must be compiled for: A100 and H100 (docs/gpu.md).
constexpr int needed_capabilities[] = {80, 90};

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

// What can be checked without a GPU.
struct Installed {
    std::vector<check::LibraryVersion> libraries;
    check::DeviceCode code;
};

std::string to_text(Installed const& installed)
{
    auto text = fmt::format("LibTorch {}\n", build_info().torch);
    for (auto const& library : installed.libraries)
        text += fmt::format("{} {}\n", library.name, library.version);
    return text +
           fmt::format("kernels for sm_{}; PTX for {}\n",
                       fmt::join(installed.code.binaries, ", sm_"),
                       installed.code.intermediate.empty()
                           ? "none"
                           : fmt::format("{}", fmt::join(installed.code.intermediate, ", ")));
}

json::Object to_json(Installed const& installed)
{
    json::Object object{{"LibTorch", build_info().torch}};
    for (auto const& library : installed.libraries) object.set(library.name, library.version);
    json::Array binaries;
    for (int const capability : installed.code.binaries) binaries.emplace_back(capability);
    object.set("kernels_for_sm", std::move(binaries));
    return object;
}

constexpr auto first_gpu = [] { return at::Device(at::kCUDA, 0); };

std::vector<check::Section> kernel_sections(double seconds_per_time)
{
    auto const kernels = [seconds_per_time](at::ScalarType type) {
        return [=]() -> Result<std::vector<check::Measured>> {
            auto const all = model::cuda_kernels(model::CudaKernelSet::all());
            return check::check_kernels(
                {*all, first_gpu(), type, check::large_kernel_sizes(), seconds_per_time});
        };
    };
    return {kernels(at::kBFloat16), kernels(at::kFloat)};
}

// The golden models in both types, with ATen's operators and with our kernels.
std::vector<check::Section> golden_sections(std::filesystem::path const& folder)
{
    auto const ours = [] { return model::cuda_kernels(model::CudaKernelSet::all()); };
    std::vector<check::Section> all;
    for (auto const type : {at::kFloat, at::kBFloat16})
        for (auto const* file : {"gpt_mha.h5", "gpt_gqa.h5"})
            for (bool const own : {false, true})
                all.emplace_back([=]() -> Result<std::vector<check::Measured>> {
                    check::ModelSubject subject{first_gpu(), type, {}};
                    if (own) subject.kernels = ours;
                    auto lines = check::check_golden_model(folder / file, subject);
                    if (!lines) return lines;
                    for (auto& line : *lines) line.name += own ? ", our kernels" : ", ATen";
                    return lines;
                });
    return all;
}

// The parts of the check that need a GPU, in the order of the table. Add further parts here.
std::vector<check::Section> sections(apps::Arguments const& arguments)
{
    auto all = kernel_sections(arguments.number("seconds"));
    auto const golden = arguments.text("golden");
    if (golden.empty()) return all;
    auto more = golden_sections(golden);
    std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
}

Result<void> verdict(std::vector<check::Measured> const& lines)
{
    if (check::all_good(lines)) return {};
    return fail(ExitCode::software, "this GPU computes wrong results",
                "the lines marked WRONG exceed their tolerances",
                "do not train on it; please report the table and the GPU");
}

Result<void> run(apps::Arguments const& arguments, apps::Console const& console)
{
    auto const code = code_of_this_program();
    if (!code) return tl::unexpected(code.error());
    Installed const installed{check::gpu_libraries(), *code};
    if (!console.json) console.print(to_text(installed));
    auto const gpus = check::gpus();
    if (!gpus) return tl::unexpected(gpus.error());
    for (auto const& gpu : *gpus)
        if (!console.json) console.print(gpu + "\n");
    std::vector<check::Measured> lines;
    for (auto const& section : sections(arguments)) {
        auto found = section();
        if (!found) return tl::unexpected(found.error());
        std::move(found->begin(), found->end(), std::back_inserter(lines));
    }
    if (console.json)
        console.print_json(json::Object{{"installed", to_json(installed)},
                                        {"gpus", json::Array(gpus->begin(), gpus->end())},
                                        {"checks", check::to_json(lines)}});
    else console.print(check::to_text(lines));
    return verdict(lines);
}

}  // namespace

int main(int argc, char** argv)
{
    apps::Program const program{
        "curtail-gpu-check",
        "Checks the libraries and kernels of a build for GPUs. Compares each kernel with ATen's "
        "operators in double precision, and its speed with theirs.",
        {{"",
          "",
          {{.name = "seconds",
            .type = apps::OptionType::number,
            .placeholder = "S",
            .fallback = "0.2",
            .help = "How long to measure each time; 0: measure none",
            .range = {0, 60}},
           {.name = "golden",
            .type = apps::OptionType::text,
            .placeholder = "DIR",
            .help = "Folder with gpt_mha.h5 and gpt_gqa.h5 (tests/golden): also compare losses and "
                    "gradients of these models with the reference's"}},
          {},
          run,
          true}},
        "\nUses the first GPU. Exit codes: 0 every result is within its tolerance; 69 there is no "
        "GPU, or no driver for CUDA 13; 70 a result is wrong, or the program lacks kernels.\n"
        "\nExample:\n"
        "  curtail-gpu-check --json\n"};
    return apps::run(program, argc, argv);
}
