// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/ids.hpp"
#include "base/core/json.hpp"
#include "base/core/time.hpp"
#include "base/core/units.hpp"
#include "protocol/records/params.hpp"
#include "protocol/records/ranges.hpp"
#include "protocol/records/record_limits.hpp"
#include "protocol/records/settings.hpp"

// The records of a run: run.json, commits, headers, leases, amendments, repair requests, signs of
// life and closings (docs/formats-store.md). A record is stored as canonical JSON, so equal content
// gives equal bytes.
namespace curtail::protocol {

inline constexpr std::int64_t record_format = 4;  ///< version of the format
// What a payload is. Records keep lists of payloads, each with one entry.
inline constexpr char const* weights_part = "w0";
inline constexpr char const* momentum_part = "m0";
inline constexpr char const* delta_part = "d0";
inline constexpr std::size_t norms_kept = 64;         ///< most entries of Commit::norms
inline constexpr std::size_t header_heads_limit = 8;  ///< most entries of Header::heads
inline constexpr std::size_t heads_limit = 500;       ///< most heads in a commit
inline constexpr std::size_t sites_limit = 1000;      ///< most entries of Terms::sites
inline constexpr std::size_t text_limit = 1000;       ///< most bytes in a text for people
inline constexpr std::int64_t refusals_until_quarantine = 3;

/// A site's training speed in 10^-6 blocks per second, without pauses. 0 means unknown.
using Rate = std::int64_t;

/// A piece of a stream of a site's journal (docs/formats-journal.md). A piece names the digest of
/// the one before it, so whoever names a piece fixes all pieces up to it.
struct JournalHead {
    std::int64_t number{};  ///< of the piece in its stream, from 1
    Digest sha256;          ///< of the whole piece
    friend bool operator==(JournalHead const&, JournalHead const&) = default;
};
/// The newest known piece of each stream of a site, by the stream's name. For the protocol, streams
/// are names without a meaning.
using JournalHeads = std::map<std::string, JournalHead>;

/// A payload object in the store: the weights or the momentum of a model, or a delta.
struct PartRef {
    std::string part;      ///< what it is: weights_part, momentum_part or delta_part
    std::string name;      ///< name of the object, relative to `runs/<run>/` in the store
    std::int64_t bytes{};  ///< size of the object
    Digest sha256;
    friend bool operator==(PartRef const&, PartRef const&) = default;
};

/// The weights of a model.
struct ModelRef {
    Round round;  ///< the round that begins with this model
    PartRef weights;
    friend bool operator==(ModelRef const&, ModelRef const&) = default;
};

/// The momentum of the outer optimizer.
struct OuterRef {
    Outer::Type type{Outer::Type::nesterov};
    PartRef momentum;
    friend bool operator==(OuterRef const&, OuterRef const&) = default;
};

/// The work in the committed model since the genesis.
struct Totals {
    Tokens tokens;
    std::int64_t steps{};  ///< optimizer steps of all sites
    friend bool operator==(Totals const&, Totals const&) = default;
};

/// What an amendment can change: the sites, the parameters except `block_tokens`, the outer
/// optimizer and the token budget.
struct Terms {
    std::vector<SiteId> sites;
    Params params;  ///< `block_tokens` has no meaning here
    Outer outer;
    std::optional<Tokens> budget;  ///< as RunSpec::budget
    friend bool operator==(Terms const&, Terms const&) = default;
};

/// The amendment that a run has taken in last.
struct AmendmentRef {
    std::int64_t number{};
    Digest sha256;  ///< of its bytes
    friend bool operator==(AmendmentRef const&, AmendmentRef const&) = default;
};

/// Returns the smallest number of blocks that have at least `tokens` tokens together.
[[nodiscard]] constexpr std::int64_t blocks_for(Tokens tokens, Tokens block_tokens)
{
    return tokens / block_tokens + (tokens % block_tokens > Tokens{} ? 1 : 0);
}

/// The commit of another run whose model a run continues.
struct ForkRef {
    RunId run;  ///< may be a run of another store
    CommitNumber number;
    Digest sha256;  ///< of the commit's bytes
    friend bool operator==(ForkRef const&, ForkRef const&) = default;
};

/// `run.json`: the settings that are equal at all sites of a run.
struct RunSpec {
    RunId run;
    std::optional<ForkRef> fork;      ///< empty: the run began with initial weights
    json::Object model;               ///< shape of the model, as integers and text
    Digest manifest;                  ///< digest of the data set's manifest.json
    std::int64_t blocks_per_epoch{};  ///< number of blocks in the data
    std::int64_t epochs{1};           ///< greatest number of passes over the data
    /// Tokens after which the run is complete, rounded up to whole blocks. At most the tokens of
    /// all epochs, rounded up in the same way. Empty: the run is complete after all epochs.
    std::optional<Tokens> budget;
    std::int64_t seed{1};  ///< seed of the initial weights
    InnerOptimizer optimizer;
    Outer outer;
    std::vector<std::string> tensors;  ///< names of the model's tensors, in the order of a payload
    Params params;  ///< the record has block_tokens under `data`, the rest under `params`
    std::vector<SiteId> sites;
    RecordLimits limits;  ///< not in the record

