// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/json.hpp"
#include "base/core/result.hpp"
#include "protocol/records/record.hpp"

// The inputs and outputs of protocol::Site. The program that owns the Site carries out each output.
// An output with an `op` is a question: the program passes the answer to the Site as an input. The
// trainer is the part of the program that makes the optimizer steps.
//
// Each question gets exactly one answer with the same `op`, even if the program cannot do what the
// question asks. The Site waits for at most one answer at any time. It may abandon a Get or Restore
// that has no answer yet, and ignores the answer. Other inputs may arrive while a question is open.
//
//     question                    possible answers
//     Get                         Got, Missing, Unknown
//     GetCopy                     Got, Missing
//     List                        Listed, Unknown
//     Create                      Created, Exists, Unknown
//     StoreDelta, StoreModel,     Stored, Unavailable
//       MakeInitial
//     Merge                       Merged, Corrupt, Unavailable
//     Restore                     Restored, Unavailable
//     LoadModel                   Loaded, Corrupt, Unavailable
//     Adopt                       Adopted, Corrupt, Unavailable
//     Cut                         CutReady
//
// Train, Discard, Delete, Overwrite, Sweep, Keep, KeepCommit, Note and Exit are orders without an
// answer.
//
// A question to the store may take long. Meanwhile the program must neither pause the trainer nor
// hold back other inputs. The names of all objects are relative to the folder `runs/<run>/` of the
// store.
//
// The comments below use these symbols (docs/rounds.md). theta is a committed model. x are the
// trainer's fp32 weights, and a is the trainer's anchor. d_j is the delta of the trainer's own
// contribution j. A prime marks the new value.
//
// The trainer reports every optimizer step by Stepped, in order, and before the CutReady that
// includes the step. It reports a step that did not change the weights by Skipped. Only the Site
// knows which blocks the trainer has used. The trainer carries out Cut and Adopt after the current
// step. After Cut, Adopt, LoadModel or Discard, the trainer pauses until the next Train.
namespace curtail::protocol {

/// The number of a question.
using Op = std::uint64_t;

// ---- inputs

/// Says only that time has passed. The program must send a Tick at the time that Site::wake()
/// returns, or earlier.
struct Tick {};

/// Answer to Create: the object did not exist and has been created.
struct Created {
    Op op{};
    std::optional<Time> stored_at;  ///< when the object was last modified, by the store's clock;
                                    ///< required if Create::want_time is set
};
/// Answer to Create: an object of that name exists already.
struct Exists {
    Op op{};
};
/// Answer to Get: the content of the object.
struct Got {
    Op op{};
    /// The content. If the object is longer than record_bytes_limit, `bytes` has
    /// record_bytes_limit + 1 bytes, and their values have no meaning.
    std::string bytes;
};
/// Answer to Get: the store says that the object does not exist.
struct Missing {
    Op op{};
};
/// Answer to List: the numbers of the commits that the store lists, as half-open ranges. A listing
/// may lack an object that was just created.
struct Listed {
    Op op{};
    CommitNumber after;  ///< List::after
    Ranges numbers;
};
/// Answer to Get, List or Create: the outcome is not known, because the store failed or did not
/// reply.
struct Unknown {
    Op op{};
    std::string why;
    ExitCode code{ExitCode::temporary};  ///< `permission`, `io` or `unavailable`: the error lasts
                                         ///< until somebody repairs the store. Any other code: a
                                         ///< later try may succeed.
    bool created_nothing{};  ///< only of a Create: the store has certainly not created the object
};

/// Answer to StoreDelta, StoreModel and MakeInitial: the payload is in the store and survives a
/// crash.
struct Stored {
    Op op{};
    PartRef payload;  ///< stored at the question's `place`
};
/// Answer to LoadModel: now x = a = theta, and the trainer has no undecided deltas and no work
/// since the last cut.
struct Loaded {
    Op op{};
};
/// Answer to Adopt: the trainer has the new model.
struct Adopted {
    Op op{};
};
/// Answer to Merge: the merge is done, or some contributions cannot be merged.
struct Merged {
    /// A contribution that cannot be merged.
    struct UnusableContribution {
        MemberId member;
        Seq seq;
        /// `nan`: some values of the delta are not finite. Or some values of the merged model are
        /// not finite, and this delta contributed most to the first of them. `norm`: the sum of the
        /// squares of the delta's values is not the one in the header (protocol::is_same_sumsq()).
        /// `digest`: 3 reads did not return the bytes that the header describes, or the bytes read
        /// are not a payload of this run.
        Refusal reason{Refusal::digest};
        bool absent{};  ///< the store found no object for the delta. The store's view may be out of
                        ///< date, so the Site repeats the merge before it refuses the contribution.
    };
    Op op{};
    std::vector<UnusableContribution> refused{};  ///< if not empty, no model was made
    std::optional<PartRef> weights{};             ///< theta', stored at Merge::weights
    std::optional<PartRef> momentum{};  ///< m', stored at Merge::momentum; empty if there is none
};
/// Answer to Restore.
struct Restored {
    Op op{};
    std::vector<std::string> stored{};   ///< names of the objects that the program stored again
    std::vector<std::string> damaged{};  ///< names of the objects that are still damaged or missing
};
/// Answer to Merge, LoadModel and Adopt: 3 reads did not return the committed model or momentum.
/// The object `name` is missing, has the wrong size or digest, or is not a payload of this run.
struct Corrupt {
    Op op{};
    std::string name;
    std::string why;
};
/// Answer to a question about payloads: the store failed or did not answer.
struct Unavailable {
    Op op{};
    std::string why;
    ExitCode code{ExitCode::temporary};  ///< as Unknown::code
};

/// Says that the trainer has made one optimizer step on `blocks`.
struct Stepped {
    Ranges blocks;
    FractionalSeconds seconds{};  ///< duration of the step in real time, without pauses
};
/// Says that the loss or a gradient of a step on `blocks` was not finite. The step did not change
/// the weights.
struct Skipped {
    Ranges blocks;
};
/// Answer to Cut: the trainer has set d_seq := a - x and then a := x. The trainer keeps d_seq until
/// an Adopt, LoadModel or Discard drops it.
///
/// If a value of a - x was not finite, the trainer has discarded the work instead: d_seq := 0 and
/// x := a. Then `nonfinite` is positive.
struct CutReady {
    Op op{};
    double sumsq{};            ///< sum of the squares of d_seq
    std::int64_t nonfinite{};  ///< how many values of a - x are not finite
};
/// Says which pieces of its journal the site has published. The next header and the next commit of
/// this process name them.
struct Published {
    JournalHeads heads;
};
/// Asks the Site to leave the run: to finish the step, contribute and exit by `end`.
struct StopRequested {
    /// From this time on, the Site begins no transfer of a payload. It still uses the answer to a
    /// transfer that began before, and then creates the record that announces the payload.
    MonoTime begin_until;
    MonoTime end;  ///< at this time, the Site exits without waiting for any answer
};

using Input = std::variant<Tick, Created, Exists, Got, Missing, Listed, Unknown, Stored, Loaded,
                           Adopted, Merged, Restored, Corrupt, Unavailable, Stepped, Skipped,
                           CutReady, Published, StopRequested>;

// ---- questions to the store

/// Asks for the content of an object.
struct Get {
    Op op{};
    std::string name;
};
/// Asks for this machine's copy of a record (KeepCommit). The answer is Missing if there is none
/// with this digest.
struct GetCopy {
    Op op{};
    std::string name;
    Digest sha256;
};
/// Asks which commits with a number greater than `after` the store has.
struct List {
    Op op{};
    CommitNumber after;
};
/// Asks to create an object, but not if an object named `name` exists already.
struct Create {
    Op op{};
    std::string name;
    std::string bytes;
    bool want_time{false};  ///< the answer Created must have `stored_at`
};

/// Where to store a payload.
struct PayloadPlace {
    std::string part;  ///< as PartRef::part
    std::string name;  ///< name of the object. No other process uses it. A retry may overwrite the
                       ///< object.
};
/// Asks to store the trainer's delta d_seq.
struct StoreDelta {
    Op op{};
    Seq seq;
    PayloadPlace place;
};
/// Asks to store, as a model, the values that x had at the last cut, whose `with_model` was set.
struct StoreModel {
    Op op{};
    PayloadPlace place;
};
/// Asks to make the initial weights from the seed and to store them.
struct MakeInitial {
    Op op{};
    std::int64_t seed{};
    PayloadPlace place;
};
/// Asks to read and verify the committed model and the deltas in `include`, and to merge the deltas
/// into the model (protocol/rules/merge.hpp). Also asks to store the new model.
///
/// The deltas are summed in the order of `include`. If `outer_step` is set, nesterov_step()
/// computes theta' and m', with eta and mu. Otherwise, average_step() computes theta'.
struct Merge {
    /// A contribution to merge.
    struct Source {
        MemberId member;
        Seq seq;
        float scale{};  ///< weight of the delta
        DeltaRef delta;
    };
    Op op{};
    ModelRef model;                 ///< theta
    std::optional<OuterRef> outer;  ///< the momentum m; empty: m = 0
    std::vector<Source> include{};
    bool outer_step{};
    double eta{};
    double mu{};
    PayloadPlace weights;                    ///< where to store theta'
    std::optional<PayloadPlace> momentum{};  ///< where to store m'; empty if `outer_step` is false
};

/// Asks to read each payload in `parts`, and to store those again that are damaged or missing.
/// Stores only bytes that have the size and the digest in `parts`.
struct Restore {
    Op op{};
    std::vector<PartRef> parts;
    /// The merge that made `parts`, which the program shall compute again. Its `op` has no meaning.
    /// Empty: the bytes are those that the program keeps (Keep), or of a delta that the trainer
    /// keeps.
    std::optional<Merge> recompute;
};

// ---- questions to the trainer

/// Asks the trainer to read theta from the store and to set x := theta and a := theta. The trainer
/// drops all earlier weights and work.
struct LoadModel {
    Op op{};
    ModelRef model;
};
/// Asks the trainer to finish the current step, to make a cut for the contribution `seq`, and to
/// pause. The trainer makes the cut even if there is no work since the last cut.
struct Cut {
    Op op{};
    Seq seq;
    bool leaving{};     ///< this is the member's last cut
    bool with_model{};  ///< a StoreModel may follow: the trainer keeps the values of x
};
/// Asks the trainer to adopt a newer model. The trainer first forgets the deltas in `dropped`.
///
/// If `keeps_weights` is false, the trainer then computes three values in this order:
/// - u = a - x, the work since the last cut; exactly zero if there was no step since then;
/// - a' = theta - (sum of the remaining d_j);
/// - x' = a' - u; exactly theta if u is zero and no d_j remains.
struct Adopt {
    Op op{};
    ModelRef model;            ///< theta; not read if `keeps_weights` is set
    bool keeps_weights{};      ///< set if this trainer stored theta by a StoreModel, or if the
                               ///< deltas in `dropped` are zero and theta stays. Then the trainer
                               ///< only forgets `dropped`; a and x do not change.
    std::vector<Seq> dropped;  ///< the deltas to forget, because commits have decided them
    CommitNumber commit;       ///< number of the newest commit, for logs
};

// ---- orders without an answer

/// Orders the trainer to train on `blocks`, in place of those of an earlier Train. The trainer
/// leaves out the blocks of steps that it has begun since its last pause. It takes the lowest block
/// first and pauses when no block is left. If the last blocks do not fill a step, the last step is
/// smaller.
struct Train {
    Ranges blocks;  ///< the blocks that the member holds, without those that a delta of the trainer
                    ///< contains and those that it has trained on or skipped since the last cut
    Tokens tokens_before;  ///< tokens in the committed model and in this member's undecided
                           ///< contributions. For the learning rate schedule, the trainer adds the
                           ///< tokens that it has trained on since the last cut.
    Tokens end;            ///< RunSpec::end() by the newest commit's terms
};
/// Orders the trainer to discard x, all deltas and all work since the last cut, because the member
/// was removed. A LoadModel comes before the next Train.
struct Discard {};
/// Orders the program to delete a payload object if it exists. The program may do so at any later
/// time.
struct Delete {
    std::string name;
};
/// Orders the program to store a record under a name that only this site uses, in place of an
/// older one. The order may fail.
struct Overwrite {
    std::string name;
    std::string bytes;
    Millis limit{Millis::max()};  ///< longest time, if it is shorter than usual
};
/// Orders the program to sweep the run once (docs/curtail-store.md): to list its payloads, and to
/// delete those that are older than `sweep_after` and that no commit needs. The program may do so
/// at any later time.
struct Sweep {
    Time now;  ///< by the store's clock
    Millis sweep_after{};
};
/// Orders the program to delete the bytes that it keeps on this machine, except those of `parts`
/// and of models of later rounds.
/// The program keeps the stored bytes of each model that it stores, loads or adopts, and of each
/// momentum that it stores. It keeps them from process to process of the site.
struct Keep {
    std::vector<PartRef> parts;
};
/// Orders the program to keep a copy of a commit on this machine, from process to process of the
/// site. The order may fail.
struct KeepCommit {
    CommitNumber number;
    std::string bytes;
};
/// Orders the program to write an event to events.jsonl. The functions in protocol/site/notes.hpp
/// make all Notes.
struct Note {
    std::string type;  ///< `joined`, `cut`, `contributed`, ...
    json::Object details;
};
/// Orders the program to stop the trainer and exit. After this output, the Site ignores all input.
struct Exit {
    ExitCode code{ExitCode::ok};
    std::optional<Error> error;  ///< empty if and only if `code` is ok
};

using Output = std::variant<Get, GetCopy, List, Create, StoreDelta, StoreModel, MakeInitial, Merge,
                            Restore, LoadModel, Cut, Adopt, Train, Discard, Delete, Overwrite,
                            Sweep, Keep, KeepCommit, Note, Exit>;

}  // namespace curtail::protocol
