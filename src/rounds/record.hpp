// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/digest.hpp"
#include "core/ids.hpp"
#include "core/json.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "rounds/params.hpp"
#include "rounds/ranges.hpp"

/// The records of a run (docs/formats-store.md). Each is canonical JSON: equal content gives equal
/// bytes.
namespace curtail::rounds {

inline constexpr std::int64_t record_format = 1;
inline constexpr std::size_t record_bytes_limit = std::size_t{256} * 1024;
inline constexpr std::size_t members_limit = 1000;
inline constexpr std::size_t norms_kept = 64;
inline constexpr std::size_t header_ranges_limit = 256;  ///< of one contribution

/// Training speed of a site without pauses, in 10^-6 blocks per second. 0: not known yet.
using Rate = std::int64_t;

/// One payload object: a part of weights, momentum or a delta.
struct PartRef {
    std::string part;  ///< `w0`, `m0`, `d0`
    std::string name;  ///< of the object, relative to the run
    std::int64_t bytes{};
    Digest sha256;
    friend bool operator==(PartRef const&, PartRef const&) = default;
};

struct ModelRef {
    Round round;  ///< the round that this model begins
    std::vector<PartRef> parts;
    friend bool operator==(ModelRef const&, ModelRef const&) = default;
};

/// State of the outer optimizer: its momentum.
struct OuterRef {
    Outer::Type type{Outer::Type::nesterov};
    std::vector<PartRef> parts;
    friend bool operator==(OuterRef const&, OuterRef const&) = default;
};

struct Totals {
    std::int64_t tokens{};
    std::int64_t steps{};
    friend bool operator==(Totals const&, Totals const&) = default;
};

/// A slice of the parameter list that travels as one payload object.
struct RunPart {
    std::string name;  ///< letters and digits: `0`
    std::vector<std::string> tensors;
    friend bool operator==(RunPart const&, RunPart const&) = default;
};

/// `run.json`: the settings that are equal at all sites of a run.
struct RunSpec {
    RunId run;
    json::Object model;  ///< shape of the model: integers and text, compared as a whole
    Digest manifest;     ///< of the data set's manifest.json
    std::int64_t blocks_per_epoch{};
    std::int64_t epochs{1};
    std::int64_t seed{1};
    json::Object optimizer;  ///< inner optimizer: integers and text (reals by exact()), compared
                             ///< as a whole
    Outer outer;
    std::vector<RunPart> parts;
    Params params;  ///< includes block_tokens, which the record keeps under `data`
    std::vector<SiteId> sites;

    [[nodiscard]] std::int64_t stream_blocks() const { return blocks_per_epoch * epochs; }
    friend bool operator==(RunSpec const&, RunSpec const&) = default;
};

/// A row of the member table.
struct Member {
    MemberId id;
    SiteId site;
    Seq seq;      ///< last decided contribution, 0 at admission
    Ranges held;  ///< blocks that only this member may train
    Rate rate{};
    Round since_round;      ///< at admission
    std::int64_t missed{};  ///< merges in a row without a contribution of this member
    Time seen;              ///< time of the commit that admitted it or last decided its work
    friend bool operator==(Member const&, Member const&) = default;
};

/// Why a contribution was refused.
enum class Refusal { nan, digest, stale, not_held, wrong_run, bad_tokens };
/// Why a member left the table.
enum class Removal { left, silent, succeeded, complete };

/// The decision on one contribution.
struct Decided {
    MemberId member;
    Seq seq;
    std::optional<Refusal> refused;  ///< absent: included
    std::optional<Digest> header;    ///< of the header's bytes; absent if inlined
    Ranges ranges;
    std::int64_t tokens{};
    std::int64_t steps{};
    std::int64_t staleness{};  ///< parent's round - base round
    float scale{};             ///< weight of its delta in the merge; 0 if refused or without ranges
    double norm{};             ///< sqrt(sumsq / tokens) of its delta, 0 without tokens
    bool inlined{};            ///< a lone member's: part of the committed weights, without header
                               ///< and delta
    friend bool operator==(Decided const&, Decided const&) = default;
};

struct Removed {
    MemberId member;
    Removal reason{Removal::silent};
    friend bool operator==(Removed const&, Removed const&) = default;
};

struct RecentMerge {
    Round round;
    CommitNumber number;
    friend bool operator==(RecentMerge const&, RecentMerge const&) = default;
};

/// Writer of a record: a member, or a process that is no member (N = 0).
struct Writer {
    MemberId member;
    std::int64_t attempt{};  ///< of its process: 1, 2, ...
    friend bool operator==(Writer const&, Writer const&) = default;
};

/// One commit: the whole state of the run.
struct Commit {
    enum class Kind { genesis, roster, merge };
    RunId run;
    CommitNumber number;
    Digest parent;  ///< of the bytes of number - 1; of run.json for number 1
    Kind kind{Kind::genesis};
    bool complete{};  ///< the whole stream is done
    Round round;
    ModelRef model;
    std::optional<OuterRef> outer;  ///< absent before the first outer step
    Totals totals;
    Ranges done;
    std::vector<Member> members;      ///< sorted by id
    std::vector<Decided> decided;     ///< sorted by member, seq: the order of the merge
    std::vector<Removed> removed;     ///< sorted by id
    bool outer_step{};                ///< the merge was an outer step with momentum, not theta - g
    std::vector<double> norms;        ///< of the last included contributions
    std::vector<RecentMerge> recent;  ///< the last keep_models + 1 merges; the genesis counts
    Writer by;
    Time time;  ///< by the store's clock

