// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"
#include "rounds/record.hpp"

/// What goes into and comes out of rounds::Site. Whoever drives it carries out each output and puts
/// the answer into its inbox.
///
/// Questions carry an `op` and get exactly one answer with the same `op`, whatever happens; at most
/// one question is open at any time (so at most one create of a commit), and it stays open while
/// other inputs come. Nothing else is ever answered.
///
///     question                    answers
///     Get                         Got, Missing, Unknown
///     Create                      Created, Exists, Unknown
///     StoreDelta, StoreModel,     Stored, Unavailable
///       MakeInitial
///     Merge                       Merged, Corrupt (the parent's model), Unavailable
///     LoadModel                   Loaded, Corrupt, Unavailable
///     Adopt                       Adopted, Corrupt, Unavailable
///     Cut                         CutReady
///     Train, Discard, Delete, Note, Exit: none
///
/// Questions to the store may take long and run beside everything else. Names are relative to the
/// run's folder `runs/<run>/`.
///
/// The trainer keeps fp32 weights x, an anchor a, the blocks `since` consumed since the last cut,
/// and its undecided deltas d_j with their ranges (docs/rounds.md). It reports every optimizer step
/// by Stepped, in order, before a CutReady that includes it. It obeys Cut and Adopt at the next
/// step boundary; from Cut, Adopt, LoadModel and Discard on it stands still until the next Train.
namespace curtail::rounds {

using Op = std::uint64_t;

// ---- inputs

/// Time went by; nothing else happened. Send one at the latest at Site::wake().
struct Tick {};

/// The object was made by this create.
struct Created {
    Op op{};
    std::optional<Time>
        stored_at;  ///< the store's modification time of it; needed where Create::want_time
};
/// The name was taken.
struct Exists {
    Op op{};
};
/// Whole content of a small object, at most record_bytes_limit + 1 bytes of it.
struct Got {
    Op op{};
    std::string bytes;
};
/// The store says that there is no such object.
struct Missing {
    Op op{};
};
/// No answer, or one that leaves open what happened: time-out, lost reply, 409, 5xx, full store.
struct Unknown {
    Op op{};
    std::string why;
    ExitCode code{ExitCode::temporary};  ///< `permission`, `io` and `unavailable` are not mended by
                                         ///< waiting alone
};

/// A payload is durable in the store.
struct Stored {
    Op op{};
    std::vector<PartRef>
        parts;  ///< one for each part asked for, in that order, under the names asked for
};
/// LoadModel is carried out: x = a = theta, nothing undecided, `since` empty.
struct Loaded {
    Op op{};
};
struct Adopted {
    Op op{};
};
/// What a merge found or made.
struct Merged {
    /// A contribution that cannot be merged: its payload is missing or not what its header names (3
    /// reads with pauses between them): `digest`; it has values that are not finite: `nan`.
    struct Bad {
        MemberId member;
        Seq seq;
        Refusal reason{Refusal::digest};
        bool absent{};  ///< the store says that there is no such object, which may be an old
                        ///< answer: Site asks again before it believes it
    };
    Op op{};
    std::vector<Bad> bad;           ///< if any, nothing was made and nothing need be stored
    std::vector<PartRef> model;     ///< theta', stored, in the order of Merge::weights
    std::vector<PartRef> momentum;  ///< m', stored, in the order of Merge::momentum; empty unless
                                    ///< it was an outer step
};
/// The store answers, but has not the bytes that the chain names: missing, short or another digest,
/// after 3 reads.
struct Corrupt {
    Op op{};
    std::string name;
    std::string why;
};
/// The store does not answer or refuses; trying later may help. Site decides when.
struct Unavailable {
    Op op{};
    std::string why;
    ExitCode code{ExitCode::temporary};  ///< as in Unknown
};

/// One optimizer step was made, on these blocks.
struct Stepped {
    Ranges blocks;
    FractionalSeconds seconds{};  ///< it took, without pauses
};
/// The cut is made: d_seq = a - x; a := x; its ranges are all blocks consumed since the cut before
/// (none: no step since). The trainer keeps d_seq until an Adopt drops it.
struct CutReady {
    Op op{};
    Ranges ranges;
    std::int64_t steps{};
    std::vector<double>
        sumsq;  ///< of d_seq, one per part of the run; summed in an order that does not vary
    std::vector<std::int64_t> nonfinite;  ///< values of d_seq that are not finite, one per part
};
/// Leave the run: finish the step, contribute, exit by `deadline`.
struct StopRequested {
    MonoTime deadline;
};

using Input = std::variant<Tick, Created, Exists, Got, Missing, Unknown, Stored, Loaded, Adopted,
                           Merged, Corrupt, Unavailable, Stepped, CutReady, StopRequested>;

// ---- questions to the store

struct Get {
    Op op{};
    std::string name;
};
/// Create a small object unless the name exists.
struct Create {
    Op op{};
    std::string name;
    std::string bytes;
    bool want_time{false};
};

/// Where one payload file goes.
struct Target {
    std::string part;  ///< `w0`, `m0`, `d0`: the run's part 0 of weights, momentum, delta
    std::string name;  ///< unique: nobody else writes it, a repeated attempt of ours may
};
/// Store the trainer's delta d_seq. The trainer may go on meanwhile.
struct StoreDelta {
    Op op{};
    Seq seq;
    std::vector<Target> parts;
};
/// Store the trainer's anchor a, which is x at the last cut, as a model.
struct StoreModel {
    Op op{};
    std::vector<Target> parts;
};
/// Make the model's initial weights from the seed and store them.
struct MakeInitial {
    Op op{};
    std::int64_t seed{};
    std::vector<Target> parts;
};
/// Read and verify the parent's model and each delta, merge in the order of `include`, store the
/// result (rounds/merge.hpp).
///
/// g = weighted_sum(deltas, scales). With outer_step: nesterov_step with eta and mu, where m = 0 if
/// `outer` is absent; then `momentum` names where m' goes. Without: average_step.
struct Merge {
    struct Included {
        MemberId member;
        Seq seq;
        float scale{};
        std::vector<DeltaPart> parts;
    };
    Op op{};
    ModelRef model;                 ///< theta
    std::optional<OuterRef> outer;  ///< m
    std::vector<Included> include;
    bool outer_step{};
    double eta{};
    double mu{};
    std::vector<Target> weights;
    std::vector<Target> momentum;  ///< empty without outer_step
};

// ---- questions to the trainer

/// Read theta from the store and begin from it: x = a = theta, whatever was there before.
struct LoadModel {
    Op op{};
    ModelRef model;
};
/// At the next step boundary make the cut `seq` and stand still. Also without any work since the
/// last cut.
struct Cut {
    Op op{};
    Seq seq;
    bool leaving{};
};
/// Take over a newer state. Forget the deltas in `dropped`; then u = a - x (exactly zero if there
/// was no step since the last cut), a' = theta - sum of the undecided d_j that are left, x' = a' -
/// u. With nothing undecided and no work since the cut x' = theta exactly.
struct Adopt {
    Op op{};
    ModelRef model;        ///< theta; not to be read if `keeps_weights`
    bool keeps_weights{};  ///< theta is this trainer's own stored anchor: a and x stay as they are,
                           ///< only `dropped` goes
    std::vector<Seq> dropped;  ///< own contributions that were decided
    CommitNumber commit;       ///< for logs
};

// ---- orders without an answer

/// Train, lowest block first, on held - ranges of undecided deltas - since; with nothing left stand
/// still. Fewer blocks than a full step takes are trained as a smaller step. Goes on after a Cut.
struct Train {
    Ranges held;
    std::int64_t tokens_before{};  ///< progress of schedules: tokens in the committed model and in
                                   ///< undecided deltas; add those since the cut
};
/// The member was removed: x, deltas and since are worth nothing. Stand still until a LoadModel.
struct Discard {};
/// Delete a payload object; it does not matter whether it exists or when this happens.
struct Delete {
    std::string name;
};
/// For events.jsonl: joined, cut, contributed, merged, adopted, left.
struct Note {
    std::string type;
    json::Object details;
};
/// The process is done: stop the trainer and exit. The last output of a Site, after which it takes
/// no input.
struct Exit {
    ExitCode code{ExitCode::ok};
    std::optional<Error> error;  ///< present unless code is ok
};

using Output = std::variant<Get, Create, StoreDelta, StoreModel, MakeInitial, Merge, LoadModel, Cut,
                            Adopt, Train, Discard, Delete, Note, Exit>;

}  // namespace curtail::rounds
