// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/chain/verify.hpp"
#include "protocol/records/names.hpp"
#include "protocol/rules/check.hpp"
#include "simulator/invariant.hpp"
#include "simulator/kept_records.hpp"
#include "simulator/values.hpp"

namespace curtail::protocol::simulator {

Tickets tickets_of(Ranges const& ranges, std::size_t blocks);
Tickets operator+(Tickets a, Tickets const& b);
Tickets operator-(Tickets a, Tickets const& b);
std::string bytes_of(Tickets const& t);

/// A stored payload.
struct Payload {
    /// A delta, or a model that no merge made.
    explicit Payload(Tickets const& tickets);
    Payload(Tickets tickets, Values numbers);
    Tickets content;
    Values values;
    std::int64_t bytes{};
    Digest sha256;
};

/// What a merge makes. `momentum` is only stored by an outer step.
struct MergedPayloads {
    Payload model;
    Payload momentum;
};

/// The store of the simulation. Create-if-absent is linearizable; each new record is checked
/// against the invariants.
class SimStore {
  public:
    explicit SimStore(RunSpec run);

    /// Decodes the records of this store.
    [[nodiscard]] std::shared_ptr<RecordDecoder const> const& decoder() const { return decoder_; }

    /// Creates an object and returns true. Returns false, and changes nothing, if the name is
    /// taken.
    ///
    /// If `damages` is set, the store keeps wrong bytes of this header.
    bool create(std::string const& name, std::string const& bytes, bool damages = false);
    /// Stores a record of the program that writes this name. A header may only get the bytes that
    /// it had at first.
    void store_again(std::string const& name, std::string const& bytes);
    /// Stores an object without a condition, as no correct store would. Returns whether it is new.
    bool overwrite(std::string const& name, std::string const& bytes);
    /// Adds an object that no site of the simulation made.
    void inject(std::string const& name, std::string const& bytes) { small_.emplace(name, bytes); }
    [[nodiscard]] std::optional<std::string> get(std::string const& name) const;
    /// Returns the numbers of the commits that the store has.
    [[nodiscard]] Ranges listed_commits() const;
    /// Loses a commit of the chain. Only the same bytes may be stored under its name again.
    void lose_commit(CommitNumber number);
    [[nodiscard]] bool is_lost(std::string const& name) const { return lost_.contains(name); }
    [[nodiscard]] bool has_lost_commits() const { return !lost_.empty(); }
    /// Stores all lost commits again.
    void restore_commits();
    /// Adds an object that is no commit of the run, under the name of a commit that is none yet.
    void add_foreign_commit(std::string const& name, std::string const& bytes);
    void remove_foreign_commit(std::string const& name);
    void remove_foreign_commits();
    PartRef put(std::string const& part, std::string const& name, Payload content);
    /// Damages a payload, or removes it. Until it is stored again, the newest models
    /// may lack it.
    void damage(std::string const& name, bool remove);
    /// Repairs all damaged objects, so that the chain can be verified.
    void heal();
    void remove(std::string const& name);
    /// Returns the content if the object exists and has the digest in `ref`, otherwise null.
    [[nodiscard]] Tickets const* payload(PartRef const& ref) const;
    /// The same, with all of the object.
    [[nodiscard]] Payload const* whole(PartRef const& ref) const;
    /// Returns the content with the digest in `ref`, also if the object is damaged since damage().
    [[nodiscard]] Payload const* original(PartRef const& ref) const;
    /// Returns the numbers of original(); zeros if it does not exist.
    [[nodiscard]] Values values(PartRef const& ref) const;
    [[nodiscard]] std::vector<Commit> const& chain() const { return chain_; }
    [[nodiscard]] std::vector<Digest> const& digests() const { return digests_; }
    [[nodiscard]] std::size_t blocks() const { return blocks_; }
    /// Returns all objects but payloads, by name.
    [[nodiscard]] std::map<std::string, std::string>& small() { return small_; }
    [[nodiscard]] std::map<std::string, Payload> const& payloads() const { return payloads_; }

    /// Returns whether the member itself has created this header.
    [[nodiscard]] bool has_announced(MemberId const& member, Seq seq) const
    {
        return headers_.contains({member, seq});
    }
    /// Returns the tokens of the contributions after `decided` that a member has announced.
    [[nodiscard]] Tokens announced_after(MemberId const& member, Seq decided) const;

    [[nodiscard]] chain::VerifySource source() const;

    /// Returns the digest that the next amendment must name.
    [[nodiscard]] Digest last_amendment() const;

  private:
    void committed(std::string const& name, std::string const& bytes);

    void amended(Commit const& commit) const;

    /// Checks that each decision follows from the header and the parent's terms.
    void decisions(Commit const& commit) const;

    /// Checks the numbers of a merged model, which depend on the scales and the momentum.
    void merged(Commit const& commit) const;

    void contributed(std::string const& name, std::string const& bytes);

    /// Checks that pending contributions can be included, and that their deltas exist as announced.
    void pending() const;

    /// Checks that the newest models are still in the store.
    void kept() const;

    RunSpec run_;
    std::size_t blocks_;
    std::shared_ptr<RecordDecoder const> decoder_{std::make_shared<KeptRecords>(run_.limits)};
    std::map<std::string, std::string> small_;
    std::map<std::string, std::string> headers_as_sent_;  ///< by name; small_ may have other bytes
    std::map<std::string, std::string> lost_;  ///< commits that the store has lost, by name
    std::set<std::string> foreign_;            ///< names of foreign commits in small_
    std::map<std::string, Payload> payloads_;
    std::map<std::string, Payload> damaged_;  ///< by name: the right content
    std::vector<Commit> chain_;
    std::vector<Digest> digests_;
    std::map<std::pair<MemberId, Seq>, Header> headers_;
    std::map<MemberId, Seq> last_;           ///< last decided cut
    std::map<MemberId, CommitNumber> ever_;  ///< all ids ever admitted
};

}  // namespace curtail::protocol::simulator
