// SPDX-License-Identifier: Apache-2.0
#include "base/core/result.hpp"

#include <cstring>
#include <utility>

namespace curtail {

std::string Error::message() const
{
    std::string text = what;
    if (!why.empty()) text += (text.empty() ? "" : ": ") + why;
    if (!remedy.empty()) text += "; " + remedy;
    return text;
}

Error Error::with_context(std::string outer) const
{
    std::string inner = what;
    if (!why.empty()) inner += (inner.empty() ? "" : ": ") + why;
    return {code, std::move(outer), std::move(inner), remedy};
}

tl::unexpected<Error> fail(ExitCode code, std::string what, std::string why, std::string remedy)
{
    return tl::unexpected<Error>(Error{code, std::move(what), std::move(why), std::move(remedy)});
}

std::string errno_text(int error_number)
{
    char buffer[256];
    return strerror_r(error_number, buffer, sizeof buffer);
}

}  // namespace curtail
