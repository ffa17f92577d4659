// SPDX-License-Identifier: Apache-2.0
#include "storage/store/lazy_store.hpp"

namespace curtail::store {

Result<std::shared_ptr<ObjectStore>> LazyStore::opened()
{
    std::lock_guard const guard(mutex_);
    if (store_ != nullptr) return store_;
    auto store = open_store(address_);
    if (!store) return tl::unexpected(store.error());
    store_ = std::move(*store);
    return store_;
}

Result<CreateOutcome> LazyStore::create(ObjectName const& name, std::span<std::byte const> bytes,
                                        CallLimits const& call)
{
    return opened().and_then([&](auto const& store) { return store->create(name, bytes, call); });
}

Result<void> LazyStore::put(ObjectName const& name, Pieces const& bytes, CallLimits const& call)
{
    return opened().and_then([&](auto const& store) { return store->put(name, bytes, call); });
}

Result<bool> LazyStore::read(ObjectName const& name, Bytes limit, Sink const& sink,
                             CallLimits const& call)
{
    return opened().and_then(
        [&](auto const& store) { return store->read(name, limit, sink, call); });
}

Result<std::optional<ObjectInfo>> LazyStore::stat(ObjectName const& name, CallLimits const& call)
{
    return opened().and_then([&](auto const& store) { return store->stat(name, call); });
}

Result<void> LazyStore::remove(ObjectName const& name, CallLimits const& call)
{
    return opened().and_then([&](auto const& store) { return store->remove(name, call); });
}

Result<void> LazyStore::list(ObjectFolder const& folder, std::string const& after,
                             Visit const& visit, CallLimits const& call)
{
    return opened().and_then(
        [&](auto const& store) { return store->list(folder, after, visit, call); });
}

Result<std::vector<Leftover>> LazyStore::leftovers(ObjectFolder const& folder,
                                                   CallLimits const& call)
{
    return opened().and_then([&](auto const& store) { return store->leftovers(folder, call); });
}

Result<void> LazyStore::remove_leftover(Leftover const& leftover, CallLimits const& call)
{
    return opened().and_then(
        [&](auto const& store) { return store->remove_leftover(leftover, call); });
}

Result<bool> LazyStore::keeps_versions(CallLimits const& call)
{
    return opened().and_then([&](auto const& store) { return store->keeps_versions(call); });
}

}  // namespace curtail::store
