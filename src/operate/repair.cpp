// SPDX-License-Identifier: Apache-2.0
#include "operate/repair.hpp"

#include <algorithm>
#include <array>

#include "protocol/chain/newest.hpp"
#include "protocol/chain/recompute.hpp"

namespace curtail::operate {
namespace {

using protocol::Commit;
using protocol::PartRef;
using Outcome = RepairedPart::Outcome;

Result<bool> is_good(chain::RunObjects const& objects, PartRef const& part)
{
    auto const read = objects.payload(
        part, [] {}, [](std::span<std::byte const>) {});
    if (read) return true;
    if (read.error().cause == store::ReadFailure::Cause::unavailable)
        return tl::unexpected(read.error().error);
    return false;
}

// False: these are not the bytes of `part`.
Result<bool> put_again(chain::RunObjects const& objects, PartRef const& part, Pieces const& bytes)
{
    bool const same =
        static_cast<std::int64_t>(bytes.size()) == part.bytes && sha256_of(bytes) == part.sha256;
    if (!same) return false;
    auto const name = chain::object_name(objects.run(), part.name);
    if (!name) return tl::unexpected(name.error());
    if (auto stored = objects.store().put(*name, bytes); !stored)
        return tl::unexpected(stored.error());
    return true;
}

// The bytes of the tip's payloads, computed once more. A damaged input is no error of the store.
Result<chain::RecomputedPayloads> recomputed_payloads(chain::RunObjects const& objects,
                                                      protocol::RunSpec const& run,
                                                      Commit const& tip, std::int64_t elements)
{
    auto const number = tip.kind == Commit::Kind::roster ? tip.recent.back().number : tip.number;
    if (number.value <= 1) return chain::RecomputedPayloads{};
    auto const made = objects.commit(number);
    if (!made) return tl::unexpected(made.error());
    auto const parent = objects.commit({number.value - 1});
    if (!parent) return tl::unexpected(parent.error());
    bool const merges = *made && *parent && (*made)->kind == Commit::Kind::merge;
    if (!merges) return chain::RecomputedPayloads{};
    auto payloads = chain::recompute_payloads(objects, run, elements, **parent, **made);
    if (!payloads && !protocol::is_bad_record(payloads.error().code))
        return tl::unexpected(payloads.error());
    return payloads && *payloads ? std::move(**payloads) : chain::RecomputedPayloads{};
}

void note(RepairResult& repaired, Error const& error)
{
    if (!repaired.error) repaired.error = error;
}

// Reads the part. If it is bad, stores the site's copy, if there is one.
void examine(chain::RunObjects const& objects, chain::KeptPayloads& kept, PartRef const& ref,
             RepairResult& repaired)
{
    auto& part = repaired.parts.emplace_back(RepairedPart{ref, Outcome::unread});
    auto const good = is_good(objects, ref);
    if (!good) return note(repaired, good.error());
    part.outcome = *good ? Outcome::intact : Outcome::lost;
    if (*good) return;
    auto const bytes = kept.find(ref);
    if (!bytes) return;
    auto const stored = put_again(objects, ref, std::string_view(*bytes));
    if (!stored) note(repaired, stored.error());
    else if (*stored) part.outcome = Outcome::copied;
}

void recompute(chain::RunObjects const& objects, protocol::RunSpec const& run, Commit const& tip,
               std::int64_t elements, RepairResult& repaired)
{
    auto const payloads = recomputed_payloads(objects, run, tip, elements);
    if (!payloads) return note(repaired, payloads.error());
    for (auto& part : repaired.parts) {
        if (part.outcome != Outcome::lost) continue;
        for (auto const* payload : {&payloads->weights, &payloads->momentum}) {
            auto const stored = put_again(objects, part.part, payload->pieces());
            if (!stored) note(repaired, stored.error());
            else if (*stored) part.outcome = Outcome::recomputed;
        }
    }
}

}  // namespace

std::string_view to_word(Outcome outcome)
{
    static constexpr std::array<std::string_view, 5> words{"intact", "copied", "recomputed", "lost",
                                                           "unread"};
    return words.at(static_cast<std::size_t>(outcome));
}

Result<RepairResult> repair(chain::RunObjects const& objects, chain::KeptPayloads& kept,
                            std::optional<std::int64_t> elements)
{
    auto const run = objects.spec();
    if (!run) return tl::unexpected(run.error());
    auto const tip = chain::search_end(objects, {0});
    if (!tip) return tl::unexpected(tip.error());
    if (!*run || !*tip)
        return fail(ExitCode::no_input, "cannot repair run " + objects.run().value,
                    "the store has no such run", "check the name of the run and the store");
    auto const& commit = (*tip)->commit;
    RepairResult repaired{commit.number, {}};
    for (auto const& ref : commit.payloads()) examine(objects, kept, ref, repaired);
    bool const lost = std::ranges::count(repaired.parts, Outcome::lost, &RepairedPart::outcome) > 0;
    if (lost && elements) recompute(objects, **run, commit, *elements, repaired);
    return repaired;
}

}  // namespace curtail::operate
