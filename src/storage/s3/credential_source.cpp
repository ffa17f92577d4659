// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/credential_source.hpp"

#include <unistd.h>

#include "base/core/files.hpp"
#include "base/core/private_file.hpp"
#include "base/core/text.hpp"
#include "base/core/trust.hpp"
#include "storage/s3/credential_process.hpp"
#include "storage/s3/instance_role.hpp"
#include "storage/s3/shared_file.hpp"

namespace curtail::s3 {
namespace {

constexpr Seconds margin{300};      // credentials are renewed so long before they expire
constexpr Seconds early_pause{30};  // between two readings before the credentials have expired
constexpr Seconds pause{10};        // between two readings after a server has rejected credentials
constexpr char const* container_host = "http://169.254.170.2";

bool expires_by(Credentials const& credentials, Time time)
{
    return credentials.expiration && *credentials.expiration <= time;
}

// Whether `now` is less than `span` after `begin`. False if the clock was set back.
bool is_within(Seconds span, std::optional<Time> begin, Time now)
{
    return begin && now >= *begin && now - *begin < span;
}

Result<Credentials> from_profile(Profile const& profile, std::string const& source,
                                 CallLimits const& call)
{
    auto const value = [&](char const* key) {
        auto const found = profile.find(key);
        return found == profile.end() ? std::string() : found->second;
    };
    if (auto const command = value("credential_process"); !command.empty())
        return run_credential_process(command, "credential_process in " + source, call);
    Credentials credentials{.key_id = value("aws_access_key_id"),
                            .key = Secret(value("aws_secret_access_key")),
                            .token = Secret(value("aws_session_token"))};
    if (!credentials.key_id.empty() && !credentials.key.empty()) return credentials;
    return fail(ExitCode::config, "cannot read credentials from " + source,
                "the profile lacks aws_access_key_id or aws_secret_access_key",
                "add both, or credential_process");
}

}  // namespace

Environment aws_environment()
{
    Environment environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        std::string_view const text(*variable);
        auto const equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        auto const name = text.substr(0, equals);
        if (name == "HOME" || name.starts_with("AWS_"))
            environment.emplace(name, text.substr(equals + 1));
    }
    return environment;
}

CredentialSource::CredentialSource(CredentialOptions options, Environment environment)
    : options_(std::move(options)), environment_(std::move(environment))
{
}

std::string CredentialSource::variable(std::string const& name) const
{
    auto const found = environment_.find(name);
    return found == environment_.end() ? std::string() : found->second;
}

std::string CredentialSource::profile() const
{
    if (!options_.profile.empty()) return options_.profile;
    auto const named = variable("AWS_PROFILE");
    return named.empty() ? "default" : named;
}

// Opens the lock while credentials are read, and ends the reading on every path.
struct CredentialSource::Reading {
    Reading(CredentialSource& owner, std::unique_lock<std::mutex>& held) : source(owner), lock(held)
    {
        source.reading_ = true;
        lock.unlock();
    }
    ~Reading()
    {
        lock.lock();
        source.reading_ = false;
        source.read_ended_.notify_all();
    }
    Reading(Reading const&) = delete;
    Reading& operator=(Reading const&) = delete;

    CredentialSource& source;
    std::unique_lock<std::mutex>& lock;
};

Result<CredentialSource::Shared> CredentialSource::get(Time now, CallLimits const& call)
{
    std::unique_lock lock(mutex_);
    while (!is_good_enough(now)) {
        if (!reading_) return read(lock, now, call);
        auto const before = readings_;
        if (!wait_for_reader(lock, call))
            return fail(ExitCode::temporary, "cannot sign requests to the object storage",
                        "the credentials were not renewed in time");
        if (readings_ != before && !is_valid(now)) return tl::unexpected(error_);
    }
    return current_;
}

bool CredentialSource::is_valid(Time now) const { return current_ && !expires_by(*current_, now); }

bool CredentialSource::is_good_enough(Time now) const
{
    if (!is_valid(now)) return false;
    return !expires_by(*current_, now + margin) || reading_ ||
           is_within(early_pause, tried_at_, now);
}

bool CredentialSource::wait_for_reader(std::unique_lock<std::mutex>& lock, CallLimits const& call)
{
    auto const ended = [this] { return !reading_; };
    if (!call.until) return read_ended_.wait(lock, call.cancel, ended);
    return read_ended_.wait_until(lock, call.cancel, *call.until, ended);
}

