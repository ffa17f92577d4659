// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/forwarding_store.hpp"

namespace curtail::operate::test {

/// A store that fails after a number of writes, as if the program had been killed there.
class EndingStore final : public curtail::test::ForwardingStore {
  public:
    EndingStore(store::ObjectStore& inner, int writes) : ForwardingStore(inner), writes_(writes) {}
    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        if (writes_-- <= 0) return ended();
        return ForwardingStore::create(name, bytes, call);
    }
    Result<void> put(store::ObjectName const& name, Pieces const& bytes,
                     CallLimits const& call) override
    {
        if (writes_-- <= 0) return ended();
        return ForwardingStore::put(name, bytes, call);
    }

  private:
    static tl::unexpected<Error> ended() { return fail(ExitCode::software, "killed", "here"); }
    int writes_;
};

}  // namespace curtail::operate::test
