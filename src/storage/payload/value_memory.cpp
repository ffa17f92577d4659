// SPDX-License-Identifier: Apache-2.0
#include "storage/payload/value_memory.hpp"

#include <algorithm>
#include <mutex>

#include "base/core/large_memory.hpp"

namespace curtail::payload {

struct ValueMemory::FreeBlock {
    std::size_t most;
    std::mutex mutex;
    std::vector<std::vector<float>> list;
};

ValueMemory::ValueMemory(std::size_t most_unused) : unused_(std::make_shared<FreeBlock>())
{
    unused_->most = most_unused;
    unused_->list.reserve(most_unused);
}

std::vector<float> ValueMemory::take(std::size_t size) const
{
    std::lock_guard const lock(unused_->mutex);
    auto& list = unused_->list;
    auto const found = std::find_if(list.begin(), list.end(),
                                    [&](auto const& values) { return values.capacity() >= size; });
    std::vector<float> values;
    if (found == list.end()) {
        reserve_large(values, size);
        return values;
    }
    values = std::move(*found);
    list.erase(found);
    return values;
}

Values ValueMemory::share(std::vector<float> values) const
{
    // The vector returns to the memory as a whole, and only its empty shell is deleted.
    auto const give_back = [unused = unused_](std::vector<float>* shared) {
        std::unique_ptr<std::vector<float>> const owner(shared);
        std::lock_guard const lock(unused->mutex);
        if (shared->capacity() == 0 || unused->list.size() >= unused->most) return;
        let_kernel_reclaim(std::as_writable_bytes(std::span(*shared)));
        unused->list.push_back(std::move(*shared));
    };
    return {new std::vector<float>(std::move(values)), give_back};
}

}  // namespace curtail::payload
