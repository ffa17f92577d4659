// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// What the store has under the name of a commit.
struct StoredObject {
    /// - `commit`: an undamaged commit of the run;
    /// - `other_run`: an undamaged commit of another run;
    /// - `other_format`: a record that another version of Curtail has written;
    /// - `damaged`: anything else, also a folder or a symbolic link.
    enum class Form { commit, other_run, other_format, damaged };
    Form form{Form::damaged};
    Digest sha256;        ///< of its bytes; all zero if it has none
    Digest parent;        ///< only of a commit
    std::string begin{};  ///< its first bytes
    Error error{};        ///< why it is no commit
    [[nodiscard]] bool is_commit() const { return form == Form::commit; }
};

/// All objects of a run that have the name of a commit.
struct StoredCommits {
    std::map<CommitNumber, StoredObject> objects;
    CommitNumber
        sound;  ///< all commits up to this one follow by the rules, the first from run.json
    [[nodiscard]] StoredObject const* find(CommitNumber number) const;
    /// Returns true if the commits `number` and `number` + 1 are there, and the second names the
    /// first.
    [[nodiscard]] bool links(CommitNumber number) const;
};

/// Reads one of them. Returns an empty optional if there is none.
[[nodiscard]] Result<std::optional<StoredObject>> read_stored(chain::RunObjects const& objects,
                                                              CommitNumber number);
/// Lists them and reads them all, several at a time. Also asks for numbers that a listing lacks: up
/// to `known`, and in small gaps. Returns errors of the store unchanged.
[[nodiscard]] Result<StoredCommits> read_stored_commits(chain::RunObjects const& objects,
                                                        chain::StoredRun const& run,
                                                        CommitNumber known = {0});

}  // namespace curtail::operate
