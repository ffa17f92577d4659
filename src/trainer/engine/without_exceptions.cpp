// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/without_exceptions.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "trainer/comm/collectives.hpp"

namespace curtail::trainer {
namespace {

bool mentions(std::exception const& exception, std::initializer_list<char const*> texts)
{
    std::string_view const what = exception.what();
    return std::ranges::any_of(texts,
                               [&](char const* text) { return what.find(text) != what.npos; });
}

}  // namespace

tl::expected<void, StepFailure> without_exceptions(std::function<Result<void>()> const& body)
{
    try {
        return body().map_error([](Error error) { return StepFailure{std::move(error)}; });
    } catch (comm::CommError const&) {
        throw;
    } catch (std::exception const& broken) {
        // The exceptions of PyTorch, cuBLAS and the C++ library.
        if (dynamic_cast<std::bad_alloc const*>(&broken) != nullptr ||
            mentions(broken, {"out of memory", "allocate memory", "ALLOC_FAILED"}))
            return tl::unexpected(StepFailure{
                {ExitCode::unavailable, "there is not enough memory for a step", broken.what(),
                 "set training.checkpoint_activations, or use more ranks or a smaller model"},
                true});
        if (mentions(broken, {"CUDA error", "CUDA driver error"}))
            return tl::unexpected(
                StepFailure{{ExitCode::temporary, "cannot compute a step", broken.what(),
                             "check the GPU with nvidia-smi and dmesg"}});
        return tl::unexpected(StepFailure{
            {ExitCode::software, "cannot compute a step", broken.what(), "report this"}});
    }
}

}  // namespace curtail::trainer
