// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "support/forwarding_store.hpp"

namespace curtail::test {

/// A store that counts the requests that it forwards. A listing counts as one request per 1000
/// objects, as a page of an S3 server.
class CountingStore final : public ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;

    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        ++requests_;
        return ForwardingStore::create(name, bytes, call);
    }
    Result<void> put(store::ObjectName const& name, Pieces const& bytes,
                     CallLimits const& call) override
    {
        ++requests_;
        return ForwardingStore::put(name, bytes, call);
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        ++requests_;
        return ForwardingStore::read(name, limit, sink, call);
    }
    Result<std::optional<store::ObjectInfo>> stat(store::ObjectName const& name,
                                                  CallLimits const& call) override
    {
        ++requests_;
        return ForwardingStore::stat(name, call);
    }
    Result<void> remove(store::ObjectName const& name, CallLimits const& call) override
    {
        ++requests_;
        return ForwardingStore::remove(name, call);
    }
    Result<void> list(store::ObjectFolder const& folder, std::string const& after,
                      Visit const& visit, CallLimits const& call) override
    {
        int objects = 0;
        auto listed = ForwardingStore::list(
            folder, after,
            [&](store::ListedObject const& object) {
                ++objects;
                return visit(object);
            },
            call);
        requests_ += 1 + objects / 1000;
        return listed;
    }

    /// Returns the number of requests since the last call.
    int take() { return requests_.exchange(0); }

  private:
    std::atomic<int> requests_{0};
};

}  // namespace curtail::test
