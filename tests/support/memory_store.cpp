// SPDX-License-Identifier: Apache-2.0
#include "support/memory_store.hpp"

namespace curtail::store {

MemoryStore::Object MemoryStore::object_of(Pieces const& bytes) const
{
    Content content(bytes.size());
    bytes.copy(0, content);
    return {std::make_shared<Content const>(std::move(content)),
            clock_ != nullptr ? clock_->now() : SystemClock{}.now()};
}

Result<CreateOutcome> MemoryStore::create(ObjectName const& name, std::span<std::byte const> bytes,
                                          CallLimits const&)
{
    auto object = object_of(bytes);
    std::lock_guard const guard(mutex_);
    return objects_.try_emplace(name, std::move(object)).second ? CreateOutcome::created
                                                                : CreateOutcome::exists;
}

Result<void> MemoryStore::put(ObjectName const& name, Pieces const& bytes, CallLimits const&)
{
    auto object = object_of(bytes);
    std::lock_guard const guard(mutex_);
    objects_.insert_or_assign(name, std::move(object));
    return {};
}

Result<bool> MemoryStore::read(ObjectName const& name, Bytes limit, Sink const& sink,
                               CallLimits const&)
{
    std::shared_ptr<Content const> content;
    {
        std::lock_guard const guard(mutex_);
        auto const found = objects_.find(name);
        if (found == objects_.end()) return false;
        content = found->second.content;
    }
    Bytes const whole{static_cast<std::int64_t>(content->size())};
    if (whole > limit)
        return fail(ExitCode::data, "cannot read " + name.text(),
                    "it has " + std::to_string(whole.value) + " bytes, the limit is " +
                        std::to_string(limit.value));
    sink(*content, whole);
    return true;
}

Result<std::optional<ObjectInfo>> MemoryStore::stat(ObjectName const& name, CallLimits const&)
{
    std::lock_guard const guard(mutex_);
    auto const found = objects_.find(name);
    if (found == objects_.end()) return std::optional<ObjectInfo>{};
    return std::optional(ObjectInfo{{static_cast<std::int64_t>(found->second.content->size())},
                                    found->second.modified});
}

Result<void> MemoryStore::remove(ObjectName const& name, CallLimits const&)
{
    std::lock_guard const guard(mutex_);
    objects_.erase(name);
    return {};
}

Result<void> MemoryStore::list(ObjectFolder const& folder, std::string const& after,
                               Visit const& visit, CallLimits const&)
{
    std::vector<ListedObject> found;
    {
        std::lock_guard const guard(mutex_);
        for (auto const& [name, object] : objects_)
            if (name.text().starts_with(folder.text() + "/") && name.text() > after)
                found.push_back(
                    {name.text(),
                     {{static_cast<std::int64_t>(object.content->size())}, object.modified}});
    }
    for (auto const& object : found)
        if (!visit(object)) break;
    return {};
}

Result<std::vector<Leftover>> MemoryStore::leftovers(ObjectFolder const&, CallLimits const&)
{
    return std::vector<Leftover>{};
}

Result<void> MemoryStore::remove_leftover(Leftover const&, CallLimits const&) { return {}; }

Result<bool> MemoryStore::keeps_versions(CallLimits const&) { return false; }

std::vector<ObjectName> MemoryStore::names() const
{
    std::lock_guard const guard(mutex_);
    std::vector<ObjectName> all;
    for (auto const& [name, object] : objects_) all.push_back(name);
    return all;
}

}  // namespace curtail::store
