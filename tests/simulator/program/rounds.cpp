// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <thread>

#include "commands.hpp"
#include "programs/frame/progress.hpp"
#include "simulator/campaign.hpp"

namespace curtail::programs::sim_program {
namespace {

using protocol::simulator::Campaign;
using protocol::simulator::Failure;
using protocol::simulator::Outcome;

std::optional<std::uint64_t> number_of(std::string_view text)
{
    std::uint64_t value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const whole = error == std::errc{} && end == text.data() + text.size();
    constexpr std::uint64_t limit = 1'000'000'000'000;
    return whole && value <= limit ? std::optional(value) : std::nullopt;
}

// Reads `A-B`, or `A` for one seed.
Result<void> read_seeds(std::string const& text, Campaign& campaign)
{
    auto const dash = text.find('-');
    auto const first = number_of(std::string_view(text).substr(0, dash));
    auto const last =
        dash == std::string::npos ? first : number_of(std::string_view(text).substr(dash + 1));
    if (!first || !last || *last < *first)
        return fail(ExitCode::usage, "cannot read --seeds " + text,
                    "it must be A-B with 0 <= A <= B <= 10^12", "for example --seeds 0-99");
    campaign.first = *first;
    campaign.last = *last;
    return {};
}

std::string replay_of(Failure const& failure, Campaign const& campaign)
{
    return fmt::format("curtail-sim rounds --seeds {0}-{0} --steps {1}", failure.seed,
                       campaign.steps);
}

json::Object failure_json(Failure const& failure, Campaign const& campaign)
{
    json::Array trace;
    for (auto const& line : failure.trace) trace.emplace_back(line);
    return {{"seed", failure.seed},     {"run", failure.run},
            {"steps", failure.steps},   {"invariant", to_text(failure.invariant)},
            {"message", failure.text},  {"replay", replay_of(failure, campaign)},
            {"trace", std::move(trace)}};
}

json::Object outcome_json(Campaign const& campaign, Outcome const& outcome, double seconds)
{
    auto const& amount = outcome.amount;
    json::Object states;
    for (auto const& [state, n] : amount.states) states.set(to_text(state), n);
    json::Array failures;
    for (auto const& failure : outcome.failures)
        failures.push_back(failure_json(failure, campaign));
    return {{"first_seed", campaign.first},
            {"last_seed", campaign.last},
            {"threads", campaign.threads},
            {"runs", amount.runs},
            {"steps", amount.steps},
            {"events", amount.events},
            {"commits", amount.commits},
            {"seconds", seconds},
            {"steps_per_s", static_cast<double>(amount.steps) / seconds},
            {"inputs_by_state", std::move(states)},
            {"failures", std::move(failures)}};
}

void print_failure(Failure const& failure, Campaign const& campaign, Console const& console)
{
    for (auto const& line : failure.trace) console.print("  " + line + "\n");
    console.print(fmt::format("seed {} broke the invariant `{}` after {} steps, in its run {}:\n",
                              failure.seed, to_text(failure.invariant), failure.steps,
                              failure.run));
    console.print("  " + failure.text + "\n");
    console.print("  replay: " + replay_of(failure, campaign) + "\n");
}

void print_outcome(Campaign const& campaign, Outcome const& outcome, double seconds,
                   Console const& console)
{
    for (auto const& failure : outcome.failures) print_failure(failure, campaign, console);
    auto const& amount = outcome.amount;
    console.print(
        fmt::format("seeds {}-{}: {} runs, {} steps, {} events, {} commits in {:.1f} s: {:.0f} "
                    "steps/s in {} threads; {} seeds failed\n",
                    campaign.first, campaign.last, amount.runs, amount.steps, amount.events,
                    amount.commits, seconds, static_cast<double>(amount.steps) / seconds,
                    campaign.threads, outcome.failures.size()));
}

std::string row_text(protocol::simulator::Detection const& detection)
{
    auto const& row = protocol::simulator::row(detection.fault);
    if (!detection.failure)
        return fmt::format("| `{}` | {} | not found | {} | | {} |", row.name, row.what,
                           detection.steps, row.how);
    return fmt::format("| `{}` | {} | `{}` | {} | {} | {} |", row.name, row.what,
                       to_text(detection.failure->invariant), detection.steps,
                       detection.failure->seed, row.how);
}

json::Object detection_json(protocol::simulator::Detection const& detection)
{
    json::Object object{{"fault", protocol::simulator::row(detection.fault).name},
                        {"found", detection.failure.has_value()},
                        {"steps", detection.steps}};
    if (detection.failure)
        object.set("invariant", to_text(detection.failure->invariant))
            .set("message", detection.failure->text)
            .set("seed", detection.failure->seed);
    return object;
}

// Shows which invariant finds which deliberate fault.
Result<void> find_faults(Campaign const& campaign, Console const& console)
{
    constexpr std::int64_t limit = 2'000'000;
    json::Array list;
    int missed = 0;
    if (!console.json)
        console.print(
            "| fault | the site | invariant | steps | seed | changed "
            "|\n|---|---|---|---|---|---|\n");
    ProgressLine line("looking for faults", "faults");
    for (int i = 0; i < protocol::simulator::fault_count; ++i) {
        auto const fault = static_cast<protocol::simulator::Fault>(i);
        line.update(i, protocol::simulator::fault_count);
        auto const detection = protocol::simulator::detect(fault, campaign.first, limit);
        missed += detection.failure ? 0 : 1;
        if (console.json) list.push_back(detection_json(detection));
        else console.print(row_text(detection) + "\n");
    }
    if (console.json) console.print_json(json::Object{{"faults", std::move(list)}});
    if (missed == 0) return {};
    return fail(ExitCode::protocol, "the simulation missed a deliberate fault",
                fmt::format("{} faults broke no invariant in {} steps", missed, limit),
                "improve the simulator's faults or its invariants");
}

Result<Campaign> campaign_of(Arguments const& arguments)
{
    Campaign campaign;
    if (auto read = read_seeds(arguments.text("seeds"), campaign); !read)
        return tl::unexpected(read.error());
    campaign.steps = arguments.integer("steps");
    campaign.threads = static_cast<unsigned>(arguments.integer("threads"));
    if (campaign.threads == 0) campaign.threads = std::max(1U, std::thread::hardware_concurrency());
    auto const seeds = campaign.last - campaign.first + 1;
    if (seeds < campaign.threads) campaign.threads = static_cast<unsigned>(seeds);
    campaign.log_folder = arguments.text("log");
    return campaign;
}

Result<void> simulate(Arguments const& arguments, Console const& console)
{
    auto const campaign = campaign_of(arguments);
    if (!campaign) return tl::unexpected(campaign.error());
    if (arguments.flag("faults")) return find_faults(*campaign, console);
    ProgressLine line("simulating", "seeds");
    auto const seeds = static_cast<double>(campaign->last - campaign->first + 1);
    auto const began = std::chrono::steady_clock::now();
    auto const outcome = run_campaign(*campaign, [&](std::int64_t finished) {
        line.update(static_cast<double>(finished), seeds);
    });
    if (!outcome) return tl::unexpected(outcome.error());
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    if (console.json) console.print_json(outcome_json(*campaign, *outcome, took.count()));
    else print_outcome(*campaign, *outcome, took.count(), console);
    if (outcome->failures.empty()) return {};
    return fail(ExitCode::protocol, "the simulation broke an invariant",
                fmt::format("{} of {:.0f} seeds failed", outcome->failures.size(), seeds),
                "replay a seed alone; --log FOLDER writes every input and output");
}

std::vector<Option> options()
{
    return {text_option("seeds", "A-B", "Seeds to run, both included", "0-99"),
            integer_option("steps", "N",
                           "Steps per seed, at least: operations on the store and events of "
                           "trainers. A seed simulates whole runs until then",
                           {1, 1e12}, "2000"),
            integer_option("threads", "N", "Seeds that run at the same time; 0: one per core",
                           {0, 1024}, "0"),
            flag_option("faults",
                        "Instead, give all sites one deliberate fault after the other, and print "
                        "which invariant finds it and after how many steps. Begins with seed A"),
            text_option("log", "FOLDER",
                        "Write every input and output of every site to FOLDER/SEED.log")};
}

}  // namespace

Command rounds_command()
{
    return {"rounds",
            "Run the round protocol with faults, and check its invariants after every step",
            options(),
            {},
            simulate,
            true,
            "curtail-sim rounds --seeds 0-99 --steps 2000"};
}

}  // namespace curtail::programs::sim_program
