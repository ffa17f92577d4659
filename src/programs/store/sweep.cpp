// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/sweep.hpp"

#include <fmt/format.h>

#include "base/core/clock.hpp"
#include "commands.hpp"
#include "operate/store_time.hpp"

namespace curtail::programs::store_program {
namespace {

upkeep::SweepRules rules_of(Arguments const& arguments)
{
    auto const hours =
        std::chrono::duration<double, std::ratio<3600>>(arguments.number("older-than"));
    return {std::chrono::ceil<Millis>(hours)};
}

json::Object decision_json(chain::SweepDecision const& decision)
{
    json::Object object{{"name", name_text(decision.object.name)},
                        {"bytes", decision.object.size.value},
                        {"modified", format_time(decision.object.modified)},
                        {"reason", std::string(upkeep::to_word(decision.reason))}};
    if (!decision.upload.empty()) object.set("upload", name_text(decision.upload));
    return object;
}

json::Object plan_json(NamedStore const& named, chain::SweepPlan const& plan)
{
    json::Array deletes;
    json::Array keeps;
    for (auto const& decision : plan.decisions)
        (upkeep::is_deletion(decision.reason) ? deletes : keeps).push_back(decision_json(decision));
    return {{"run", named.run.value},        {"store", named.address.url},
            {"commit", plan.newest.value},   {"round", plan.round.value},
            {"deletes", std::move(deletes)}, {"keeps", std::move(keeps)}};
}

void print_objects(chain::SweepPlan const& plan, bool all, Console const& console)
{
    for (auto const& decision : plan.decisions) {
        bool const deletes = upkeep::is_deletion(decision.reason);
        if (!deletes && !all) continue;
        console.print(
            fmt::format("{:<6} {:>10} {:>9}  {}: {}\n", deletes ? "delete" : "keep",
                        size_text(decision.object.size),
                        format_duration(std::max(Millis{0}, plan.now - decision.object.modified)),
                        name_text(decision.object.name), upkeep::to_text(decision.reason)));
    }
}

void print_groups(chain::SweepPlan const& plan, Console const& console)
{
    struct Group {
        std::int64_t objects{};
        Bytes size;
    };
    std::map<upkeep::SweepReason, Group> groups;
    for (auto const& decision : plan.decisions) {
        auto& group = groups[decision.reason];
        ++group.objects;
        group.size += decision.object.size;
    }
    for (auto const& [reason, group] : groups)
        console.print(fmt::format("{:<6} {:>6} object{} {:>10}  {}: {}\n",
                                  upkeep::is_deletion(reason) ? "delete" : "keep", group.objects,
                                  group.objects == 1 ? " " : "s", size_text(group.size),
                                  upkeep::to_word(reason), upkeep::to_text(reason)));
}

Result<void> gc(Arguments const& arguments, Console const& console)
{
    if (!arguments.flag("dry-run"))
        return fail(ExitCode::usage, "curtail-store gc", "only shows what may be deleted",
                    "add --dry-run; to delete it, use `curtail-store sweep`");
    auto const named = open_run(arguments.text("STORE"), arguments);
    if (!named) return tl::unexpected(named.error());
    CachedRun const run(*named, arguments, console);
    // Reading the store's clock would write to the store.
    auto const plan = chain::plan_sweep(run.objects, SystemClock{}.now(), rules_of(arguments));
    if (!plan) return tl::unexpected(plan.error());
    if (console.json) {
        console.print_json(plan_json(*named, *plan));
        return {};
    }
    console.print(fmt::format("run {} in {}: commit {}, round {}\n", named->run.value,
                              named->address.url, plan->newest.value, plan->round.value));
    print_objects(*plan, arguments.flag("long"), console);
    print_groups(*plan, console);
    return {};
}

std::int64_t deletions_in(chain::SweepPlan const& plan)
{
    return std::ranges::count_if(plan.decisions, upkeep::is_deletion,
                                 &chain::SweepDecision::reason);
}

void print_result(NamedStore const& named, chain::SweepPlan const& plan,
                  chain::SweepResult const& result, Console const& console)
{
    if (console.json) {
        auto document = plan_json(named, plan);
        document.set("deleted", result.deleted)
            .set("freed_bytes", result.freed.value)
            .set("failed", std::ssize(result.errors));
        return console.print_json(document);
    }
    console.print(fmt::format("run {} in {}: deleted {} of {} objects, {}\n", named.run.value,
                              named.address.url, result.deleted, deletions_in(plan),
                              size_text(result.freed)));
}

Result<void> check_run(chain::RunObjects const& objects)
{
    auto const run = objects.spec();
    if (!run) return tl::unexpected(run.error());
    if (!*run)
        return fail(ExitCode::no_input, "cannot sweep run " + objects.run().value,
                    "the store has no run.json of it", "check the name of the run and the store");
    return {};
}

Result<void> sweep(Arguments const& arguments, Console const& console)
{
    auto const named = open_run(arguments.text("STORE"), arguments);
    if (!named) return tl::unexpected(named.error());
    if (named->foreign) return tl::unexpected(*named->foreign);
    CachedRun run(*named, arguments, console);
    // A store that has no such run must not get an object of it.
    if (auto good = check_run(run.objects); !good) return good;
    auto const time = operate::read_store_time(*named->store, named->run);
    if (!time) return tl::unexpected(time.error());
    auto const plan = chain::plan_sweep(run.objects, time->time, rules_of(arguments));
    if (!plan) return tl::unexpected(plan.error());
    auto const total = deletions_in(*plan);
    auto const result = chain::carry_out(run.objects, *plan, [&](std::int64_t done) {
        run.stages.update("sweeping", "objects", done, total);
    });
    print_result(*named, *plan, result, console);
    for (auto const& error : result.errors) console.log.error(error.message());
    if (result.errors.empty()) return {};
    return tl::unexpected(result.errors.front().with_context(
        fmt::format("cannot delete {} objects", result.errors.size())));
}

std::vector<Option> options(std::vector<Option> own)
{
    own.push_back(number_option("older-than", "HOURS",
                                "Age, by the store's clock, of what may be deleted; at least 1",
                                {1, 1e6}, "24"));
    own.push_back(cache_option());
    return with_access_options(std::move(own));
}

}  // namespace

Command gc_command()
{
    return {"gc",
            "Show which payloads of a run may be deleted and why; delete nothing",
            options({flag_option("dry-run", "Delete nothing; required"),
                     flag_option("long", "Name also what is kept, and why")}),
            {store_positional()},
            gc,
            true,
            "curtail-store gc inputs/runs/demo.json --dry-run"};
}

Command sweep_command()
{
    return {"sweep",
            "Delete payloads that a run no longer needs, and what killed writers left",
            options({}),
            {store_positional()},
            sweep,
            true,
            "curtail-store sweep inputs/runs/demo.json"};
}

}  // namespace curtail::programs::store_program
