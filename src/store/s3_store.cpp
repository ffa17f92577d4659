// SPDX-License-Identifier: Apache-2.0
#include "store/s3_store.hpp"

namespace curtail::store {

Result<CreateOutcome> S3Store::create(ObjectName const& name, std::span<std::byte const> bytes,
                                      Call const& call)
{
    return bucket_.create(name.text(), bytes, call).map([](s3::Creation creation) {
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

Result<void> S3Store::put(ObjectName const& name, Pieces const& bytes, Call const& call)
{
    return bucket_.put(name.text(), bytes, call);
}

Result<bool> S3Store::read(ObjectName const& name, Bytes limit, Sink const& sink, Call const& call)
{
    return bucket_.get(name.text(), limit, sink, call);
}

Result<std::optional<ObjectInfo>> S3Store::stat(ObjectName const& name, Call const& call)
{
    auto const head = bucket_.head(name.text(), call);
    if (!head) return tl::unexpected(head.error());
    if (!*head) return std::nullopt;
    return ObjectInfo{(*head)->size, (*head)->modified};
}

Result<void> S3Store::remove(ObjectName const& name, Call const& call)
{
    return bucket_.remove(name.text(), call);
}

}  // namespace curtail::store
