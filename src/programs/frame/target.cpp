// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/target.hpp"

#include <fstream>

namespace curtail::programs {

Result<void> check_target(std::filesystem::path const& file, std::string_view kind,
                          std::string_view mark, std::string_view option)
{
    constexpr std::int64_t head_size = 4096;
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return {};
    // To open a pipe would wait for its writer.
    if (std::filesystem::is_regular_file(file, error)) {
        std::string head(head_size, '\0');
        std::ifstream in(file, std::ios::binary);
        in.read(head.data(), head_size);
        head.resize(static_cast<std::size_t>(in.gcount()));
        if (head.empty() || head.find(mark) != std::string::npos) return {};
    }
    return fail(ExitCode::usage, "cannot write " + file.string(),
                "this file exists and is not " + std::string(kind),
                "pass another file with " + std::string(option) + ", or remove this one");
}

}  // namespace curtail::programs
