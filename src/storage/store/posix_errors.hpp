// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/result.hpp"

// Maps the errno of a failed file system operation to an error of the store.
namespace curtail::store {

/// What an errno value means for a user of the store.
struct ErrorMeaning {
    ExitCode code;
    char const* remedy;  ///< what the user can do; may be empty, never null
};
/// Returns the meaning of the errno value `error`.
[[nodiscard]] ErrorMeaning meaning_of(int error);

/// Returns true if the errno value `error` may mean that the file server did not answer. In this
/// case, the failed operation may have taken effect already, or may take effect later.
[[nodiscard]] bool leaves_outcome_unknown(int error);

}  // namespace curtail::store
