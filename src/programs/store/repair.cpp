// SPDX-License-Identifier: Apache-2.0
#include "operate/repair.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "commands.hpp"
#include "operate/repair_chain.hpp"
#include "protocol/records/names.hpp"
#include "run/config/named_site.hpp"
#include "run/config/run_spec.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs::store_program {
namespace {

using Outcome = operate::RepairedPart::Outcome;

json::Array to_json(std::vector<CommitNumber> const& numbers)
{
    return json::array_of(numbers, [](CommitNumber n) { return n.value; });
}

void print(operate::ChainRepair const& chain, Console const& console)
{
    auto const lines = [&](char const* word, std::vector<CommitNumber> const& numbers) {
        for (auto const number : numbers)
            console.print(fmt::format("{:<10} {}\n", word, protocol::commit_name(number)));
    };
    lines("copied", chain.restored);
    lines("lost", chain.lost);
    lines("foreign", chain.foreign);
}

void print(operate::ChainRepair const& chain, operate::RepairResult const& repaired,
           config::Run const& run, Console const& console)
{
    if (console.json) {
        json::Array parts;
        for (auto const& part : repaired.parts)
            parts.push_back(json::Object{{"name", part.part.name},
                                         {"bytes", part.part.bytes},
                                         {"outcome", std::string(to_word(part.outcome))}});
        return console.print_json(json::Object{{"run", run.run.value},
                                               {"commit", repaired.commit.value},
                                               {"copied_commits", to_json(chain.restored)},
                                               {"removed", to_json(chain.foreign)},
                                               {"parts", std::move(parts)}});
    }
    print(chain, console);
    for (auto const& part : repaired.parts)
        console.print(fmt::format("{:<10} {}\n", to_word(part.outcome), part.part.name));
}

// Asks on a terminal. Elsewhere, only the option agrees.
bool agrees(CommitNumber number, Arguments const& arguments)
{
    if (arguments.flag("remove-foreign")) return true;
    if (::isatty(STDIN_FILENO) == 0) return false;
    std::cerr << protocol::commit_name(number)
              << " is no commit of this run. Remove this object from the store? [y/N] ";
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

// Removes the foreign objects of which the user says so. Fails if the chain is not whole then.
Result<void> finish_chain(chain::RunObjects const& objects, operate::ChainRepair const& chain,
                          Arguments const& arguments, Console const& console)
{
    auto const failure = [&](Error error) {
        if (!console.json) print(chain, console);
        return tl::unexpected(std::move(error));
    };
    for (auto const number : chain.foreign) {
        if (!agrees(number, arguments))
            return failure({ExitCode::protocol, "cannot repair the chain",
                            protocol::commit_name(number) + " is no commit of this run",
                            "look at it with `curtail-store show`; `--remove-foreign` removes it"});
        if (auto removed = operate::remove_foreign(objects, number); !removed)
            return failure(removed.error());
    }
    if (chain.lost.empty()) return {};
    return failure(
        {ExitCode::temporary, "cannot repair the chain",
         protocol::commit_name(chain.lost.front()) + " is missing, and this site has no copy",
         "run this command at the other sites; without any copy, use `curtail-store "
         "fork` to continue from an older commit"});
}

// Empty: the run has no usable record. operate::repair() says so.
std::optional<std::int64_t> elements_in(std::optional<std::string> const& record)
{
    auto const spec = record ? protocol::decode_run(*record) : Result<protocol::RunSpec>{};
    return record && spec ? config::parameters_of(*spec) : std::nullopt;
}

Result<void> repair(Arguments const& arguments, Console const& console)
{
    auto const run = config::read_trusted_run(arguments.text("RUN_FILE"));
    if (!run) return tl::unexpected(run.error());
    auto const site = config::named_site(*run, arguments.text("site"));
    if (!site) return tl::unexpected(site.error());
    auto const store = store::open_store(run->store_for(**site));
    if (!store) return tl::unexpected(store.error());
    chain::RunObjects const objects(**store, run->run);
    auto const record = objects.record(protocol::run_name);
    if (!record) return tl::unexpected(record.error());
    Stages stages;
    stages.update("repairing", "runs", 0, 1);
    chain::KeptPayloads kept(run->site_folder((*site)->site) / "kept");
    chain::RecordCache copies({run->site_folder((*site)->site) / "kept", console.log, {}, true},
                              sha256(record->value_or("")), run->run);
    auto const chain = operate::repair_chain(objects, copies);
    if (!chain) return tl::unexpected(chain.error());
    if (auto whole = finish_chain(objects, *chain, arguments, console); !whole) return whole;
    auto const elements = elements_in(*record);
    auto const repaired = operate::repair(objects, kept, elements);
    if (!repaired) return tl::unexpected(repaired.error());
    print(*chain, *repaired, *run, console);
    if (repaired->error) return tl::unexpected(*repaired->error);
    for (auto const& part : repaired->parts)
        if (part.outcome == Outcome::lost)
            return fail(ExitCode::temporary, "cannot repair " + part.part.name,
                        "this site has no copy, and the merge cannot be computed once more",
                        "run this command at the other sites; without any copy, use "
                        "`curtail-store fork` to continue from an older commit");
    return {};
}

}  // namespace

Command repair_command()
{
    return {"repair",
            "Store lost commits and the newest model of a run again",
            {required(text_option("site", "SITE", "The site whose copies to use")),
             flag_option("remove-foreign",
                         "Do not ask before removing an object that has the name of a commit and "
                         "is none of this run")},
            {{"RUN_FILE", "The run file of this machine", true}},
            repair,
            true,
            "curtail-store repair inputs/mine/run.json --site A"};
}

}  // namespace curtail::programs::store_program
