// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace curtail::test {

/// Limits the memory of the tensors that the process creates on the CPU during the object's life.
/// Creating one more throws c10::OutOfMemoryError. Tensors from before do not count.
class MemoryLimit final : public c10::Allocator {
  public:
    explicit MemoryLimit(std::int64_t bytes) : limit_(bytes)
    {
        c10::SetCPUAllocator(this, priority);
    }
    ~MemoryLimit() override { c10::SetCPUAllocator(before_, priority); }
    MemoryLimit(MemoryLimit const&) = delete;
    MemoryLimit& operator=(MemoryLimit const&) = delete;

    c10::DataPtr allocate(std::size_t bytes) override
    {
        auto const size = static_cast<std::int64_t>(bytes);
        if (*used_ + size > limit_)
            throw c10::OutOfMemoryError({"allocate", __FILE__, __LINE__}, "out of memory");
        auto inner = before_->allocate(bytes);
        auto* const data = inner.get();
        auto const device = inner.device();
        *used_ += size;
        auto* const block = new Block{std::move(inner), size, used_};
        return {data, block, [](void* context) { delete static_cast<Block*>(context); }, device};
    }
    void copy_data(void* to, void const* from, std::size_t bytes) const override
    {
        default_copy_data(to, from, bytes);
    }

  private:
    static constexpr std::uint8_t priority = 100;
    using Count = std::shared_ptr<std::atomic<std::int64_t>>;
    // A tensor may outlive the limit.
    struct Block {
        c10::DataPtr inner;
        std::int64_t size;
        Count used;
        ~Block() { *used -= size; }
    };
    std::int64_t limit_;
    Count used_{std::make_shared<std::atomic<std::int64_t>>(0)};
    c10::Allocator* before_{c10::GetCPUAllocator()};
};

}  // namespace curtail::test
