// SPDX-License-Identifier: Apache-2.0
#include "operate/amend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/text.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/newest.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"

namespace curtail::operate {
namespace {

tl::unexpected<Error> refused(chain::RunObjects const& objects, std::string why, std::string remedy,
                              ExitCode code = ExitCode::data)
{
    return fail(code, "cannot amend run " + objects.run().value, std::move(why), std::move(remedy));
}

// What the amendments in the store come to.
struct Proposed {
    protocol::Commit tip;   // the newest commit, with the terms after all amendments
    std::int64_t number{};  // of the last amendment; 0: none
    Digest sha256;          // of its bytes, or of run.json
    /// All changes, also of void amendments, and in which amendment they are.
    std::vector<std::pair<protocol::TermChange, std::int64_t>> changes;
};

// The changes that the run has taken in, as the terms of its commits show them.
Result<std::vector<std::pair<protocol::TermChange, std::int64_t>>> changes_in_chain(
    chain::RunObjects const& objects)
{
    auto const chain = chain::read_chain(objects, chain::Check::links);
    if (!chain) return tl::unexpected(chain.error());
    std::vector<std::pair<protocol::TermChange, std::int64_t>> all;
    protocol::Terms const* before = nullptr;
    for (auto const& commit : *chain) {
        if (before != nullptr && commit.amended)
            for (auto& change : protocol::changes(*before, commit.terms))
                all.emplace_back(std::move(change), commit.amended->number);
        before = &commit.terms;
    }
    return all;
}

// The amendments that the run has taken in. A store that was restored from a backup may lack them.
Result<void> read_taken_in(chain::RunObjects const& objects, Proposed& all)
{
    if (!all.tip.amended) return {};
    auto const& last = *all.tip.amended;
    for (std::int64_t number = 1; number <= last.number; ++number) {
        auto const name = protocol::amendment_name(number);
        auto const bytes = objects.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) {
            auto changes = changes_in_chain(objects);
            if (!changes) return tl::unexpected(changes.error());
            all.changes = std::move(*changes);
            break;
        }
        if (auto const amendment = protocol::decode_amendment(**bytes, name))
            for (auto const& change : amendment->changes) all.changes.emplace_back(change, number);
    }
    all.number = last.number;
    all.sha256 = last.sha256;
    return {};
}

Result<Proposed> read_proposed(chain::RunObjects const& objects, protocol::RunSpec const& run,
                               protocol::Commit tip)
{
    Proposed all{std::move(tip), 0, protocol::encode(run).sha256, {}};
    if (auto read = read_taken_in(objects, all); !read) return tl::unexpected(read.error());
    for (;;) {
        auto const number = all.number + 1;
        auto const name = protocol::amendment_name(number);
        auto const bytes = objects.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) return all;
        auto const amendment = protocol::decode_amendment(**bytes, name);
        bool const follows = amendment && amendment->previous == all.sha256;
        all.number = number;
        all.sha256 = sha256(**bytes);
        if (!amendment) continue;
        for (auto const& change : amendment->changes) all.changes.emplace_back(change, number);
        if (!follows) continue;
        if (auto terms = protocol::amended(run, all.tip, *amendment))
            all.tip.terms = std::move(*terms);
    }
}

bool names(std::string const& key, protocol::TermChange const& change)
{
    auto const term = protocol::file_key(change.term);
    return term == key || term.starts_with(key + ".");
}

// The last amendment of the term, if the term had the value of the run file before one; 0: it had
// not.
std::int64_t changed_by(Proposed const& proposed, protocol::TermChange const& change)
{
    std::int64_t by = 0;
    bool had = false;
    for (auto const& [earlier, number] : proposed.changes) {
        if (earlier.term != change.term) continue;
        by = number;
        had = had || earlier.from == change.to;
    }
    return had ? by : 0;
}

constexpr char const* drop_after = "params.drop_after_ms";

