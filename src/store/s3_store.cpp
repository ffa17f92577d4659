// SPDX-License-Identifier: Apache-2.0
#include "store/s3_store.hpp"

namespace curtail::store {

Result<CreateOutcome> S3Store::create(ObjectName const& name, std::span<std::byte const> bytes)
{
    return bucket_.create(name.text(), bytes).map([](s3::Creation creation) {
        switch (creation) {
            case s3::Creation::created:
                return CreateOutcome::created;
            case s3::Creation::exists:
                return CreateOutcome::exists;
            case s3::Creation::unknown:
                break;
        }
        return CreateOutcome::unknown;
    });
}

Result<void> S3Store::put(ObjectName const& name, std::span<std::byte const> bytes)
{
    return bucket_.put(name.text(), bytes);
}

Result<bool> S3Store::read(ObjectName const& name, Bytes limit, Sink const& sink)
{
    return bucket_.get(name.text(), limit, sink);
}

Result<std::optional<ObjectInfo>> S3Store::stat(ObjectName const& name)
{
    auto const head = bucket_.head(name.text());
    if (!head) return tl::unexpected(head.error());
    if (!*head) return std::nullopt;
    return ObjectInfo{(*head)->size, (*head)->modified};
}

Result<void> S3Store::remove(ObjectName const& name) { return bucket_.remove(name.text()); }

}  // namespace curtail::store
