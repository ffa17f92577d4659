// SPDX-License-Identifier: Apache-2.0
#include "operate/amend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/chain/chain.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"

namespace curtail::operate {
namespace {

tl::unexpected<Error> refused(chain::RunObjects const& objects, std::string why, std::string remedy,
                              ExitCode code = ExitCode::data)
{
    return fail(code, "cannot amend run " + objects.run().value, std::move(why), std::move(remedy));
}

// The end of the list of amendments in the store.
struct Last {
    std::int64_t number{};  // 0: none
    Digest sha256;          // of its bytes, or of run.json
    std::optional<protocol::Terms> terms;
};

Result<Last> last_amendment(chain::RunObjects const& objects, protocol::Commit const& tip,
                            Digest const& run_sha256)
{
    Last last{0, run_sha256, tip.terms};
    if (tip.amended) last = {tip.amended->number, tip.amended->sha256, tip.terms};
    for (;;) {
        auto const name = protocol::amendment_name(last.number + 1);
        auto const bytes = objects.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        if (!*bytes) return last;
        auto const pending = protocol::decode_amendment(**bytes, name);
        last = {last.number + 1, sha256(**bytes),
                pending ? std::optional(pending->terms) : last.terms};
    }
}

std::vector<std::string> site_changes(protocol::Terms const& old, protocol::Terms const& ours)
{
    std::vector<std::string> changes;
    auto const has = [](protocol::Terms const& terms, SiteId const& site) {
        return std::ranges::count(terms.sites, site) > 0;
    };
    for (auto const& site : ours.sites)
        if (!has(old, site)) changes.push_back("site " + site.value + " may enter");
    for (auto const& site : old.sites)
        if (!has(ours, site)) changes.push_back("site " + site.value + " is retired");
    return changes;
}

}  // namespace

Result<PreparedAmendment> prepare_amendment(chain::RunObjects const& objects,
                                            AmendmentRequest const& request, Time now)
{
    auto const record = objects.record(protocol::run_name);
    if (!record) return tl::unexpected(record.error());
    auto const tip = chain::newest_commit(objects);
    if (!tip) return tl::unexpected(tip.error());
    if (!*record || !*tip)
        return refused(objects, "the store has no commit of it",
                       "check the name of the run and the store", ExitCode::no_input);
    auto const run = protocol::decode_run(**record);
    if (!run) return tl::unexpected(run.error());
    if ((*tip)->complete)
        return refused(objects, "the run is complete",
                       "start a new run from its model with `curtail-store fork`");
    auto const last = last_amendment(objects, **tip, sha256(**record));
    if (!last) return tl::unexpected(last.error());
    PreparedAmendment prepared;
    prepared.amendment = {.run = run->run,
                          .number = last->number + 1,
                          .previous = last->sha256,
                          .terms = request.terms,
                          .zero_momentum = request.zero_momentum,
                          .reason = request.reason,
                          .time = now};
    prepared.changes = protocol::differences(*last->terms, request.terms);
    for (auto& text : site_changes(*last->terms, request.terms))
        prepared.changes.push_back(std::move(text));
    if (request.zero_momentum) prepared.changes.emplace_back("the momentum is reset");
    if (prepared.changes.empty())
        return refused(objects, "its terms already are those of the file",
                       "change the sites, the rounds or the budget in the run file");
    if (auto const why = protocol::obstacle(*run, **tip, prepared.amendment))
        return refused(objects, *why, "change the run file");
    return prepared;
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