Result<CredentialSource::Shared> CredentialSource::read(std::unique_lock<std::mutex>& lock,
                                                        Time now, CallLimits const& call)
{
    tried_at_ = now;
    auto found = [&] {
        Reading const reading(*this, lock);
        return find(call);
    }();
    auto const failure = found ? std::optional<Error>() : found.error();
    // A caller that has given up says nothing about the credentials.
    bool const gave_up = failure && call.is_over();
    if (!gave_up) keep(std::move(found), now);
    if (is_valid(now)) return current_;
    return tl::unexpected(gave_up ? *failure : error_);
}

void CredentialSource::keep(Result<Credentials> found, Time now)
{
    ++readings_;
    if (!found) {
        error_ = found.error();
    } else if (expires_by(*found, now)) {
        error_ = {ExitCode::permission, "cannot sign requests to the object storage",
                  "the credentials have expired", "renew them"};
    } else {
        current_ = std::make_shared<Credentials const>(std::move(*found));
        read_at_ = now;
    }
}

bool CredentialSource::renew(Shared const& refused, Time now)
{
    std::lock_guard const guard(mutex_);
    if (current_ != refused) return true;  // another thread has renewed them
    if (is_within(pause, read_at_, now)) return false;
    current_.reset();
    return true;
}

std::filesystem::path CredentialSource::user_file(std::string const& name,
                                                  std::string const& file) const
{
    if (auto const named = variable(name); !named.empty()) return named;
    auto const home = variable("HOME");
    return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".aws" / file;
}

CredentialSource::Lookup CredentialSource::from_private_file(std::filesystem::path const& file,
                                                             CallLimits const& call) const
{
    auto text = read_private_file(file);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return std::nullopt;
    auto const profile = find_profile(**text, this->profile(), file.string());
    wipe(**text);
    if (!profile) return tl::unexpected(profile.error());
    if (!*profile) return std::nullopt;
    return from_profile(**profile, file.string(), call);
}

// Such a file is often readable by others. It may therefore name a program, but hold no key.
CredentialSource::Lookup CredentialSource::from_config_file(CallLimits const& call) const
{
    auto const file = user_file("AWS_CONFIG_FILE", "config");
    if (file.empty()) return std::nullopt;
    auto const opened = open_to_read(file);
    if (!opened) return tl::unexpected(opened.error());
    if (!*opened) return std::nullopt;
    int const fd = (*opened)->get();
    if (auto foreign = find_foreign_access(fd, file, trust_in_installed()))
        return tl::unexpected(std::move(*foreign));
    auto const text = read_descriptor(fd, file.string(), std::int64_t{1} << 20);
    if (!text) return tl::unexpected(text.error());
    auto const name = profile();
    auto const found =
        find_profile(*text, name == "default" ? name : "profile " + name, file.string());
    if (!found) return tl::unexpected(found.error());
    if (!*found || !(*found)->contains("credential_process")) return std::nullopt;
    return from_profile(**found, file.string(), call);
}

CredentialSource::Lookup CredentialSource::from_variables() const
{
    if (variable("AWS_ACCESS_KEY_ID").empty() || variable("AWS_SECRET_ACCESS_KEY").empty())
        return std::nullopt;
    return Credentials{.key_id = variable("AWS_ACCESS_KEY_ID"),
                       .key = Secret(variable("AWS_SECRET_ACCESS_KEY")),
                       .token = Secret(variable("AWS_SESSION_TOKEN"))};
}

CredentialSource::Lookup CredentialSource::from_services(CallLimits const& call) const
{
    if (auto const url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"); !url.empty())
        return container_credentials(url, Secret(variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")),
                                     call);
    if (auto const path = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !path.empty())
        return container_credentials(container_host + path, Secret(), call);
    if (!options_.instance_role.empty())
        return instance_role_credentials(options_.instance_role, call);
    return std::nullopt;
}

CredentialSource::Lookup CredentialSource::search(CallLimits const& call) const
{
    auto const shared = user_file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    auto found = from_variables();
    if (found && !*found && !shared.empty()) found = from_private_file(shared, call);
    if (found && !*found) found = from_config_file(call);
    if (found && !*found) found = from_services(call);
    return found;
}

Result<Credentials> CredentialSource::find(CallLimits const& call) const
{
    auto found = options_.file.empty() ? search(call) : from_private_file(options_.file, call);
    if (!found) return tl::unexpected(found.error());
    if (*found) return std::move(**found);
    if (!options_.file.empty())
        return fail(ExitCode::no_input, "cannot read credentials from " + options_.file.string(),
                    "there is no such file, or it has no section [" + profile() + "]",
                    "write the section, and give the file mode 600");
    return fail(ExitCode::permission, "cannot sign requests to the object storage",
                "there are no credentials",
                "name a credentials file in the run or site file (s3.credentials)");
}

}  // namespace curtail::s3
