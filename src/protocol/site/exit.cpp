// SPDX-License-Identifier: Apache-2.0
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
    if (!own.unanswered && !own.published && !creates) return {};
    return {OwnRecord::unanswered, header_name(own.header.member, own.header.seq)};
}

std::string text(Tokens count) { return std::to_string(count.value) + " tokens"; }

Error error_about(Leftover const& left)
{
    Error error{ExitCode::unavailable, "cannot leave the run in time", {}, {}};
    if (left.lost == Tokens{}) {
        error.why = "no answer from the store about " + left.record + " with the last " +
                    text(left.unanswered);
        error.remedy =
            "check with `curtail-status` that the model includes them; otherwise their blocks are "
            "trained again";
        return error;
    }
    error.why = "the store accepted the last " + text(left.lost) +
                " neither as a commit nor as a contribution";
    error.remedy =
        "check that the store has space and answers; this work is lost, and its blocks are "
        "trained again";
    if (left.unanswered > Tokens{})
        error.why += ", and has not answered about " + left.record + " with the " +
                     text(left.unanswered) + " before them";
    return error;
}

}  // namespace

Leftover leftover(Parts const& p)
{
    Leftover left;
    if (!p.member) return left;
    bool const is_member = p.chain.tip()->find(*p.member) != nullptr;
    for (auto const& own : p.contributions.undecided()) {
        auto const record = is_member ? record_of(p, own) : OwnRecord{};
        if (record.state == OwnRecord::stored) continue;
        if (record.state == OwnRecord::unanswered) left.record = record.name;
        (record.state == OwnRecord::none ? left.lost : left.unanswered) += own.header.tokens;
    }
    left.lost += p.training.since().count() * p.chain.run().params.block_tokens;
    return left;
}

void finish_and_report_loss(Parts& p)
{
    auto const left = leftover(p);
    if (left.sum() == Tokens{} || p.removal == Removal::left) return finish(p);
    finish(p, error_about(left));
}

void report_loss(Parts& p, Note note, Tokens tokens)
{
    p.history.lose(tokens);
    p.machine.send(std::move(note));
}

void finish(Parts& p, std::optional<Error> error)
{
    auto const left = leftover(p);
    if (p.member) {
        // When the next process starts, nobody else may know of the newest commit.
        if (p.removal != Removal::succeeded && !replaced(p)) write_status(p);
        if (left.unanswered > Tokens{})
            p.machine.send(unanswered_note(*p.member, left.record, left.unanswered));
        if (left.lost > Tokens{}) report_loss(p, lost_note(*p.member, left.lost), left.lost);
        p.machine.send(left_note(*p.member, p.chain.tip()->number));
    }
    if (!error && left.unanswered > Tokens{}) error = error_about(left);
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
