// SPDX-License-Identifier: Apache-2.0
#include "operate/doctor.hpp"

#include <atomic>
#include <random>
#include <system_error>
#include <thread>

#include "base/core/clock.hpp"
#include "base/core/digest.hpp"
#include "base/core/exceptions.hpp"
#include "operate/store_time.hpp"

namespace curtail::operate {
namespace {

using store::CreateOutcome;
using store::ObjectName;

// Removes the probes that it names, whatever happens.
class Probes {
  public:
    Probes(store::ObjectStore& store, RunId const& run) : store_(store), run_(run) {}
    ~Probes()
    {
        for (auto const& name : names_) (void)store_.remove(name);
    }
    Probes(Probes const&) = delete;
    Probes& operator=(Probes const&) = delete;

    Result<ObjectName> next()
    {
        auto name = new_probe(run_);
        if (name) names_.push_back(*name);
        return name;
    }

  private:
    store::ObjectStore& store_;
    RunId const& run_;
    std::vector<ObjectName> names_;
};

constexpr Bytes small{1000};

Result<std::optional<std::string>> text_at(store::ObjectStore& store, ObjectName const& name)
{
    auto const content = store.get(name, small);
    if (!content) return tl::unexpected(content.error());
    if (!*content) return std::nullopt;
    return std::optional(std::string(store::text_of(**content)));
}

Result<bool> refuses_second_create(store::ObjectStore& store, Probes& probes)
{
    auto const name = probes.next();
    if (!name) return tl::unexpected(name.error());
    auto const first = store.create(*name, store::bytes_of("first"));
    if (!first) return tl::unexpected(first.error());
    if (*first == CreateOutcome::unknown)
        return fail(ExitCode::temporary, "cannot create " + name->text(),
                    "the store does not answer", "try again");
    auto const second = store.create(*name, store::bytes_of("second"));
    if (!second) return tl::unexpected(second.error());
    auto const content = text_at(store, *name);
    if (!content) return tl::unexpected(content.error());
    return *first == CreateOutcome::created && *second != CreateOutcome::created &&
           *content == "first";
}

// Lets all writers create one name at the same time. Returns the numbers of those that succeeded.
Result<std::vector<int>> race_for(store::ObjectStore& store, ObjectName const& name, int writers)
{
    std::vector<Result<CreateOutcome>> outcomes(static_cast<std::size_t>(writers),
                                                CreateOutcome::unknown);
    {
        std::atomic<bool> go{false};
        std::vector<std::jthread> threads;
        auto const write = [&](int w) {
            go.wait(false);
            auto& outcome = outcomes[static_cast<std::size_t>(w)];
            try {
                outcome = store.create(name, store::bytes_of(std::to_string(w)));
            } catch (std::exception const& thrown) {
                outcome = tl::unexpected(error_of(thrown));
            }
        };
        try {
            for (int w = 0; w < writers; ++w) threads.emplace_back(write, w);
        } catch (std::system_error const&) {
            // The system has no more threads: fewer writers.
        }
        go = true;
        go.notify_all();
    }
    std::vector<int> winners;
    for (int w = 0; w < writers; ++w) {
        auto const& outcome = outcomes[static_cast<std::size_t>(w)];
        if (!outcome) return tl::unexpected(outcome.error());
        if (*outcome == CreateOutcome::created) winners.push_back(w);
    }
    return winners;
}

Result<upkeep::CreateRace> race(store::ObjectStore& store, Probes& probes,
                                DoctorOptions const& options)
{
    upkeep::CreateRace race{options.names, options.writers, 0, 0};
    for (int n = 0; n < options.names; ++n) {
        auto const name = probes.next();
        if (!name) return tl::unexpected(name.error());
        auto const winners = race_for(store, *name, options.writers);
        if (!winners) return tl::unexpected(winners.error());
        auto const content = text_at(store, *name);
        if (!content) return tl::unexpected(content.error());
        if (winners->size() > 1) ++race.won_twice;
        else if (winners->size() == 1 && *content != std::to_string(winners->front()))
            ++race.altered;
    }
    return race;
}

Result<bool> missing_is_missing(store::ObjectStore& store, Probes& probes)
{
    auto const name = probes.next();
    if (!name) return tl::unexpected(name.error());
    return text_at(store, *name).map([](auto const& content) { return !content; });
}

Result<bool> is_listed(store::ObjectStore& store, Probes& probes)
{
    auto const name = probes.next();
    if (!name) return tl::unexpected(name.error());
    auto const created = store.create(*name, store::bytes_of("x"));
    if (!created) return tl::unexpected(created.error());
    auto const folder = store::ObjectFolder::parse(name->folder());
    if (!folder) return tl::unexpected(folder.error());
    bool found = false;
    auto const listed = store.list(*folder, "", [&](store::ListedObject const& object) {
        found = object.name == name->text();
        return !found;
    });
    if (!listed) return tl::unexpected(listed.error());
    return found;
}

store::Content random_content(Bytes size)
{
    store::Content content(static_cast<std::size_t>(size.value));
    std::mt19937_64 random(std::random_device{}());
    for (std::size_t i = 0; i < content.size(); i += 8) {
        auto bits = random();
        for (std::size_t b = i; b < std::min(i + 8, content.size()); ++b, bits >>= 8)
            content[b] = static_cast<std::byte>(bits);
    }
    return content;
}

Result<upkeep::LargeTransfer> transfer(store::ObjectStore& store, Probes& probes, Bytes size)
{
    auto const name = probes.next();
    if (!name) return tl::unexpected(name.error());
    auto const content = random_content(size);
    auto const begin = monotonic_now();
    if (auto const put = store.put(*name, content); !put) return tl::unexpected(put.error());
    auto const stored = monotonic_now();
    Sha256 hash;
    auto const found = store.read(
        *name, size, [&](std::span<std::byte const> piece, Bytes) { hash.update(piece); });
    auto const end = monotonic_now();
    if (!found) return tl::unexpected(found.error());
    return upkeep::LargeTransfer{size, stored - begin, end - stored,
                                 *found && hash.finish() == sha256(content)};
}

Result<bool> is_removed(store::ObjectStore& store, Probes& probes)
{
    auto const name = probes.next();
    if (!name) return tl::unexpected(name.error());
    if (auto const put = store.put(*name, store::bytes_of("x")); !put)
        return tl::unexpected(put.error());
    if (auto const removed = store.remove(*name); !removed) return tl::unexpected(removed.error());
    return text_at(store, *name).map([](auto const& content) { return !content; });
}

Result<upkeep::OpenWrites> open_writes(store::ObjectStore& store)
{
    auto const folder = store::ObjectFolder::parse("runs");
    if (!folder) return tl::unexpected(folder.error());
    auto const leftovers = store.leftovers(*folder);
    if (!leftovers) return tl::unexpected(leftovers.error());
    auto const now = SystemClock{}.now();
    upkeep::OpenWrites writes{std::ssize(*leftovers), Millis{0}};
    for (auto const& leftover : *leftovers)
        if (leftover.modified < now)
            writes.oldest = std::max(writes.oldest, now - leftover.modified);
    return writes;
}

}  // namespace

upkeep::Measurements doctor(store::ObjectStore& store, RunId const& run,
                            DoctorOptions const& options,
                            std::function<void(char const* step)> const& progress)
{
    auto const step = [&](char const* name) {
        if (progress) progress(name);
    };
    upkeep::Measurements measured;
    Probes probes(store, run);
    step("creating an object twice");
    measured.second_create_refused = refuses_second_create(store, probes);
    if (!*measured.second_create_refused) return measured;
    step("creating objects by several writers");
    measured.race = race(store, probes, options);
    measured.keeps_versions = store.keeps_versions();
    measured.missing_is_missing = missing_is_missing(store, probes);
    step("listing");
    measured.listed = is_listed(store, probes);
    step("reading the clock");
    measured.clock = read_store_time(store, run).map([](StoreTime const& time) {
        return upkeep::ClockDifference{time.ahead(), time.precision()};
    });
    step("transferring an object");
    if (options.size.value > 0) measured.transfer = transfer(store, probes, options.size);
    measured.removed = is_removed(store, probes);
    step("listing unfinished writes");
    measured.open_writes = open_writes(store);
    return measured;
}

}  // namespace curtail::operate
