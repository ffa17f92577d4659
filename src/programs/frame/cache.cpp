// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/cache.hpp"

#include <cstdlib>

namespace curtail::programs {
namespace {

constexpr char const* no_cache = "none";

std::string default_folder()
{
    for (auto const& [variable, below] :
         {std::pair{"XDG_CACHE_HOME", "curtail"}, std::pair{"HOME", ".cache/curtail"}}) {
        char const* const value = std::getenv(variable);
        if (value != nullptr && *value == '/')
            return (std::filesystem::path(value) / below).string();
    }
    return no_cache;
}

}  // namespace

Option cache_option()
{
    return text_option("cache", "FOLDER",
                       "Folder for copies of commits, so that the next call reads only new ones "
                       "from the store; `none`: keep no copies",
                       default_folder());
}

std::filesystem::path cache_folder(Arguments const& arguments)
{
    auto const folder = arguments.text("cache");
    return folder == no_cache ? std::filesystem::path() : std::filesystem::absolute(folder);
}

}  // namespace curtail::programs