    /// Returns the number of blocks of all epochs together.
    [[nodiscard]] std::int64_t data_blocks() const { return blocks_per_epoch * epochs; }
    /// Returns the number of blocks after which the run is complete.
    [[nodiscard]] std::int64_t stream_blocks() const
    {
        return budget ? blocks_for(*budget, params.block_tokens) : data_blocks();
    }
    /// Returns the number of tokens after which the run is complete, not rounded up.
    [[nodiscard]] Tokens end() const
    {
        return budget.value_or(data_blocks() * params.block_tokens);
    }
    /// Returns the length of the schedules of learning rate and weight decay.
    [[nodiscard]] Tokens schedule() const { return optimizer.schedule.value_or(end()); }
    /// Returns true if the learning rates fall in a step after `tokens` tokens.
    [[nodiscard]] bool is_warmdown(Tokens tokens) const
    {
        return optimizer.is_warmdown(tokens, schedule());
    }
    friend bool operator==(RunSpec const&, RunSpec const&) = default;
};

/// A member, as listed in a commit.
struct Member {
    MemberId id;
    SiteId site;
    Seq seq;      ///< number of the member's last decided contribution; 0 at admission
    Ranges held;  ///< blocks that only this member may train on
    Rate rate{};
    Round since_round;      ///< round in which the member was admitted
    std::int64_t missed{};  ///< merges in a row without a decided contribution of this member
    /// Time, by the store's clock, of the newest commit that decided a contribution of the member.
    /// If there is no such commit yet: time of the member's admission.
    Time seen;
    /// Contributions in a row that were refused for `nan`, `norm` or `digest`.
    std::int64_t refused{};
    friend bool operator==(Member const&, Member const&) = default;
};

/// The reason for which a contribution was refused:
/// - `nan`: a value of its delta is not finite;
/// - `digest`: its payload is missing or damaged;
/// - `norm`: its delta is far longer than others, or its length differs from the header's;
/// - `stale`: its base is older than Params::max_staleness allows;
/// - `not_held`: its member does not hold every block of the contribution;
/// - `wrong_run`: its header belongs to another run, or names an unknown base, encoding or payload;
/// - `bad_tokens`: its number of tokens does not fit its blocks.
enum class Refusal { nan, digest, norm, stale, not_held, wrong_run, bad_tokens };
/// The reason for which a commit removed a member:
/// - `left`: the member asked to leave;
/// - `silent`: the member was suspect;
/// - `succeeded`: the member's site has a newer instance;
/// - `quarantined`: three contributions in a row were refused for `nan`, `norm` or `digest`;
/// - `complete`: the run is complete.
enum class Removal { left, silent, succeeded, quarantined, complete };

/// The decision on one contribution.
struct ContributionDecision {
    MemberId member;
    Seq seq;
    std::optional<Refusal> refused;  ///< empty: the contribution is included
    std::optional<Digest> header;    ///< digest of the header's bytes; empty if `inlined` is set
    Ranges ranges;
    Tokens tokens;
    std::int64_t steps{};
    Ranges skipped;            ///< as Header::skipped
    std::int64_t staleness{};  ///< parent commit's round minus round of the contribution's base
    float scale{};             ///< weight in the merge; 0 if refused or without tokens
    double norm{};             ///< result of delta_norm() (protocol/rules/refusal.hpp)
    bool inlined{};            ///< a lone member committed the work as its own weights, without a
                               ///< header and without a delta
    friend bool operator==(ContributionDecision const&, ContributionDecision const&) = default;
};

/// A member that a commit removed.
struct RemovedMember {
    MemberId member;
    Removal reason{Removal::silent};
    friend bool operator==(RemovedMember const&, RemovedMember const&) = default;
};

/// A commit that made a model: the genesis or a merge.
struct RecentMerge {
    Round round;  ///< the round that begins with that model
    CommitNumber number;
    friend bool operator==(RecentMerge const&, RecentMerge const&) = default;
};

/// Blocks that one site has skipped equally often.
struct SkippedBlocks {
    SiteId site;
    std::int64_t times{1};
    Ranges blocks;
    friend bool operator==(SkippedBlocks const&, SkippedBlocks const&) = default;
};

/// A site that no commit may admit before `until`.
struct Quarantine {
    SiteId site;
    Time until;
    Refusal reason{Refusal::nan};  ///< why the last contribution was refused
    friend bool operator==(Quarantine const&, Quarantine const&) = default;
};

/// The writer of a commit.
struct CommitWriter {
    MemberId member;  ///< id of the writing process; if the process is not a member, an id with
                      ///< N = 0 (protocol/records/names.hpp)
    /// A process has one counter for three kinds of attempts: to create a probe object, to store a
    /// model, and to join. The first attempt has the number 1. This is the number of the last one.
    std::int64_t attempt{};
    friend bool operator==(CommitWriter const&, CommitWriter const&) = default;
};

/// One commit: the whole state of the run.
struct Commit {
    enum class Kind { genesis, roster, merge };
    RunId run;
    CommitNumber number;
    Digest parent;  ///< digest of the previous commit's bytes; in commit 1, of run.json
    Kind kind{Kind::genesis};
    bool complete{};  ///< every block of the run is done or aside
    Round round;
    ModelRef model;
    std::optional<OuterRef> outer;        ///< empty before the first outer step with momentum
    Terms terms;                          ///< in force for the commit that follows this one
    std::optional<AmendmentRef> amended;  ///< empty: `terms` are those of run.json
    Totals totals;
    Ranges done;                       ///< blocks that the model includes
    Ranges aside;                      ///< blocks on which no site trains any more
    std::vector<SkippedBlocks> skips;  ///< sorted by site and times; without `done` and `aside`
    std::vector<Member> members;       ///< sorted by id
    std::vector<ContributionDecision>
        decided;  ///< sorted by member and seq; merges add deltas in this order
    std::vector<RemovedMember> removed;  ///< sorted by member
    bool outer_step{};                   ///< the merge was an outer step with momentum
    std::vector<double> norms;           ///< of the last included work (norms_in()), oldest first
    std::vector<Quarantine> quarantine;  ///< sorted by site
    /// The commits that made the newest keep_models + 1 models, oldest first.
    std::vector<RecentMerge> recent;
    /// The pieces of the sites' journals that the chain fixes. A number never falls.
    std::map<SiteId, JournalHeads> heads;
    CommitWriter by;
    Time time;  ///< by the store's clock

