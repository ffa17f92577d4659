// SPDX-License-Identifier: Apache-2.0
#include "apps/target.hpp"

#include <fstream>

namespace curtail::apps {

Result<void> check_target(std::filesystem::path const& file, std::string_view kind,
                          std::string_view mark)
{
    constexpr std::int64_t looked_at = 4096;
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return {};
    std::string head(looked_at, '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(head.data(), looked_at);
    head.resize(static_cast<std::size_t>(in.gcount()));
    if (std::filesystem::is_regular_file(file, error) && head.find(mark) != std::string::npos)
        return {};
    return fail(ExitCode::usage, "cannot write to " + file.string(),
                "this file is there and is not " + std::string(kind),
                "name another file with --out, or remove it");
}

}  // namespace curtail::apps
