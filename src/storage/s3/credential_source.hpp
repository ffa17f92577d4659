// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/core/call_limits.hpp"
#include "base/core/result.hpp"
#include "storage/s3/credentials.hpp"

namespace curtail::s3 {

/// Environment variables by name.
using Environment = std::map<std::string, std::string>;
/// Returns HOME and all variables of this process that begin with `AWS_`.
[[nodiscard]] Environment aws_environment();

/// Where to look for credentials.
struct CredentialOptions {
    /// A shared credentials file (see find_profile()). If not empty, only this file counts.
    std::filesystem::path file{};
    std::string profile{};  ///< of the file; empty: AWS_PROFILE, otherwise `default`
    /// URL of the metadata service, for example `http://169.254.169.254`. If empty, the role of the
    /// virtual machine is not asked for.
    std::string instance_role{};
};

/// Finds credentials, and renews them before they expire. Thread-safe.
///
/// The first of these that is present counts:
/// - CredentialOptions::file;
/// - the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
/// - the profile in AWS_SHARED_CREDENTIALS_FILE or `~/.aws/credentials`;
/// - `credential_process` of the profile in AWS_CONFIG_FILE or `~/.aws/config`;
/// - the container's endpoint: AWS_CONTAINER_CREDENTIALS_FULL_URI, or
///   AWS_CONTAINER_CREDENTIALS_RELATIVE_URI at http://169.254.170.2;
/// - CredentialOptions::instance_role.
///
/// A profile holds `aws_access_key_id` and `aws_secret_access_key`, with `aws_session_token` if
/// they are temporary. Or it holds `credential_process`, see run_credential_process(). A file with
/// a key must belong to the user and be private, see read_private_file().
class CredentialSource {
  public:
    CredentialSource(CredentialOptions options, Environment environment);

    using Shared = std::shared_ptr<Credentials const>;

    /// Returns credentials that have not expired at `now`. Reads them again five minutes before
    /// they expire, at most once every 30 seconds. If that fails, returns the previous ones until
    /// they expire. Only one caller at a time reads. Meanwhile, the others get the previous ones,
    /// or wait for its result if these have expired.
    ///
    /// Fails with `permission` if there are none, with `no_input` if CredentialOptions::file lacks
    /// the profile, and with `config` if a profile lacks a key. Fails with `temporary` if `call` is
    /// over first. Otherwise fails like the source itself.
    [[nodiscard]] Result<Shared> get(Time now, CallLimits const& call = {});
    /// Forgets `refused`, which a server has rejected, so that get() reads credentials again.
    /// Returns false if credentials were read less than ten seconds before `now`: then they have
    /// hardly changed.
    bool renew(Shared const& refused, Time now);

  private:
    struct Reading;
    using Lookup = Result<std::optional<Credentials>>;

    // The caller of the next five holds `mutex_`.
    /// Returns whether current_ has not expired.
    [[nodiscard]] bool is_valid(Time now) const;
    /// Returns whether current_ is valid and needs no renewal now.
    [[nodiscard]] bool is_good_enough(Time now) const;
    /// Reads the credentials. `lock` is of `mutex_`; it is open meanwhile.
    [[nodiscard]] Result<Shared> read(std::unique_lock<std::mutex>& lock, Time now,
                                      CallLimits const& call);
    /// Keeps what a reading has found, if it is of use.
    void keep(Result<Credentials> found, Time now);
    /// Waits until no caller reads. Returns false if `call` is over first.
    [[nodiscard]] bool wait_for_reader(std::unique_lock<std::mutex>& lock, CallLimits const& call);
    [[nodiscard]] Result<Credentials> find(CallLimits const& call) const;
    /// Looks in all places, in order. Returns an empty optional if none holds credentials.
    [[nodiscard]] Lookup search(CallLimits const& call) const;
    // Each of these four returns an empty optional if its place holds no credentials.
    [[nodiscard]] Lookup from_variables() const;
    [[nodiscard]] Lookup from_private_file(std::filesystem::path const& file,
                                           CallLimits const& call) const;
    [[nodiscard]] Lookup from_config_file(CallLimits const& call) const;
    [[nodiscard]] Lookup from_services(CallLimits const& call) const;
    /// Returns the file that the variable `name` names, or else `file` in `~/.aws`. Returns an
    /// empty path if HOME is not set either.
    [[nodiscard]] std::filesystem::path user_file(std::string const& name,
                                                  std::string const& file) const;
    [[nodiscard]] std::string variable(std::string const& name) const;
    [[nodiscard]] std::string profile() const;

    CredentialOptions options_;
    Environment environment_;
    std::mutex mutex_;
    std::condition_variable_any read_ended_;
    bool reading_{false};
    std::uint64_t readings_{0};  ///< readings that ended, other than by the CallLimits
    Shared current_;
    Error error_{};                 ///< of the last reading that found no valid credentials
    std::optional<Time> read_at_;   ///< when current_ was read
    std::optional<Time> tried_at_;  ///< when the last reading began
};

}  // namespace curtail::s3