// What differs from the run file. A value that the file does not state, because it follows from
// others, is not compared: the terms in force may give those others.
std::vector<protocol::TermChange> stated_changes(AmendmentRequest const& request,
                                                 protocol::Terms const& now)
{
    auto all = protocol::changes(now, protocol::terms_of(request.wanted));
    if (!request.states_drop_after)
        std::erase_if(all, [](auto const& change) { return change.term == drop_after; });
    return all;
}

// How a `drop_after` that the run file does not state follows from the terms with `changes`. One
// that somebody has set by an amendment stays as long as it is valid.
std::optional<protocol::TermChange> following_drop_after(
    AmendmentRequest const& request, Proposed const& proposed,
    std::vector<protocol::TermChange> const& changes)
{
    if (request.states_drop_after) return std::nullopt;
    auto const& now = proposed.tip.terms.params;
    auto params = now;
    for (auto const& change : changes) {
        auto const* value = change.to.as_integer();
        if (change.term == "params.round_time_ms") params.round_time = Millis{*value};
        if (change.term == "params.checkpoint_interval_ms")
            params.checkpoint_interval = Millis{*value};
    }
    bool const is_set = now.drop_after != protocol::default_drop_after(now) &&
                        std::ranges::any_of(proposed.changes, [](auto const& earlier) {
                            return earlier.first.term == drop_after;
                        });
    bool const stays =
        request.only.empty() && is_set && now.drop_after >= protocol::shortest_drop_after(params);
    auto const follows = protocol::default_drop_after(params);
    if (stays || follows == now.drop_after) return std::nullopt;
    return protocol::TermChange{drop_after, now.drop_after.count(), follows.count()};
}

bool is_named(AmendmentRequest const& request, protocol::TermChange const& change)
{
    return std::ranges::any_of(request.only,
                               [&](std::string const& key) { return names(key, change); });
}

// Leaves out the changes that nobody wants.
Result<std::vector<protocol::TermChange>> wanted_changes(chain::RunObjects const& objects,
                                                         AmendmentRequest const& request,
                                                         Proposed const& proposed,
                                                         std::vector<std::string>& kept)
{
    std::set<std::string> unknown(request.only.begin(), request.only.end());
    std::vector<protocol::TermChange> wanted;
    auto const take = [&](protocol::TermChange change) {
        std::erase_if(unknown, [&](std::string const& key) { return names(key, change); });
        if (request.only.empty() || is_named(request, change)) wanted.push_back(std::move(change));
    };
    for (auto& change : stated_changes(request, proposed.tip.terms)) {
        auto const by = request.only.empty() ? changed_by(proposed, change) : 0;
        if (by == 0) take(std::move(change));
        else
            kept.push_back(fmt::format(
                "{0} stays as {1} has set it; to set the former value of the run file again, add "
                "--only {0}",
                protocol::file_key(change.term), protocol::amendment_name(by)));
    }
    if (auto follows = following_drop_after(request, proposed, wanted)) take(std::move(*follows));
    if (!unknown.empty())
        return refused(
            objects, printable(*unknown.begin()) + " is no term that differs from the run file",
            "name a key of the run file, such as rounds.gather_time_s or sites.D", ExitCode::usage);
    std::ranges::sort(wanted, {}, &protocol::TermChange::term);
    return wanted;
}

// A trainer with this run file would be refused.
std::optional<Error> incompatible(AmendmentRequest const& request, protocol::RunSpec const& run)
{
    auto ours = request.wanted;
    if (!request.knows_data) ours.manifest = run.manifest;
    ours.blocks_per_epoch = run.blocks_per_epoch;
    ours.tensors = run.tensors;
    auto error = protocol::difference(run, ours);
    if (!error) return std::nullopt;
    error->what = "cannot amend run " + run.run.value;
    error->remedy = "an amendment cannot change this: use the run's value, or `curtail-store fork`";
    return error;
}

