// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "chain/verify.hpp"
#include "rounds/check.hpp"
#include "rounds/names.hpp"

namespace curtail::rounds::test {

/// A broken invariant.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void require(bool good, std::string const& what)
{
    if (!good) throw Violation(what);
}

/// Simulated weights. For each block, they count how often the block was used for training.
using Tickets = std::vector<int>;

inline Tickets tickets_of(Ranges const& ranges, std::size_t blocks)
{
    Tickets t(blocks, 0);
    for (auto const& r : ranges.list())
        for (auto b = r.begin; b < r.end; ++b) t[static_cast<std::size_t>(b)] = 1;
    return t;
}
inline Tickets operator+(Tickets a, Tickets const& b)
{
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
}
inline Tickets operator-(Tickets a, Tickets const& b)
{
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
    return a;
}
inline std::string bytes_of(Tickets const& t)
{
    std::string s;
    for (int const v : t) s += std::to_string(v) + " ";
    return s;
}

/// The store of the simulation. Create-if-absent is linearizable; each new record is checked
/// against the invariants.
class SimStore {
  public:
    SimStore(RunSpec run)
        : run_(std::move(run)), blocks_(static_cast<std::size_t>(run_.stream_blocks()))
    {
    }

    /// Creates an object and returns true. Returns false, and changes nothing, if the name is
    /// taken.
    bool create(std::string const& name, std::string const& bytes)
    {
        if (!small_.emplace(name, bytes).second) return false;
        if (name.rfind("commits/", 0) == 0) committed(name, bytes);
        if (name.rfind("contrib/", 0) == 0) contributed(name, bytes);
        return true;
    }
    /// Adds an object that no site of the simulation made.
    void inject(std::string const& name, std::string const& bytes) { small_.emplace(name, bytes); }
    [[nodiscard]] std::optional<std::string> get(std::string const& name) const
    {
        auto const it = small_.find(name);
        return it == small_.end() ? std::nullopt : std::optional(it->second);
    }
    PartRef put(std::string const& part, std::string const& name, Tickets content)
    {
        auto const bytes = bytes_of(content);
        payloads_[name] = std::move(content);
        spoiled_.erase(name);
        return {part, name, static_cast<std::int64_t>(bytes.size()), sha256(bytes)};
    }
    void spoil(std::string const& name)
    {
        payloads_.at(name)[0] += 100;
        spoiled_.insert(name);
    }
    /// Repairs all spoiled payloads, so that the chain can be verified.
    void heal()
    {
        for (auto const& name : spoiled_)
            if (payloads_.contains(name)) payloads_.at(name)[0] -= 100;
        spoiled_.clear();
    }
    void remove(std::string const& name)
    {
        payloads_.erase(name);
        kept();
    }
    /// Returns the content if the object exists and has the digest in `ref`, otherwise null.
    [[nodiscard]] Tickets const* payload(PartRef const& ref) const
    {
        auto const it = payloads_.find(ref.name);
        return it != payloads_.end() && sha256(bytes_of(it->second)) == ref.sha256 ? &it->second
                                                                                   : nullptr;
    }
    [[nodiscard]] std::vector<Commit> const& chain() const { return chain_; }
    [[nodiscard]] std::vector<Digest> const& digests() const { return digests_; }
    [[nodiscard]] std::size_t blocks() const { return blocks_; }
    /// Returns all objects but payloads, by name.
    [[nodiscard]] std::map<std::string, std::string>& small() { return small_; }
    [[nodiscard]] std::map<std::string, Tickets> const& payloads() const { return payloads_; }

    [[nodiscard]] chain::VerifySource source() const
    {
        return {
            [this](std::string const& name) -> Result<std::optional<std::string>> {
                return get(name);
            },
            [this](std::string const& name) -> Result<std::optional<chain::PayloadFacts>> {
                auto const it = payloads_.find(name);
                if (it == payloads_.end()) return std::nullopt;
                auto const bytes = bytes_of(it->second);
                return chain::PayloadFacts{static_cast<std::int64_t>(bytes.size()), sha256(bytes)};
            }};
    }

