// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/records/names.hpp"
#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

namespace curtail::protocol::site {
namespace {

// Where a contribution of this member may be.
struct OwnRecord {
    enum State { none, unanswered, stored } state{none};
    std::string name{};  ///< of the commit or header, if `unanswered`
};

OwnRecord record_of(Parts const& p, OwnContribution const& own)
{
    // The next merge decides it.
    if (own.published && !own.damaged) return {OwnRecord::stored};
    // The store has answered about each commit that the site has read.
    auto const& sent = p.proposal.sent();
    if (sent && sent->commit > p.chain.tip()->number && own.header.seq <= sent->last)
        return {OwnRecord::unanswered, commit_name(sent->commit)};
    bool const creates = p.machine.phase() == Phase::publish_header && p.machine.asking() &&
                         &own == p.contributions.next_unpublished();
    // A damaged header that this process has stored again may be intact by now.
    if (!own.unanswered && !own.found && !own.published && !creates) return {};
    return {OwnRecord::unanswered, header_name(own.header.member, own.header.seq)};
}

std::string text(Tokens count) { return std::to_string(count.value) + " tokens"; }

Error error_about(Parts const& p, UnsavedWork const& work)
{
    Error error{ExitCode::unavailable, "cannot leave the run in time", {}, {}};
    std::string records;
    for (auto const& [name, tokens] : work.unanswered) records += ", " + name;
    auto const about = " about " + records.substr(std::min<std::size_t>(2, records.size()));
    auto const& why = p.failures.write_error;
    auto const reason = why.empty() ? "" : " (" + why + ")";
    if (work.lost == Tokens{}) {
        error.why = "no answer from the store" + about + " with the last " +
                    text(work.uncertain()) + reason;
        error.remedy =
            "check with `curtail-status` that the model includes them; otherwise their blocks are "
            "trained again";
        return error;
    }
    error.why = "the store accepted the last " + text(work.lost) +
                " neither as a commit nor as a contribution" + reason;
    error.remedy =
        "check that the store has space and answers; this work is lost, and its blocks are "
        "trained again";
    if (!work.unanswered.empty())
        error.why += ", and has not answered" + about + " with the " + text(work.uncertain()) +
                     " before them";
    return error;
}

}  // namespace

UnsavedWork unsaved_work(Parts const& p)
{
    UnsavedWork work;
    if (!p.member) return work;
    bool const is_member = p.chain.tip()->find(*p.member) != nullptr;
    for (auto const& own : p.contributions.undecided()) {
        auto const record = is_member ? record_of(p, own) : OwnRecord{};
        if (record.state == OwnRecord::none) work.lost += own.header.tokens;
        bool const waits = record.state == OwnRecord::unanswered && own.header.tokens > Tokens{};
        if (waits) work.unanswered[record.name] += own.header.tokens;
    }
    work.lost += p.training.since().count() * p.chain.run().params.block_tokens;
    return work;
}

void finish_and_report_loss(Parts& p)
{
    auto const work = unsaved_work(p);
    bool const is_saved = work.lost == Tokens{} && work.unanswered.empty();
    if (is_saved || p.removal == Removal::left) return finish(p);
    finish(p, error_about(p, work));
}

void report_loss(Parts& p, Note note, Tokens tokens)
{
    p.history.lose(tokens);
    p.machine.send(std::move(note));
}

void finish(Parts& p, std::optional<Error> error)
{
    auto const work = unsaved_work(p);
    if (p.member) {
        // When the next process starts, nobody else may know of the newest commit.
        if (p.removal != Removal::succeeded && !replaced(p)) write_status(p);
        for (auto const& [name, tokens] : work.unanswered)
            p.machine.send(unanswered_note(*p.member, name, tokens));
        if (work.lost > Tokens{}) report_loss(p, lost_note(*p.member, work.lost), work.lost);
        p.machine.send(left_note(*p.member, p.chain.tip()->number));
    }
    if (!error && !work.unanswered.empty()) error = error_about(p, work);
    if (!error && p.history.lost() > Tokens{})
        error = Error{ExitCode::unavailable, "this process has lost work",
                      std::to_string(p.history.lost().value) +
                          " tokens that it trained are not in the model; their blocks are trained "
                          "again",
                      "see the events `refused`, `removed` and `lost` for the reasons"};
    p.payloads.abandon(p.machine);
    p.machine.exit(std::move(error));
}

}  // namespace curtail::protocol::site
