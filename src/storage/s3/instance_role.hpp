// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/call_limits.hpp"
#include "base/core/result.hpp"
#include "storage/s3/credentials.hpp"

// Temporary credentials from a metadata service: a server that only this machine or container can
// reach. No proxy can reach it, so none is ever asked.

namespace curtail::s3 {

/// Asks the metadata service of a virtual machine (IMDSv2 of EC2) at `url`, for example
/// `http://169.254.169.254`, for the credentials of the machine's role.
///
/// Waits at most 5 s for each answer, and keeps within `call`. Fails with `temporary` if the
/// service does not answer, `permission` if the machine has no role, and `data` if the answer is
/// malformed.
[[nodiscard]] Result<Credentials> instance_role_credentials(std::string const& url,
                                                            CallLimits const& call = {});

/// Accepts an https URL, and an http URL to this machine or to an address at which AWS serves the
/// credentials of containers: 169.254.170.2 (ECS), 169.254.170.23 and [fd00:ec2::23] (EKS). Fails
/// with `config` for any other URL: others could read the credentials.
[[nodiscard]] Result<void> check_container_url(std::string const& url);

/// Asks the credential endpoint of a container at `url`. Sends `token`, unless it is empty, as the
/// header Authorization. Fails like check_container_url() and instance_role_credentials().
[[nodiscard]] Result<Credentials> container_credentials(std::string const& url, Secret const& token,
                                                        CallLimits const& call = {});

}  // namespace curtail::s3
