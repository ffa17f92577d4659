// SPDX-License-Identifier: Apache-2.0
#include "support/faulty_store.hpp"

#include <condition_variable>

namespace curtail::store {
namespace {

// Waits for `delay`, or until the call is over.
void wait(Millis delay, CallLimits const& call)
{
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, call.cancel, call.time_left(delay), [] { return false; });
}

void wait_for_end(CallLimits const& call)
{
    while (!call.is_over()) wait(Millis{1000}, call);
}

}  // namespace

bool FaultyStore::draw(double probability)
{
    bool const hit =
        probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
    injected_ += hit ? 1 : 0;
    return hit;
}

void FaultyStore::land_some_delayed()
{
    constexpr double lands_now = 0.2;
    for (std::size_t i = 0; i < delayed_.size();) {
        if (std::uniform_real_distribution<>(0, 1)(random_) >= lands_now) {
            ++i;
            continue;
        }
        (void)inner_.create(delayed_[i].name, delayed_[i].bytes);
        delayed_.erase(delayed_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

Result<void> FaultyStore::begin(Lock& lock, char const* act, std::string const& name, Effect effect,
                                CallLimits const& call)
{
    land_some_delayed();
    auto const what = std::string("cannot ") + act + " " + name;
    bool const answers = !draw(faults_.no_answer);
    if (!answers || draw(faults_.slow)) {
        auto const delay = faults_.delay;
        lock.unlock();
        if (answers) wait(delay, call);
        else wait_for_end(call);
        lock.lock();
    }
    if (!answers || draw(faults_.unavailable))
        return fail(ExitCode::temporary, what, "the store does not answer (injected)");
    if (effect == Effect::writes && draw(faults_.no_space))
        return fail(ExitCode::io, what, "the store is full (injected)");
    return {};
}

Result<CreateOutcome> FaultyStore::create(ObjectName const& name, std::span<std::byte const> bytes,
                                          CallLimits const& call)
{
    Lock lock(mutex_);
    if (auto ready = begin(lock, "create", name.text(), Effect::writes, call); !ready)
        return tl::unexpected(ready.error());
    if (draw(faults_.lost_request)) return CreateOutcome::unknown;
    if (draw(faults_.delayed_create)) {
        delayed_.push_back({name, Content(bytes.begin(), bytes.end())});
        return CreateOutcome::unknown;
    }
    if (draw(faults_.ignored_condition))
        return inner_.put(name, bytes, call).map([] { return CreateOutcome::created; });
    auto outcome = inner_.create(name, bytes, call);
    if (outcome && draw(faults_.lost_reply)) return CreateOutcome::unknown;
    return outcome;
}

Result<void> FaultyStore::put(ObjectName const& name, Pieces const& bytes, CallLimits const& call)
{
    Lock lock(mutex_);
    if (auto ready = begin(lock, "write", name.text(), Effect::writes, call); !ready) return ready;
    auto stored = inner_.put(name, bytes, call);
    if (stored && draw(faults_.lost_put_reply))
        return fail(ExitCode::temporary, "cannot write " + name.text(),
                    "the store's reply was lost (injected)");
    return stored;
}

void FaultyStore::damage(Content& content)
{
    auto const place = [&] {
        return std::uniform_int_distribution<std::size_t>(0, content.size() - 1)(random_);
    };
    if (!content.empty() && draw(faults_.short_read)) content.resize(place());
    if (!content.empty() && draw(faults_.corrupt_read))
        content[place()] ^= std::byte{1} << (random_() % 8);
}

Result<bool> FaultyStore::read(ObjectName const& name, Bytes limit, Sink const& sink,
                               CallLimits const& call)
{
    Content content;
    {
        Lock lock(mutex_);
        if (auto ready = begin(lock, "read", name.text(), Effect::reads, call); !ready)
            return tl::unexpected(ready.error());
        if (draw(faults_.stale_missing)) return false;
        auto whole = inner_.get(name, limit, call);
        if (!whole) return tl::unexpected(whole.error());
        if (!*whole) return false;
        content = std::move(**whole);
        damage(content);
    }
    sink(content, {static_cast<std::int64_t>(content.size())});
    return true;
}

Result<std::optional<ObjectInfo>> FaultyStore::stat(ObjectName const& name, CallLimits const& call)
{
    Lock lock(mutex_);
    if (auto ready = begin(lock, "inspect", name.text(), Effect::reads, call); !ready)
        return tl::unexpected(ready.error());
    if (draw(faults_.stale_missing)) return std::optional<ObjectInfo>{};
    return inner_.stat(name, call);
}

Result<void> FaultyStore::remove(ObjectName const& name, CallLimits const& call)
{
    Lock lock(mutex_);
    if (auto ready = begin(lock, "remove", name.text(), Effect::reads, call); !ready) return ready;
    return inner_.remove(name, call);
}

Result<void> FaultyStore::list(ObjectFolder const& folder, std::string const& after,
                               Visit const& visit, CallLimits const& call)
{
    std::vector<ListedObject> found;
    {
        Lock lock(mutex_);
        if (auto ready = begin(lock, "list", folder.text(), Effect::reads, call); !ready)
            return ready;
        auto listed = inner_.list(
            folder, after,
            [&](ListedObject const& object) {
                if (!draw(faults_.unlisted)) found.push_back(object);
                return true;
            },
            call);
        if (!listed) return listed;
    }
    for (auto const& object : found)
        if (!visit(object)) break;
    return {};
}

Result<std::vector<Leftover>> FaultyStore::leftovers(ObjectFolder const& folder,
                                                     CallLimits const& call)
{
    Lock lock(mutex_);
    if (auto ready = begin(lock, "list", folder.text(), Effect::reads, call); !ready)
        return tl::unexpected(ready.error());
    return inner_.leftovers(folder, call);
}

Result<void> FaultyStore::remove_leftover(Leftover const& leftover, CallLimits const& call)
{
    Lock lock(mutex_);
    if (auto ready = begin(lock, "remove", leftover.name, Effect::reads, call); !ready)
        return ready;
    return inner_.remove_leftover(leftover, call);
}

Result<bool> FaultyStore::keeps_versions(CallLimits const& call)
{
    Lock lock(mutex_);
    if (auto ready = begin(lock, "inspect", "the store", Effect::reads, call); !ready)
        return tl::unexpected(ready.error());
    return inner_.keeps_versions(call);
}

void FaultyStore::set_faults(Faults faults)
{
    std::lock_guard const guard(mutex_);
    faults_ = faults;
}

void FaultyStore::land_delayed()
{
    std::lock_guard const guard(mutex_);
    for (auto const& late : delayed_) (void)inner_.create(late.name, late.bytes);
    delayed_.clear();
}

int FaultyStore::injected() const
{
    std::lock_guard const guard(mutex_);
    return injected_;
}

}  // namespace curtail::store