    /// Returns the member with this id, or null if the commit does not list it.
    [[nodiscard]] Member const* find(MemberId const& id) const;
    /// Returns the weights of the model, then the momentum if there is one.
    [[nodiscard]] std::vector<PartRef> payloads() const;
    friend bool operator==(Commit const&, Commit const&) = default;
};

/// A contribution's delta. All its values are finite.
struct DeltaRef {
    PartRef payload;
    double sumsq{};  ///< sum of the squares of the values
    friend bool operator==(DeltaRef const&, DeltaRef const&) = default;
};

/// A header, stored as `contrib/<member>/<seq>.json`. It announces a contribution. If the
/// contribution has a payload (`delta`), the payload is in the store before the header.
struct Header {
    RunId run;
    MemberId member;
    Seq seq;
    Round base_round;  ///< round of the model that the contribution started from
    bool leaving{};    ///< this is the member's last contribution
    Ranges ranges{};
    /// Blocks that the member held and tried, and whose step was not finite. Disjoint from
    /// `ranges`.
    Ranges skipped{};
    Tokens tokens{};
    std::int64_t steps{};
    std::string encoding{"fp32"};
    std::optional<DeltaRef> delta{};  ///< empty if `ranges` is empty or `nonfinite` is not 0
    std::int64_t nonfinite{};         ///< as CutReady::nonfinite (protocol/site/messages.hpp)
    Rate rate{};
    JournalHeads heads{};  ///< of the member's site
    Time time{};           ///< when the member made the header, by the store's clock
    [[nodiscard]] double sumsq() const { return delta ? delta->sumsq : 0; }
    friend bool operator==(Header const&, Header const&) = default;
};

/// A lease, stored as `merge/<round>/<k>.json`. It says that `member` intends to make the merge
/// that ends the round. A lease avoids duplicate work; correctness does not depend on leases.
struct Lease {
    MemberId member;
    std::int64_t number{};  ///< of the lease within its round, from 1
    Millis duration{};      ///< how long the lease is valid
    Time time;              ///< start of the lease, by the store's clock
    friend bool operator==(Lease const&, Lease const&) = default;
};

/// A commit, as another record names it.
struct CommitRef {
    CommitNumber number;
    Digest sha256;  ///< of the commit's bytes
    friend bool operator==(CommitRef const&, CommitRef const&) = default;
};

/// A term that an amendment changes. Its name is the path of its field in the terms, such as
/// `params.round_time_ms`; that of a site is `sites.<site>`. The values have the form of the
/// record. Null: there is no such value. A site that may enter has the value true.
struct TermChange {
    std::string term;
    json::Value from;  ///< its value when the amendment was made
    json::Value to;
    friend bool operator==(TermChange const&, TermChange const&) = default;
};

/// An amendment, stored as `amendments/<n>.json`. It states only what it changes.
struct Amendment {
    RunId run;
    std::int64_t number{1};
    Digest previous;    ///< digest of amendment `number` - 1; for number 1, of run.json
    CommitNumber base;  ///< the newest commit when the amendment was made
    std::vector<TermChange> changes;  ///< sorted by term
    bool zero_momentum{};             ///< also forget the momentum of the outer optimizer
    std::string reason;               ///< for people
    Time time;                        ///< when it was proposed, by the clock of its author
    friend bool operator==(Amendment const&, Amendment const&) = default;
};

/// A request to store damaged or missing parts of the model of `round` again. It is stored as
/// `repair/<round>/<k>.json`.
struct RepairRequest {
    Round round;
    std::int64_t number{1};          ///< of the request within its round
    SiteId site;                     ///< the site that cannot read the parts
    std::vector<std::string> parts;  ///< names of the parts, as PartRef::part
    Time time;                       ///< by the store's clock
    friend bool operator==(RepairRequest const&, RepairRequest const&) = default;
};

/// A sign of life of a member. Its site overwrites it every Params::status_interval. The protocol
/// uses it only to keep a member that it would remove otherwise.
struct SiteStatus {
    MemberId member;
    CommitNumber tip;  ///< newest commit that the member has read
    Time time;         ///< by the store's clock, as the member knows it
    friend bool operator==(SiteStatus const&, SiteStatus const&) = default;
};

/// The end of a site's work, stored as `closing/<site>/<n>.json`. A site's poller makes it when the
/// run is complete, or when the site rests. No commit names it.
struct Closing {
    RunId run;
    SiteId site;
    std::int64_t number{1};           ///< of the closing among those of the site
    std::optional<CommitRef> commit;  ///< the newest; empty: there is none
    JournalHeads heads;               ///< the newest piece of each stream of the site
    Time time;                        ///< by the clock of the poller
    friend bool operator==(Closing const&, Closing const&) = default;
};

/// Returns true if `code` is that of a bad record: damaged, or of another format.
[[nodiscard]] inline bool is_bad_record(ExitCode code)
{
    return code == ExitCode::protocol || code == ExitCode::data;
}

/// A record as it is stored.
struct EncodedRecord {
    std::string bytes;
    Digest sha256;  ///< of `bytes`; commits refer to records by this digest
};
/// Returns the stored form of a record. Throws std::logic_error if no reader would accept it.
[[nodiscard]] EncodedRecord encode(RunSpec const& run);
[[nodiscard]] EncodedRecord encode(Commit const& commit, RecordLimits const& limits = {});
[[nodiscard]] EncodedRecord encode(Header const& header, RecordLimits const& limits = {});
[[nodiscard]] EncodedRecord encode(Lease const& lease);
[[nodiscard]] EncodedRecord encode(Amendment const& amendment);
[[nodiscard]] EncodedRecord encode(RepairRequest const& request);
[[nodiscard]] EncodedRecord encode(SiteStatus const& status);
[[nodiscard]] EncodedRecord encode(Closing const& closing);
/// Returns the stored form of a record whose content comes from a person or from other sites. Fails
/// with the reader's error if no reader would accept it.
[[nodiscard]] Result<EncodedRecord> encode_if_valid(RunSpec const& run);
[[nodiscard]] Result<EncodedRecord> encode_if_valid(Commit const& commit,
                                                    RecordLimits const& limits = {});
[[nodiscard]] Result<EncodedRecord> encode_if_valid(Amendment const& amendment);

/// Reads the stored form of a record. `name` is the name under which the record is stored;
/// decode_run() assumes `run.json`. Fails with `data` if the record has another format than
/// record_format. Fails with `protocol` in these cases:
/// - the record is too long or not in canonical form;
/// - a field is missing, unknown or invalid;
/// - the record does not belong under `name`;
/// - the field `self` does not match: in each record but a lease, it must be the digest of all
///   other fields.
/// The message names the object and the broken rule.
[[nodiscard]] Result<RunSpec> decode_run(std::string_view bytes);
[[nodiscard]] Result<Commit> decode_commit(std::string_view bytes, std::string const& name,
                                           RecordLimits const& limits = {});
[[nodiscard]] Result<Header> decode_header(std::string_view bytes, std::string const& name,
                                           RecordLimits const& limits = {});
[[nodiscard]] Result<Lease> decode_lease(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<Amendment> decode_amendment(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<RepairRequest> decode_repair(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<SiteStatus> decode_status(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<Closing> decode_closing(std::string_view bytes, std::string const& name);

/// Returns the bits of a real number as hex digits. Records contain this text, because all numbers
/// in canonical JSON are integers.
[[nodiscard]] std::string exact(double value);
[[nodiscard]] std::string exact(float value);
/// Reads the text that exact() returns. Returns an empty optional for any other text.
[[nodiscard]] std::optional<double> double_from_exact(std::string_view text);
[[nodiscard]] std::optional<float> float_from_exact(std::string_view text);

[[nodiscard]] char const* to_text(Refusal reason);  ///< as in the record, e.g. `not-held`
[[nodiscard]] char const* to_text(Removal reason);
[[nodiscard]] char const* to_text(Commit::Kind kind);
[[nodiscard]] char const* to_text(Outer::Type type);

/// Returns the settings as run.json states them.
[[nodiscard]] json::Object to_json(InnerOptimizer const& optimizer);

/// Compares the fixed part of a site's configuration with the stored run.json, i.e. all but its
/// terms and its fork. Returns an empty optional if they are equal. Otherwise returns an error with
/// the code `config`. The error names the first key whose values differ, and both values if they
/// are numbers. Trainers and `curtail-store amend` compare with this function only.
[[nodiscard]] std::optional<Error> difference(RunSpec const& stored, RunSpec const& ours);

}  // namespace curtail::protocol
