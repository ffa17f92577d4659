// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "programs/frame/cache.hpp"
#include "programs/frame/program.hpp"
#include "programs/frame/progress.hpp"
#include "protocol/chain/run_objects.hpp"
#include "run/config/run.hpp"

namespace curtail::programs::store_program {

[[nodiscard]] Command ls_command();
[[nodiscard]] Command show_command();
[[nodiscard]] Command verify_command();
[[nodiscard]] Command gc_command();
[[nodiscard]] Command sweep_command();
[[nodiscard]] Command copy_command();
[[nodiscard]] Command fork_command();
[[nodiscard]] Command repair_command();
[[nodiscard]] Command doctor_command();
[[nodiscard]] Command amend_command();

/// The positional STORE of all commands but `copy`.
[[nodiscard]] Positional store_positional();
/// The options that say how to reach a store that is named by its address.
[[nodiscard]] std::vector<Option> access_options();
/// Appends `more` to access_options().
[[nodiscard]] std::vector<Option> with_access_options(std::vector<Option> more);

/// A store that the user has named.
struct NamedStore {
    store::Address address;
    RunId run{};  ///< empty: neither a run file nor `--run` names it
    std::unique_ptr<store::ObjectStore> store;
    std::filesystem::path run_folder{};  ///< that of the run file; empty without one
    std::optional<Error> foreign{};      ///< set if others can change the run or its store
};
/// Opens the store that `text` names: a run file, or an address. Takes the settings of the run file
/// or of access_options().
[[nodiscard]] Result<NamedStore> open_named(std::string const& text, Arguments const& arguments);
/// Opens it in the same way, and makes sure that there is a run: the named one or the only one in
/// the store. Fails with `usage` if there are several, and with `no_input` if there is none.
[[nodiscard]] Result<NamedStore> open_run(std::string const& text, Arguments const& arguments);

/// Returns whether two addresses name the same store in the same way.
[[nodiscard]] bool same_place(store::Address const& a, store::Address const& b);

/// The records of a run, with copies in the folder of `--cache`. Shows how many commits were read.
struct CachedRun {
    /// `named` must outlive this object.
    CachedRun(NamedStore const& named, Arguments const& arguments, Console const& console);
    CachedRun(CachedRun const&) = delete;
    CachedRun& operator=(CachedRun const&) = delete;

    Stages stages;
    chain::RecordCache cache;
    chain::RunObjects objects;
};

/// Returns the digest of the data that the run file names. Empty: this machine does not have them.
[[nodiscard]] std::optional<Digest> manifest_of(config::Run const& run);

/// `12.3 MB`
[[nodiscard]] std::string size_text(Bytes size);
/// The rest of a name, made safe for a terminal.
[[nodiscard]] std::string name_text(std::string_view name);

}  // namespace curtail::programs::store_program
