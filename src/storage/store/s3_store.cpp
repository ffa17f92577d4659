// SPDX-License-Identifier: Apache-2.0
#include "storage/store/s3_store.hpp"

#include <algorithm>

namespace curtail::store {

Result<CreateOutcome> S3Store::create(ObjectName const& name, std::span<std::byte const> bytes,
                                      CallLimits const& call)
{
    return bucket_.create(name.text(), bytes, call).map([](s3::Creation creation) {
        return creation == s3::Creation::created  ? CreateOutcome::created
               : creation == s3::Creation::exists ? CreateOutcome::exists
                                                  : CreateOutcome::unknown;
    });
}

Result<void> S3Store::put(ObjectName const& name, Pieces const& bytes, CallLimits const& call)
{
    return bucket_.put(name.text(), bytes, call);
}

Result<bool> S3Store::read(ObjectName const& name, Bytes limit, Sink const& sink,
                           CallLimits const& call)
{
    return bucket_.get(name.text(), limit, sink, call);
}

Result<std::optional<ObjectInfo>> S3Store::stat(ObjectName const& name, CallLimits const& call)
{
    auto const head = bucket_.head(name.text(), call);
    if (!head) return tl::unexpected(head.error());
    if (!*head) return std::nullopt;
    return ObjectInfo{(*head)->size, (*head)->modified};
}

Result<void> S3Store::remove(ObjectName const& name, CallLimits const& call)
{
    return bucket_.remove(name.text(), call);
}

Result<void> S3Store::list(ObjectFolder const& folder, std::string const& after, Visit const& visit,
                           CallLimits const& call)
{
    auto const prefix = folder.text() + "/";
    auto page = bucket_.list_after(prefix, after, call);
    for (; page; page = bucket_.list(prefix, page->next, call)) {
        for (auto const& object : page->objects)
            if (!visit({name_of(object.key), {object.size, object.modified}})) return {};
        if (page->next.empty()) return {};
    }
    return tl::unexpected(page.error());
}

Result<std::vector<Leftover>> S3Store::leftovers(ObjectFolder const& folder, CallLimits const& call)
{
    std::vector<Leftover> found;
    auto const prefix = folder.text() + "/";
    auto page = bucket_.list_uploads(prefix, {}, call);
    for (; page; page = bucket_.list_uploads(prefix, *page, call)) {
        for (auto const& upload : page->uploads)
            found.push_back({name_of(upload.key), upload.id, upload.initiated});
        if (page->next_key.empty()) return found;
    }
    return tl::unexpected(page.error());
}

Result<void> S3Store::remove_leftover(Leftover const& leftover, CallLimits const& call)
{
    return bucket_.abort(leftover.name, leftover.upload, call);
}

Result<bool> S3Store::keeps_versions(CallLimits const& call)
{
    return bucket_.has_versioning(call);
}

// The server lists keys with the location's prefix.
std::string S3Store::name_of(std::string const& key) const
{
    auto const before = s3::full_key(bucket_.session().location(), "").size();
    return key.substr(std::min(before, key.size()));
}

}  // namespace curtail::store
