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

/// Inputs and outputs of rounds::Site. A driver carries out each output and passes the answer back
/// as an input.
///
/// Questions carry an `op`. Each gets exactly one answer with the same `op`, even after a failure.
/// At most one question is open at any time (so at most one create of a commit); it stays open
/// while other inputs arrive. No other output is answered.
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
/// Questions to the store may take long; the driver runs them concurrently with everything else.
/// Names are relative to the run's folder `runs/<run>/`.
///
/// The trainer keeps fp32 weights x, an anchor a, the blocks `since` consumed since the last cut,
/// and its undecided deltas d_j with their ranges (docs/rounds.md). It reports every optimizer step
/// by Stepped, in order, before a CutReady that includes it. It obeys Cut and Adopt at the next
/// step boundary. After Cut, Adopt, LoadModel or Discard it pauses until the next Train.
namespace curtail::rounds {

using Op = std::uint64_t;

// ---- inputs

/// Only time has passed. Send one at Site::wake() at the latest.
struct Tick {};

/// This create made the object.
struct Created {
    Op op{};
    std::optional<Time> stored_at;  ///< the object's modification time at the store; required with
                                    ///< Create::want_time
};
/// An object of that name exists.
struct Exists {
    Op op{};
};
/// Content of a small object: all of it, or its first record_bytes_limit + 1 bytes.
struct Got {
    Op op{};
    std::string bytes;
};
/// The store answers that no such object exists.
struct Missing {
    Op op{};
};
/// No answer, or one that leaves the outcome open: time-out, lost reply, 409, 5xx, full store.
struct Unknown {
    Op op{};
    std::string why;
    ExitCode code{ExitCode::temporary};  ///< waiting alone does not cure `permission`, `io` and
                                         ///< `unavailable`
};

/// A payload is durable in the store.
struct Stored {
    Op op{};
    std::vector<PartRef> parts;  ///< one for each requested part, in that order, with its name
};
/// Answer to LoadModel: x = a = theta, nothing undecided, `since` empty.
struct Loaded {
    Op op{};
};
struct Adopted {
    Op op{};
};
/// Outcome of a merge.
struct Merged {
    /// A contribution that cannot be merged. `digest`: 3 reads with pauses did not return the
    /// bytes that its header names. `nan`: some values are not finite.
    struct Bad {
        MemberId member;
        Seq seq;
        Refusal reason{Refusal::digest};
        bool absent{};  ///< the store answers that the object does not exist; this may be stale,
                        ///< so Site asks again before it refuses the contribution
    };
    Op op{};
    std::vector<Bad> bad;           ///< if not empty, the merge has made and stored nothing
    std::vector<PartRef> model;     ///< theta', stored, in the order of Merge::weights
    std::vector<PartRef> momentum;  ///< m', stored, in the order of Merge::momentum; empty unless
                                    ///< it was an outer step
};
/// The store answers, but 3 reads did not return the bytes that the chain names: they are missing,
/// short or have another digest.
struct Corrupt {
    Op op{};
    std::string name;
    std::string why;
};
/// The store does not answer, or refuses. A later try may succeed; Site decides when.
struct Unavailable {
    Op op{};
    std::string why;
    ExitCode code{ExitCode::temporary};  ///< as in Unknown
};

/// The trainer has made one optimizer step, on these blocks.
struct Stepped {
    Ranges blocks;
    FractionalSeconds seconds{};  ///< duration of the step, without pauses
};
/// Answer to Cut: d_seq = a - x; a := x. `ranges` are all blocks consumed since the previous cut;
/// empty without a step. The trainer keeps d_seq until an Adopt drops it.
struct CutReady {
    Op op{};
    Ranges ranges;
    std::int64_t steps{};
    std::vector<double> sumsq;            ///< sum of squares of d_seq, one per part of the run,
                                          ///< summed in a fixed order
    std::vector<std::int64_t> nonfinite;  ///< number of non-finite values in d_seq, one per part
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

/// Destination of one payload file.
struct Target {
    std::string part;  ///< `w0`, `m0`, `d0`: the run's part 0 of weights, momentum, delta
    std::string name;  ///< unique to this process; its own retries may write it again
};
/// Store the trainer's delta d_seq. The trainer may continue meanwhile.
struct StoreDelta {
    Op op{};
    Seq seq;
    std::vector<Target> parts;
};
/// Store the trainer's anchor a (x at the last cut) as a model.
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
/// `outer` is absent, and m' goes to `momentum`. Without: average_step.
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

/// Read theta from the store and start from it: x = a = theta, regardless of earlier weights.
struct LoadModel {
    Op op{};
    ModelRef model;
};
/// At the next step boundary make the cut `seq` and pause, even without work since the last cut.
struct Cut {
    Op op{};
    Seq seq;
    bool leaving{};
};
/// Adopt a newer state. Forget the deltas in `dropped`; then u = a - x (exactly zero without a step
/// since the last cut), a' = theta - sum of the remaining undecided d_j, x' = a' - u. With nothing
/// undecided and no work since the cut, x' = theta exactly.
struct Adopt {
    Op op{};
    ModelRef model;        ///< theta; not read if `keeps_weights`
    bool keeps_weights{};  ///< theta is this trainer's own stored anchor: a and x do not change,
                           ///< the trainer only forgets `dropped`
    std::vector<Seq> dropped;  ///< own contributions that commits have decided
    CommitNumber commit;       ///< for logs
};

// ---- orders without an answer

/// Train, lowest block first, on held - ranges of undecided deltas - since; pause when nothing is
/// left. Blocks that do not fill a step form a smaller step. Resumes training after a Cut.
struct Train {
    Ranges held;
    Tokens tokens_before;  ///< progress of schedules: tokens in the committed model and in
                           ///< undecided deltas; the trainer adds those since the cut
};
/// The member was removed: x, deltas and since are void. Pause until a LoadModel.
struct Discard {};
/// Delete a payload object, at any time; it need not exist.
struct Delete {
    std::string name;
};
/// An event for events.jsonl: joined, cut, contributed, merged, adopted, left, header-unreadable.
struct Note {
    std::string type;
    json::Object details;
};
/// Stop the trainer and exit. The last output of a Site; it takes no further input.
struct Exit {
    ExitCode code{ExitCode::ok};
    std::optional<Error> error;  ///< present unless code is ok
};

using Output = std::variant<Get, Create, StoreDelta, StoreModel, MakeInitial, Merge, LoadModel, Cut,
                            Adopt, Train, Discard, Delete, Note, Exit>;

}  // namespace curtail::rounds
