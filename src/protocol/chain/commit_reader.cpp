// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/commit_reader.hpp"

#include <atomic>
#include <mutex>

#include "protocol/chain/in_parallel.hpp"
#include "protocol/records/names.hpp"

namespace curtail::chain {
namespace {

constexpr std::size_t worth_a_thread = 64;

// One commit, or why there is none. Empty before both are known.
struct Slot {
    std::optional<LinkedCommit> commit{};
    std::optional<Error> error{};
    bool cached{false};  // the commit comes from the cache

    [[nodiscard]] bool is_empty() const { return !commit && !error; }
    [[nodiscard]] bool contradicts(Slot const& child) const
    {
        return commit && child.commit && child.commit->commit.parent != commit->sha256;
    }
};

class Reader {
  public:
    Reader(RunObjects const& objects, StoredCommit newest)
        : objects_(objects), slots_(static_cast<std::size_t>(newest.commit.number.value))
    {
        keep(slots_.size() - 1, std::move(newest.bytes), std::move(newest.commit));
    }

    void read_cache()
    {
        in_parallel(slots_.size() - 1, worth_a_thread, [&](std::size_t i) {
            auto const name = name_of(i);
            auto const bytes = objects_.cache()->newest(name);
            if (!bytes) return;
            auto commit = protocol::decode_commit(*bytes, name);
            if (!commit) return;
            slots_[i] = {LinkedCommit{std::move(*commit), sha256(*bytes)}, {}, true};
        });
    }

    // Drops cached commits of another chain: those that a commit after them does not name, and all
    // before. False: there were none.
    bool drop_contradicted()
    {
        for (std::size_t i = slots_.size() - 1; i-- > 0;) {
            if (!slots_[i].cached || !slots_[i].contradicts(slots_[i + 1])) continue;
            for (std::size_t older = 0; older <= i; ++older)
                if (slots_[older].cached) slots_[older] = {};
            return true;
        }
        return false;
    }

    void read_store()
    {
        std::vector<std::size_t> missing;
        for (std::size_t i = 0; i < slots_.size(); ++i)
            if (slots_[i].is_empty()) missing.push_back(i);
        std::atomic<std::int64_t> done{0};
        in_parallel(missing.size(), worth_a_thread, [&](std::size_t i) {
            if (!store_failed_) read(missing[i]);
            if (objects_.cache() != nullptr)
                objects_.cache()->report(++done, static_cast<std::int64_t>(missing.size()));
        });
    }

    // The commits, if each names its parent; otherwise the first error.
    Result<std::vector<LinkedCommit>> finish()
    {
        // After an error of the store, some commits were not read.
        for (auto const& slot : slots_)
            if (slot.error && !protocol::is_bad_record(slot.error->code))
                return tl::unexpected(*slot.error);
        if (!missing_.empty()) return gap_at(missing_, number_of(slots_.size() - 1));
        std::vector<LinkedCommit> chain;
        chain.reserve(slots_.size());
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (slots_[i].error) return tl::unexpected(*slots_[i].error);
            if (i > 0 && slots_[i].commit->commit.parent != chain.back().sha256)
                return fail(ExitCode::protocol, "the chain is broken at " + name_of(i),
                            "it does not follow from the commit before it", repair_remedy);
            chain.push_back(std::move(*slots_[i].commit));
        }
        return chain;
    }

  private:
    [[nodiscard]] static CommitNumber number_of(std::size_t i)
    {
        return {static_cast<std::int64_t>(i) + 1};
    }
    [[nodiscard]] static std::string name_of(std::size_t i)
    {
        return protocol::commit_name(number_of(i));
    }

    void keep(std::size_t i, std::string bytes, protocol::Commit commit)
    {
        slots_[i] = {LinkedCommit{std::move(commit), sha256(bytes)}, {}, false};
        if (objects_.cache() != nullptr) objects_.cache()->add(name_of(i), std::move(bytes));
    }

    void read(std::size_t i)
    {
        auto stored = read_commit(objects_, number_of(i));
        // "Missing" may be an old answer from the cache of a client, so this asks again.
        if (stored && !*stored) stored = read_commit(objects_, number_of(i));
        if (stored && *stored) return keep(i, std::move((*stored)->bytes), (*stored)->commit);
        std::lock_guard const guard(mutex_);
        auto const number = static_cast<std::int64_t>(i) + 1;
        auto const one = protocol::Ranges::between(number, number + 1);
        if (stored) missing_ += one;
        else if (!protocol::is_bad_record(stored.error().code)) store_failed_ = true;
        slots_[i] = {{}, stored ? gap_at(one, number_of(i + 1)).value() : stored.error(), false};
    }

    RunObjects const& objects_;
    std::vector<Slot> slots_;
    std::atomic<bool> store_failed_{false};
    std::mutex mutex_;
    protocol::Ranges missing_;  // numbers of commits that the store lacks
};

}  // namespace

Result<std::vector<LinkedCommit>> read_commits(RunObjects const& objects, StoredCommit newest,
                                               UseCache use)
{
    Reader reader(objects, std::move(newest));
    if (objects.cache() != nullptr && use == UseCache::yes) reader.read_cache();
    do reader.read_store();
    while (reader.drop_contradicted());
    if (objects.cache() != nullptr) objects.cache()->flush();
    return reader.finish();
}

}  // namespace curtail::chain
