// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "base/core/call_limits.hpp"
#include "protocol/site/messages.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::trainer {

/// Carries out the protocol's questions about records. Copies share the store. Thread-safe.
///
/// The functions return the store's error unchanged if it failed.
class Records {
  public:
    Records(std::shared_ptr<store::ObjectStore> store, RunId run);

    /// Returns Got or Missing.
    [[nodiscard]] Result<protocol::Input> get(protocol::Get const& question,
                                              CallLimits const& call) const;
    /// Why a record was not created, or may not have been.
    struct CreateFailure {
        Error error;
        bool created_nothing;  ///< false: the outcome is unknown
    };
    /// Returns Created or Exists.
    [[nodiscard]] tl::expected<protocol::Input, CreateFailure> create(
        protocol::Create const& question, CallLimits const& call) const;
    /// Stores a record in place of an older one.
    [[nodiscard]] Result<void> overwrite(protocol::Overwrite const& order,
                                         CallLimits const& call) const;

  private:
    std::shared_ptr<store::ObjectStore> store_;
    RunId run_;
};

}  // namespace curtail::trainer