// Returns the terms after `changes`, if the run can take them in.
Result<protocol::Terms> terms_after(chain::RunObjects const& objects, protocol::RunSpec const& run,
                                    protocol::Commit const& tip,
                                    std::vector<protocol::TermChange> const& changes)
{
    auto after = protocol::changed(tip.terms, changes);
    if (!after)
        return refused(objects, after.error(),
                       "change the values in the run file so that they fit; with --only, name each "
                       "of them");
    auto why = protocol::obstacle(run, tip, tip.terms, *after);
    if (!why) return std::move(*after);
    if (protocol::changes_falling_rates(run, tip, tip.terms, *after))
        return refused(objects, std::move(*why),
                       "continue the run with another budget with `curtail-store fork`",
                       ExitCode::config);
    return refused(objects, std::move(*why),
                   "change the budget in the run file, or use `curtail-store fork`");
}

// Prepares the amendment that follows `proposed`.
Result<PreparedAmendment> prepare_after(chain::RunObjects const& objects,
                                        AmendmentRequest const& request,
                                        protocol::RunSpec const& run, Proposed const& proposed,
                                        Time now)
{
    PreparedAmendment prepared;
    auto changes = wanted_changes(objects, request, proposed, prepared.kept);
    if (!changes) return tl::unexpected(changes.error());
    if (changes->empty() && !request.zero_momentum)
        return refused(objects,
                       prepared.kept.empty() ? "its terms already are those of the file"
                                             : prepared.kept.front(),
                       "change the sites, the rounds or the budget in the run file");
    prepared.amendment = {.run = run.run,
                          .number = proposed.number + 1,
                          .previous = proposed.sha256,
                          .base = proposed.tip.number,
                          .changes = std::move(*changes),
                          .zero_momentum = request.zero_momentum,
                          .reason = request.reason,
                          .time = now};
    if (auto encoded = protocol::encode_if_valid(prepared.amendment); !encoded)
        return refused(objects, encoded.error().why, "shorten the reason, or change fewer sites",
                       ExitCode::usage);
    auto const after = terms_after(objects, run, proposed.tip, prepared.amendment.changes);
    if (!after) return tl::unexpected(after.error());
    prepared.end = protocol::with_terms(run, *after).end();
    return prepared;
}

}  // namespace

Result<PreparedAmendment> prepare_amendment(chain::RunObjects const& objects,
                                            AmendmentRequest const& request, Time now)
{
    auto const run = objects.spec();
    if (!run) return tl::unexpected(run.error());
    auto tip = chain::search_end(objects, {1});
    if (!tip) return tl::unexpected(tip.error());
    if (!*run || !*tip)
        return refused(objects, "the store has no commit of it",
                       "check the name of the run and the store", ExitCode::no_input);
    if ((*tip)->commit.complete)
        return refused(objects, "the run is complete",
                       "start a new run from its model with `curtail-store fork`");
    if (auto error = incompatible(request, **run)) return tl::unexpected(std::move(*error));
    return read_proposed(objects, **run, std::move((*tip)->commit))
        .and_then([&](Proposed const& proposed) {
            return prepare_after(objects, request, **run, proposed, now);
        });
}

Result<void> create_amendment(chain::RunObjects const& objects,
                              protocol::Amendment const& amendment)
{
    auto const name = protocol::amendment_name(amendment.number);
    auto const object = chain::object_name(objects.run(), name);
    if (!object) return tl::unexpected(object.error());
    auto const encoded = protocol::encode(amendment);
    auto const outcome = objects.store().create(*object, store::bytes_of(encoded.bytes));
    if (!outcome) return tl::unexpected(outcome.error());
    if (*outcome == store::CreateOutcome::created) return {};
    // The reply to our own create may be lost.
    auto const bytes = objects.record(name);
    if (!bytes) return tl::unexpected(bytes.error());
    if (*bytes && **bytes == encoded.bytes) return {};
    return fail(ExitCode::temporary, "cannot create " + name,
                *bytes ? "somebody else has created it meanwhile" : "the store lost the request",
                "check the run's terms, then try again");
}

}  // namespace curtail::operate
