// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "protocol/records/names.hpp"

namespace curtail::protocol {
namespace {

constexpr char const* contributed = "contributed";
constexpr char const* terms_differ = "terms-differ";
constexpr char const* amendment_void = "amendment-void";
constexpr char const* clock_jump = "clock-jump";
constexpr char const* repair_requested = "repair-requested";
constexpr char const* header_restored = "header-restored";
constexpr char const* repaired = "repaired";
constexpr char const* members_silent = "members-silent";
constexpr char const* waiting_for_twin = "waiting-for-twin";
constexpr char const* clipped = "clipped";
constexpr char const* record_awaited = "record-awaited";
constexpr char const* commits_lost = "commits-lost";
constexpr char const* commits_restored = "commits-restored";
constexpr char const* foreign_commit = "foreign-commit";
constexpr char const* lost = "lost";
constexpr char const* unanswered = "unanswered";
constexpr char const* refused = "refused";
constexpr char const* removed = "removed";

Note contribution_note(char const* type, Header const& header)
{
    return {type,
            {{"member", header.member.value},
             {"seq", header.seq.value},
             {"tokens", header.tokens.value}}};
}

std::int64_t integer(json::Object const& details, char const* key)
{
    return details.integer_at(key).value_or(0);
}

std::string loss_text(json::Object const& details, char const* what)
{
    return fmt::format(
        "commit {} has {} ({}): {} tokens are lost, and their blocks are trained again",
        integer(details, "commit"), what, details.text_at("why"), integer(details, "tokens"));
}

std::string lost_commits_text(json::Object const& details, char const* consequence)
{
    return fmt::format("the store has lost the commits {} to {}; {}", integer(details, "first"),
                       integer(details, "last"), consequence);
}

// The warning in the log about a note of a type, as a function of the details.
struct Warning {
    std::string_view type;
    std::string (*text)(json::Object const& details);
};

constexpr Warning warnings[] = {
    {members_silent,
     [](json::Object const& d) {
         return fmt::format(
             "no member has shown life for long; removing {} in {} s, unless one of them does",
             json::to_string(*d.find("members")), integer(d, "wait_ms") / 1000);
     }},
    {foreign_commit,
     [](json::Object const& d) {
         return fmt::format(
             "the object under the number of commit {} is no commit of this run; the "
             "run stops when it gets there, unless `curtail-store repair` removes "
             "the object",
             integer(d, "commit"));
     }},
    {record_awaited,
     [](json::Object const& d) {
         return fmt::format("waiting about a minute for {}: {}", d.text_at("name"),
                            d.text_at("why"));
     }},
    {commits_lost,
     [](json::Object const& d) {
         return lost_commits_text(
             d, "`curtail-store repair` creates them again at a site with copies");
     }},
    {commits_restored,
     [](json::Object const& d) {
         return lost_commits_text(d, "this site has created them again from its copies");
     }},
    {waiting_for_twin,
     [](json::Object const& d) {
         return fmt::format(
             "another process of this site may be running ({}); this one joins when "
             "the other has published its work or shown no life for {} s",
             d.text_at("member"), integer(d, "wait_ms") / 1000);
     }},
    {refused, [](json::Object const& d) { return loss_text(d, "refused work of this site"); }},
    {removed, [](json::Object const& d) { return loss_text(d, "removed this site's member"); }},
    {lost,
     [](json::Object const& d) {
         return fmt::format(
             "{} tokens that member {} trained are lost, and their blocks are trained again",
             integer(d, "tokens"), d.text_at("member"));
     }},
    {unanswered,
     [](json::Object const& d) {
         return fmt::format(
             "no answer from the store about {} with {} tokens that member {} trained; if it has "
             "not arrived, their blocks are trained again",
             d.text_at("name"), integer(d, "tokens"), d.text_at("member"));
     }},
    {clipped,
     [](json::Object const& d) {
         return fmt::format(
             "commit {} has clipped work of this site to {:.2g} of its length: it "
             "is more than 6 times as long as usual",
             integer(d, "commit"), d.number_at("factor").value_or(0));
     }},
    {repair_requested,
     [](json::Object const& d) {
         return "cannot read " + d.text_at("name") + "; asked the other sites to store it again";
     }},
    {header_restored,
     [](json::Object const& d) {
         return "this site's header " + d.text_at("name") +
                " is damaged in the store; storing it again";
     }},
    {repaired,
     [](json::Object const& d) {
         return "stored again what was damaged in the store: " + json::to_string(*d.find("names"));
     }},
    {amendment_void,
     [](json::Object const& d) {
         return d.text_at("name") + " is void, and the terms stay as they are: " + d.text_at("why");
     }},
    {clock_jump,
     [](json::Object const& d) {
         return fmt::format("the store's clock has jumped by {} s", integer(d, "jump_ms") / 1000);
     }},
    {terms_differ,
     [](json::Object const& d) {
         return d.text_at("difference") + "; this site uses the run's terms";
     }},
};

}  // namespace

Note joined_note(MemberId const& member, CommitNumber commit)
{
    return {"joined", {{"member", member.value}, {"commit", commit.value}}};
}

Note cut_note(Header const& header) { return contribution_note("cut", header); }

Note contributed_note(Header const& header) { return contribution_note(contributed, header); }

Note merged_note(Commit const& commit)
{
    std::set<SiteId> sites;
    Tokens tokens;
    for (auto const& d : commit.decided) {
        if (d.refused || d.ranges.empty()) continue;
        sites.insert(member_parts(d.member).process.site);
        tokens += d.tokens;
    }
    return {"merged",
            {{"commit", commit.number.value},
             {"round", commit.round.value},
             {"sites", sites.size()},
             {"tokens", tokens.value}}};
}

Note adopted_note(Commit const& commit)
{
    return {"adopted", {{"commit", commit.number.value}, {"round", commit.round.value}}};
}

Note refused_note(ContributionDecision const& decision, CommitNumber commit)
{
    return {refused,
            {{"member", decision.member.value},
             {"seq", decision.seq.value},
             {"commit", commit.value},
             {"why", to_text(*decision.refused)},
             {"tokens", decision.tokens.value}}};
}

Note clipped_note(ContributionDecision const& decision, CommitNumber commit, double factor)
{
    return {clipped,
            {{"member", decision.member.value},
             {"seq", decision.seq.value},
             {"commit", commit.value},
             {"factor", factor},
             {"tokens", decision.tokens.value}}};
}

Note removed_note(MemberId const& member, CommitNumber commit, Removal why, Tokens tokens)
{
    return {removed,
            {{"member", member.value},
             {"commit", commit.value},
             {"why", to_text(why)},
             {"tokens", tokens.value}}};
}

Note lost_note(MemberId const& member, Tokens tokens)
{
    return {lost, {{"member", member.value}, {"tokens", tokens.value}}};
}

Note unanswered_note(MemberId const& member, std::string name, Tokens tokens)
{
    return {unanswered,
            {{"member", member.value}, {"name", std::move(name)}, {"tokens", tokens.value}}};
}

Note left_note(MemberId const& member, CommitNumber commit)
{
    return {"left", {{"member", member.value}, {"commit", commit.value}}};
}

Note header_unreadable_note(MemberId const& member, std::string name, std::string why)
{
    return {"header-unreadable",
            {{"member", member.value}, {"name", std::move(name)}, {"why", std::move(why)}}};
}

Note header_restored_note(MemberId const& member, std::string name)
{
    return {header_restored, {{"member", member.value}, {"name", std::move(name)}}};
}

Note terms_differ_note(std::string difference)
{
    return {terms_differ, {{"difference", std::move(difference)}}};
}

Note amendment_void_note(std::int64_t number, std::string why)
{
    return {amendment_void, {{"name", amendment_name(number)}, {"why", std::move(why)}}};
}

Note clock_jump_note(Millis jump) { return {clock_jump, {{"jump_ms", jump.count()}}}; }

Note repair_requested_note(std::string name, std::int64_t k)
{
    return {repair_requested, {{"name", std::move(name)}, {"k", k}}};
}

Note repaired_note(std::vector<std::string> const& names)
{
    return {repaired, {{"names", json::Array(names.begin(), names.end())}}};
}

Note too_slow_note(int late, Millis read, Millis publish, Millis round)
{
    return {"too-slow",
            {{"late", late},
             {"read_ms", read.count()},
             {"publish_ms", publish.count()},
             {"round_ms", round.count()}}};
}

Note waiting_for_twin_note(MemberId const& member, Millis wait)
{
    return {waiting_for_twin, {{"member", member.value}, {"wait_ms", wait.count()}}};
}

Note members_silent_note(std::vector<MemberId> const& members, Millis wait)
{
    return {members_silent,
            {{"members", json::array_of(members, [](MemberId const& id) { return id.value; })},
             {"wait_ms", wait.count()}}};
}

Note record_awaited_note(std::string name, std::string why)
{
    return {record_awaited, {{"name", std::move(name)}, {"why", std::move(why)}}};
}

Note commits_lost_note(CommitNumber first, CommitNumber last)
{
    return {commits_lost, {{"first", first.value}, {"last", last.value}}};
}

Note foreign_commit_note(CommitNumber number)
{
    return {foreign_commit, {{"commit", number.value}}};
}

Note commits_restored_note(CommitNumber first, CommitNumber last)
{
    return {commits_restored, {{"first", first.value}, {"last", last.value}}};
}

bool is_loss(Note const& note)
{
    return note.type == refused || note.type == removed || note.type == lost;
}

std::optional<std::string> warning_in(Note const& note)
{
    auto const* row = std::ranges::find(warnings, note.type, &Warning::type);
    return row == std::end(warnings) ? std::nullopt : std::optional(row->text(note.details));
}

std::optional<ContributionNote> contributed_in(std::string_view type, json::Object const& details)
{
    auto const seq = details.integer_at("seq");
    if (type != contributed || !seq) return std::nullopt;
    return ContributionNote{{details.text_at("member")}, {*seq}};
}

}  // namespace curtail::protocol
