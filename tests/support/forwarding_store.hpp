// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "storage/store/object_store.hpp"

namespace curtail::test {

/// A store that forwards every request to another one, which must outlive it. A test double derives
/// from this class and overrides the requests that it changes.
class ForwardingStore : public store::ObjectStore {
  public:
    explicit ForwardingStore(store::ObjectStore& inner) : inner_(inner) {}

    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        return inner_.create(name, bytes, call);
    }
    Result<void> put(store::ObjectName const& name, Pieces const& bytes,
                     CallLimits const& call) override
    {
        return inner_.put(name, bytes, call);
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        return inner_.read(name, limit, sink, call);
    }
    Result<std::optional<store::ObjectInfo>> stat(store::ObjectName const& name,
                                                  CallLimits const& call) override
    {
        return inner_.stat(name, call);
    }
    Result<void> remove(store::ObjectName const& name, CallLimits const& call) override
    {
        return inner_.remove(name, call);
    }
    Result<void> list(store::ObjectFolder const& folder, std::string const& after,
                      Visit const& visit, CallLimits const& call) override
    {
        return inner_.list(folder, after, visit, call);
    }
    Result<std::vector<store::Leftover>> leftovers(store::ObjectFolder const& folder,
                                                   CallLimits const& call) override
    {
        return inner_.leftovers(folder, call);
    }
    Result<void> remove_leftover(store::Leftover const& leftover, CallLimits const& call) override
    {
        return inner_.remove_leftover(leftover, call);
    }
    Result<bool> keeps_versions(CallLimits const& call) override
    {
        return inner_.keeps_versions(call);
    }

  private:
    store::ObjectStore& inner_;
};

}  // namespace curtail::test
