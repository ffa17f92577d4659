// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "run/permission/permission.hpp"

// How a job decides whether it may train. The functions read no clock and do no I/O.
namespace curtail::permission {

/// Whether a job needs the poller's permission.
enum class Requirement {
    always,     ///< the poller submitted the job
    if_served,  ///< a person submitted the job: it needs permission if a poller serves the site
    never       ///< a person submitted the job, to train without the poller
};
/// Returns `always`, `if-served` or `never`.
[[nodiscard]] char const* to_text(Requirement requirement);
/// Returns the requirement with the name `text`, or an empty optional if there is none.
[[nodiscard]] std::optional<Requirement> parse_requirement(std::string_view text);

/// The result of read_permission().
using Reading = Result<std::optional<Permission>>;

/// Returns true if `permission` was issued more than a minute after `now`. Jobs do not train with
/// such a permission, but they obey such a withdrawal.
[[nodiscard]] bool is_from_the_future(Permission const& permission, Time now);

/// Checks whether a job may start at the real time `now`. Fails with `temporary` if it may not.
///
/// A job that needs permission always may start only with a permission that has not ended. A job
/// that needs it only if the site is served may also start if the file does not exist. A permission
/// that was issued more than a minute after `now` counts as unusable.
[[nodiscard]] Result<void> check_start(Requirement requirement, Reading const& reading, Time now);

/// The end of a job's permission.
struct PermissionEnd {
    std::int64_t serial{};  ///< of the permission that ended; 0 if the job has read none
    std::string why;        ///< why the job must stop; for the user
};

/// A running job's view of its permission. The job calls see() after each reading of the file, and
/// end() before each step.
class JobWatch {
  public:
    explicit JobWatch(Requirement requirement) : requirement_(requirement) {}
    /// Takes note of a reading. `now` and `real_now` are the times when it began. Returns an error
    /// if the reading is unusable, and the previous reading was not; the job then logs it.
    [[nodiscard]] std::optional<Error> see(Reading const& reading, MonoTime now, Time real_now);
    /// Returns why the job must stop, or an empty optional if it may train.
    ///
    /// A permission ends `lifetime` after the job first saw its serial, or at `until`, whichever
    /// comes first. If the file is missing or unusable, the last permission that was read counts.
    [[nodiscard]] std::optional<PermissionEnd> end(MonoTime now, Time real_now) const;
    /// Returns whether a reading began at `moment` or later. Somebody may have suspended the job
    /// since the last one, so a job reads the file again before it obeys end().
    [[nodiscard]] bool has_read_since(MonoTime moment) const { return read_ >= moment; }
    /// Returns the permission with the highest serial that was read; empty if there is none.
    [[nodiscard]] std::optional<Permission> const& last() const { return last_; }

  private:
    Requirement requirement_;
    std::optional<Permission> last_;
    MonoTime first_seen_{};  ///< when the job first saw the serial of `last_`
    MonoTime read_{};        ///< when the last reading began
    std::optional<Error> problem_;
};

}  // namespace curtail::permission
