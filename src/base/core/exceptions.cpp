// SPDX-License-Identifier: Apache-2.0
#include "base/core/exceptions.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace curtail {

Error error_of(std::exception const& exception)
{
    if (dynamic_cast<std::bad_alloc const*>(&exception) != nullptr)
        return {ExitCode::os_error, "cannot continue", "the system gives no more memory",
                "allow more memory: see `ulimit -v`, and the memory limit of the job or service"};
    // Making a path absolute is the only use of the current folder.
    std::error_code lost;
    (void)std::filesystem::current_path(lost);
    if (lost && dynamic_cast<std::filesystem::filesystem_error const*>(&exception) != nullptr)
        return {ExitCode::no_input, "cannot find the current folder", lost.message(),
                "change to a folder that exists"};
    auto const* const system = dynamic_cast<std::system_error const*>(&exception);
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
        return {ExitCode::os_error, "cannot start a thread", system->code().message(),
                "allow more processes: see `ulimit -u`, and the task limit of the job or service"};
    return {ExitCode::software, "internal error", exception.what(),
            "please report it with the command line that caused it"};
}

void run_in_threads(std::size_t count, std::function<void(std::size_t)> const& work)
{
    std::vector<std::exception_ptr> thrown(count);
    {
        std::vector<std::jthread> threads;
        threads.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&work, &thrown, i] {
                try {
                    work(i);
                } catch (...) {
                    thrown[i] = std::current_exception();
                }
            });
    }
    auto const first = std::ranges::find_if(thrown, [](auto const& one) { return one != nullptr; });
    if (first != thrown.end()) std::rethrow_exception(*first);
}

}  // namespace curtail
