// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/without_exceptions.hpp"

#include <new>
#include <string_view>
#include <utility>

#include "trainer/comm/collectives.hpp"

namespace curtail::trainer {
namespace {

// True for the exceptions of PyTorch, cuBLAS and the C++ library.
bool is_out_of_memory(std::exception const& exception)
{
    if (dynamic_cast<std::bad_alloc const*>(&exception) != nullptr) return true;
    std::string_view const what = exception.what();
    return what.find("out of memory") != what.npos || what.find("allocate memory") != what.npos ||
           what.find("ALLOC_FAILED") != what.npos;
}

bool is_failure_of_the_gpu(std::exception const& exception)
{
    std::string_view const what = exception.what();
    return what.find("CUDA error") != what.npos || what.find("CUDA driver error") != what.npos;
}

}  // namespace

tl::expected<void, StepFailure> without_exceptions(std::function<Result<void>()> const& body)
{
    try {
        return body().map_error([](Error error) { return StepFailure{std::move(error)}; });
    } catch (comm::CommError const&) {
        throw;
    } catch (std::exception const& broken) {
        if (is_out_of_memory(broken))
            return tl::unexpected(StepFailure{
                {ExitCode::unavailable, "there is not enough memory for a step", broken.what(),
                 "set training.checkpoint_activations, or use more ranks or a smaller model"},
                true});
        if (is_failure_of_the_gpu(broken))
            return tl::unexpected(
                StepFailure{{ExitCode::temporary, "cannot compute a step", broken.what(),
                             "check the GPU with nvidia-smi and dmesg"}});
        return tl::unexpected(StepFailure{
            {ExitCode::software, "cannot compute a step", broken.what(), "report this"}});
    }
}

}  // namespace curtail::trainer
