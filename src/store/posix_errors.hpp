// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/result.hpp"

/// What errno of a file system operation means for a store.
namespace curtail::store {

struct ErrorMeaning {
    ExitCode code;
    char const* remedy;  ///< may be empty
};
[[nodiscard]] ErrorMeaning meaning_of(int error);

/// Whether the server stopped answering, so that the operation may have been carried out, or may
/// still be.
[[nodiscard]] bool leaves_outcome_unknown(int error);

}  // namespace curtail::store
