// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/fitness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/time.hpp"

namespace curtail::upkeep {
namespace {

using Level = Finding::Level;

Finding good(std::string text) { return {"", Level::good, std::move(text), "", ExitCode::ok}; }
Finding warning(std::string text, std::string remedy)
{
    return {"", Level::warning, std::move(text), std::move(remedy), ExitCode::ok};
}
Finding fault(std::string text, std::string remedy, ExitCode code = ExitCode::protocol)
{
    return {"", Level::fault, std::move(text), std::move(remedy), code};
}

constexpr char const* other_store =
    "use a store that creates an object only if it is absent (docs/store.md)";

Finding judge_race(CreateRace const& race)
{
    if (race.won_twice > 0)
        return fault(fmt::format("of {} names that {} writers created at a time, {} were created "
                                 "more than once",
                                 race.names, race.writers, race.won_twice),
                     other_store);
    if (race.altered > 0)
        return fault(fmt::format("{} of {} objects have the content of a writer whose create was "
                                 "refused",
                                 race.altered, race.names),
                     other_store);
    return good(
        fmt::format("of {} writers that create the same name at a time, one succeeds ({} "
                    "names)",
                    race.writers, race.names));
}

Finding judge_clock(ClockDifference const& clock)
{
    constexpr Millis tolerable = std::chrono::minutes(1);
    auto const apart = std::chrono::abs(clock.ahead);
    if (apart <= clock.precision)
        return good("the store's clock agrees with that of this machine to " +
                    format_duration(clock.precision));
    auto text =
        fmt::format("the store's clock is {} {} that of this machine", format_duration(apart),
                    clock.ahead > Millis{0} ? "ahead of" : "behind");
    if (apart <= tolerable) return good(std::move(text));
    return warning(std::move(text),
                   "synchronize both clocks (NTP); ages that programs show are wrong until then");
}

std::string rate_text(Bytes size, FractionalSeconds time)
{
    return fmt::format("{:.1f} MB/s",
                       static_cast<double>(size) * 1e-6 / std::max(1e-9, time.count()));
}

Finding judge_transfer(LargeTransfer const& transfer)
{
    if (!transfer.intact)
        return fault("an object that was read differs from what was written",
                     "check the disks of the store and the network", ExitCode::io);
    auto text =
        fmt::format("{:.0f} MB: up {}, down {}", static_cast<double>(transfer.size) * 1e-6,
                    rate_text(transfer.size, transfer.up), rate_text(transfer.size, transfer.down));
    auto const slowest = FractionalSeconds(ratio(transfer.size, slowest_per_second));
    if (std::max(transfer.up, transfer.down) <= slowest) return good(std::move(text));
    return warning(std::move(text),
                   "payloads may not arrive in time at less than 2 MiB/s: use a faster network or "
                   "store");
}

Finding judge_open_writes(OpenWrites const& writes)
{
    constexpr Millis old = std::chrono::hours(24);
    if (writes.count == 0) return good("no write has been left unfinished");
    auto text = fmt::format("{} unfinished write{}, the oldest {} old", writes.count,
                            writes.count == 1 ? "" : "s", format_duration(writes.oldest));
    if (writes.oldest < old) return good(std::move(text));
    return warning(std::move(text), "run `curtail-store sweep`");
}

template <class T, class Judge>
void add(std::vector<Finding>& findings, char const* check,
         Measurements::Measured<T> const& measured, Judge const& judge)
{
    if (!measured) return;
    auto finding = *measured ? judge(**measured)
                             : fault(measured->error().what + ": " + measured->error().why,
                                     measured->error().remedy, measured->error().code);
    finding.check = check;
    findings.push_back(std::move(finding));
}

}  // namespace

char const* to_text(Finding::Level level)
{
    static constexpr char const* words[] = {"good", "warning", "fault"};
    return words[static_cast<int>(level)];
}

std::vector<Finding> findings_of(Measurements const& measured)
{
    std::vector<Finding> findings;
    add<bool>(findings, "create", measured.second_create_refused, [](bool refused) {
        return refused ? good("the store refuses a second create of an object")
                       : fault("the store accepts a second create of an object", other_store);
    });
    add<CreateRace>(findings, "concurrent-create", measured.race, judge_race);
    add<bool>(findings, "versioning", measured.keeps_versions, [](bool keeps) {
        return keeps ? fault(
                           "the bucket has versioning, or had it once; some servers then ignore "
                           "If-None-Match",
                           "use another bucket, on which versioning was never enabled")
                     : good("the store keeps no earlier versions of objects");
    });
    add<bool>(findings, "missing", measured.missing_is_missing, [](bool missing) {
        return missing ? good("an object that does not exist is reported as missing")
                       : fault("an object that nobody has created exists", other_store);
    });
    add<bool>(findings, "listing", measured.listed, [](bool listed) {
        return listed ? good("a new object appears in a listing")
                      : warning("a new object does not appear in a listing",
                                "wait before a sweep or a copy: both use listings as a hint");
    });
    add<ClockDifference>(findings, "clock", measured.clock, judge_clock);
    add<LargeTransfer>(findings, "transfer", measured.transfer, judge_transfer);
    add<bool>(findings, "removal", measured.removed, [](bool removed) {
        return removed
                   ? good("a removed object is missing")
                   : warning(
                         "a removed object is still there",
                         "free space by other means; check the rights and the life cycle rules");
    });
    add<OpenWrites>(findings, "unfinished-writes", measured.open_writes, judge_open_writes);
    return findings;
}

Finding const* first_fault(std::vector<Finding> const& findings)
{
    auto const found = std::ranges::find(findings, Level::fault, &Finding::level);
    return found == findings.end() ? nullptr : &*found;
}

}  // namespace curtail::upkeep