  private:
    void committed(std::string const& name, std::string const& bytes)
    {
        auto const commit = decode_commit(bytes, name);
        require(commit.has_value(), commit ? "" : "invalid commit: " + commit.error().message());
        require(commit->number.value == static_cast<std::int64_t>(chain_.size()) + 1,
                "a commit beyond the end of the chain");
        auto const error = chain_.empty()
                               ? check_genesis(run_, sha256(small_.at(run_name)), *commit)
                               : check(run_, chain_.back(), digests_.back(), *commit);
        require(!error, error ? error->message() : "");
        auto const* model = payload(commit->model.parts.at(0));
        require(model != nullptr, "the model of commit " + std::to_string(commit->number.value) +
                                      " is missing in the store");
        require(*model == tickets_of(commit->done, blocks_),
                "commit " + std::to_string(commit->number.value) + " has model " +
                    bytes_of(*model) + "but ledger " + commit->done.to_string());
        for (auto const& d : commit->decided) {
            if (!d.header) continue;
            auto const header = get(header_name(d.member, d.seq));
            require(header && sha256(*header) == *d.header,
                    "a decided contribution has no such header in the store");
        }
        for (auto const& d : commit->decided) last_[d.member] = d.seq;
        for (auto const& r : commit->removed)
            if (r.reason == Removal::left)
                require(!headers_.contains({r.member, last_[r.member].next()}),
                        "" + r.member.value + " left with an undecided contribution");
        for (auto const& m : commit->members) {
            bool const fresh = member_parts(m.id).admitted == commit->number;
            if (fresh)
                require(ever_.insert({m.id, commit->number}).second,
                        "id admitted twice: " + m.id.value);
        }
        chain_.push_back(*commit);
        digests_.push_back(sha256(bytes));
        pending();
        kept();
    }

    void contributed(std::string const& name, std::string const& bytes)
    {
        auto const header = decode_header(bytes, name);
        require(header.has_value(), header ? "" : "invalid header: " + header.error().message());
        headers_[{header->member, header->seq}] = *header;
        pending();
    }

    /// Checks that pending contributions can be included, and that their deltas exist as announced.
    void pending() const
    {
        if (chain_.empty()) return;
        for (auto const& m : chain_.back().members) {
            auto held = m.held;
            for (Seq seq = m.seq.next(); headers_.contains({m.id, seq}); seq = seq.next()) {
                auto const& h = headers_.at({m.id, seq});
                auto const which = m.id.value + "." + std::to_string(seq.value);
                require(held.contains(h.ranges),
                        "pending contribution " + which +
                            " is outside the blocks that its member holds");
                held -= h.ranges;
                for (auto const& part : h.parts) {
                    auto const it = payloads_.find(part.payload.name);
                    require(it != payloads_.end(), "delta of pending " + which + " is missing");
                    auto const right = tickets_of({}, blocks_) - tickets_of(h.ranges, blocks_);
                    require(payload(part.payload) == nullptr || it->second == right,
                            "" + which + " contains other work than announced");
                }
            }
        }
    }

    /// Checks that the newest models are still in the store.
    void kept() const
    {
        if (chain_.empty()) return;
        auto const newest = chain_.back().round.value;
        for (auto const& c : chain_)
            if (c.kind != Commit::Kind::roster && c.round.value > newest - run_.params.keep_models)
                require(payload(c.model.parts.at(0)) != nullptr,
                        "model of round " + std::to_string(c.round.value) + " was deleted");
    }

    RunSpec run_;
    std::size_t blocks_;
    std::map<std::string, std::string> small_;
    std::map<std::string, Tickets> payloads_;
    std::set<std::string> spoiled_;
    std::vector<Commit> chain_;
    std::vector<Digest> digests_;
    std::map<std::pair<MemberId, Seq>, Header> headers_;
    std::map<MemberId, Seq> last_;           ///< last decided cut
    std::map<MemberId, CommitNumber> ever_;  ///< all ids ever admitted
};

}  // namespace curtail::rounds::test
