// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/time.hpp"

// Holds of the operators of a centre. A file in a folder of theirs keeps sites from training, with
// and without a poller. Nothing of Curtail writes or removes such a file.
namespace curtail::permission {

/// The folder that always counts: `/etc/curtail/holds.d`.
extern char const* const operators_folder;

/// Whom a hold may concern.
struct HoldSubject {
    std::optional<std::string> user;  ///< this process's; empty if the machine cannot name it
    RunId run;
    SiteId site;
};
/// Returns the subject for this process's user.
[[nodiscard]] HoldSubject subject_of(RunId const& run, SiteId const& site);

/// A hold that is in force.
struct OperatorHold {
    std::filesystem::path file;  ///< or the folder, if it cannot be read
    std::string reason;
    friend bool operator==(OperatorHold const&, OperatorHold const&) = default;
};
/// Returns a sentence about the hold, for the user.
[[nodiscard]] std::string to_text(OperatorHold const& hold);

/// Returns a hold that concerns `subject` at the real time `now`, from operators_folder or from one
/// of `more`; the first one by name. Returns nothing if there is none.
///
/// A file may be a JSON object with the keys `reason`, `users`, `runs`, `sites` and `until`. Each
/// list that it has must name the subject; a list of users concerns a user without a name. Any
/// other file concerns everybody; its first line is the reason. Names that begin with a dot or end
/// with a tilde do not count.
///
/// What cannot be read holds, and so does a link that leads nowhere, in a folder or on the way to
/// it. A missing operators_folder holds nothing; a missing one of `more` holds.
[[nodiscard]] std::optional<OperatorHold> find_operator_hold(
    std::vector<std::filesystem::path> const& more, HoldSubject const& subject, Time now);

}  // namespace curtail::permission