    [[nodiscard]] Member const* find(MemberId const& id) const;
    friend bool operator==(Commit const&, Commit const&) = default;
};

/// One part of a contribution's delta.
struct DeltaPart {
    PartRef payload;
    double sumsq{};            ///< sum of squares of its values
    std::int64_t nonfinite{};  ///< how many are not finite
    friend bool operator==(DeltaPart const&, DeltaPart const&) = default;
};

/// `contrib/<member>/<seq>.json`: announces a contribution whose payload is stored.
struct Header {
    RunId run;
    MemberId member;
    Seq seq;
    Round base_round;  ///< round whose model the site had adopted
    bool leaving{};    ///< its member's last contribution
    Ranges ranges;
    std::int64_t tokens{};
    std::int64_t steps{};
    std::string encoding{"fp32"};
    std::vector<DeltaPart> parts;  ///< empty without ranges and with non-finite values (counted in
                                   ///< `nonfinite`)
    std::int64_t nonfinite{};      ///< of all parts
    Rate rate{};
    Time time;
    [[nodiscard]] double sumsq() const;
    friend bool operator==(Header const&, Header const&) = default;
};

/// `merge/<round>/<k>.json`: a member intends to merge on top of `round`. Saves double work; does
/// not affect correctness.
struct Lease {
    MemberId member;
    std::int64_t k{};
    Millis lease{};
    Time time;
    friend bool operator==(Lease const&, Lease const&) = default;
};

/// A record as it is stored.
struct Encoded {
    std::string bytes;
    Digest sha256;  ///< of the bytes; `parent` and `header_sha256` refer to it
};
[[nodiscard]] Encoded encode(RunSpec const& run);
[[nodiscard]] Encoded encode(Commit const& commit);
[[nodiscard]] Encoded encode(Header const& header);
[[nodiscard]] Encoded encode(Lease const& lease);

/// Strict: checks size, canonical form, `self` digest, schema, and the rules within one record.
/// Refuses a record stored under a name other than its own. Errors have code `protocol` and name
/// object and rule.
[[nodiscard]] Result<RunSpec> decode_run(std::string_view bytes);
[[nodiscard]] Result<Commit> decode_commit(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<Header> decode_header(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<Lease> decode_lease(std::string_view bytes, std::string const& name);

/// A real number as its bits in hex, because canonical records hold no reals. from_exact returns
/// nothing for any other text.
[[nodiscard]] std::string exact(double value);
[[nodiscard]] std::string exact(float value);
[[nodiscard]] std::optional<double> double_from_exact(std::string_view text);
[[nodiscard]] std::optional<float> float_from_exact(std::string_view text);

[[nodiscard]] char const* to_text(Refusal reason);  ///< `not-held`
[[nodiscard]] char const* to_text(Removal reason);
[[nodiscard]] char const* to_text(Commit::Kind kind);
[[nodiscard]] char const* to_text(Outer::Type type);

/// The first key in which a site's configuration differs from the stored run, as an error of code
/// `config`. Does not compare the list of sites.
[[nodiscard]] std::optional<Error> difference(RunSpec const& stored, RunSpec const& ours);

}  // namespace curtail::rounds
