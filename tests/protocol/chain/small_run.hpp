// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hdf5.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "protocol/chain/run_objects.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "protocol/rules/merge.hpp"
#include "protocol/rules/next.hpp"

namespace curtail::chain::test {

/// The bytes of an HDF5 file with one list of numbers.
inline std::string hdf5_image(std::vector<float> const& values)
{
    hid_t const access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 4096, false);
    hid_t const file = H5Fcreate("image", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t const size = values.size();
    hid_t const space = H5Screate_simple(1, &size, nullptr);
    hid_t const set =
        H5Dcreate2(file, "w", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Sclose(space);
    H5Fflush(file, H5F_SCOPE_LOCAL);
    std::string image(
        static_cast<std::size_t>(std::max<ssize_t>(0, H5Fget_file_image(file, nullptr, 0))), '\0');
    H5Fget_file_image(file, image.data(), image.size());
    H5Fclose(file);
    H5Pclose(access);
    if (image.size() < 64) throw std::runtime_error("HDF5 made no image");
    return image;
}

/// A small run in a store, made with the protocol's own functions. The run has a lone phase, merges
/// of two sites with momentum, a refused contribution, a member that leaves, and old payloads that
/// are deleted.
class SmallRun {
  public:
    /// What payloads contain: arbitrary values in a file of the HDF5 library, arbitrary values in
    /// the form that Curtail writes, or in this form the merges that the commits record.
    enum class Models { arbitrary, unmerged, merged };
    /// Number of values of a model by default.
    static constexpr std::size_t elements = 100;

    explicit SmallRun(store::ObjectStore& objects, RunId id = {"small"}, std::int64_t blocks = 40,
                      Models models = Models::arbitrary, std::size_t size = elements)
        : objects_(objects), models_(models), size_(size)
    {
        spec_.run = std::move(id);
        spec_.model = {{"layers", 2}};
        spec_.manifest = sha256("manifest");
        spec_.blocks_per_epoch = blocks;
        spec_.tensors = {"wte", "head"};
        spec_.sites = {{"A"}, {"B"}};
        spec_.optimizer.batch_tokens = {8};
        spec_.outer.type = protocol::Outer::Type::nesterov;
        spec_.params.block_tokens = {8};
        spec_.params.grant_quantum = 8;
        spec_.params.keep_models = 2;
        spec_.params.milestone_every = 0;
        spec_.params.round_time = spec_.params.checkpoint_interval = Seconds{3};
        spec_.params.lease = Seconds{5};
        spec_.params.drop_after = Seconds{9};
        spec_.params.skew = Seconds{2};
    }

    /// Whether headers name a piece of their site's journal, which does not exist. Set it before a
    /// function makes the chain.
    bool names_journals{false};

    /// Makes a chain of `commits` commits: genesis, A joins, then A's merges.
    void make_lone(std::int64_t commits)
    {
        begin();
        if (commits > 1) a_ = join("A", 1);
        while (std::ssize(chain_) < commits) continue_lone();
    }
    /// Appends a merge of A to the chain that make_lone() made.
    void continue_lone() { merge({lone(a_, tip().find(a_)->seq.value + 1)}); }
    /// Makes all phases in order. In the end A has an undecided contribution, and B has left.
    void make()
    {
        begin();
        a_ = join("A", 1);
        b_ = join("B", 2);
        merge({lone(a_, 1)});
        merge({contribute(a_, 2), contribute(b_, 1)});
        merge({contribute(a_, 3), contribute(b_, 2)});
        auto spoiled = contribute(b_, 3);
        spoiled.bad = protocol::Refusal::digest;
        merge({contribute(a_, 4), spoiled});
        commit({contribute(b_, 4, true)}, {});
        (void)contribute(a_, 5);
        put(protocol::lease_name(tip().round, 1),
            protocol::encode(protocol::Lease{a_, 1, spec_.params.lease, now_}).bytes);
        for (auto const& old : {model_of(1), model_of(2), protocol::delta_name({2}, a_, {2})})
            remove(old);
    }

    /// Makes another chain, whose terms change. By the terms of run.json, its last commits would be
    /// invalid: the grants, a contribution with staleness 3, and the momentum of an outer step.
    void make_amended()
    {
        begin();
        a_ = join("A", 1);
        b_ = join("B", 2);
        auto terms = tip().terms;
        terms.params.max_staleness = 3;
        terms.params.grant_quantum = 4;
        terms.outer.mu = 0.5;
        amend(terms);
        auto const late = contribute(b_, 1);
        for (std::int64_t seq = 1; seq <= 3; ++seq) merge({contribute(a_, seq)});
        merge({contribute(a_, 4), late});
        merge({contribute(a_, 5), contribute(b_, 2)});
        merge({contribute(a_, 6), contribute(b_, 3)});
    }
    /// Appends a commit that takes in an amendment to `terms`.
    void amend(protocol::Terms const& terms)
    {
        auto const& last = tip().amended;
        protocol::Amendment a;
        a.run = spec_.run;
        a.number = last ? last->number + 1 : 1;
        a.previous = last ? last->sha256 : protocol::encode(spec_).sha256;
        a.base = tip().number;
        a.changes = protocol::changes(tip().terms, terms);
        auto const encoded = protocol::encode(a);
        put(protocol::amendment_name(a.number), encoded.bytes);
        protocol::Intents intents;
        intents.amend = protocol::NextAmendment{{a.number, encoded.sha256}, a};
        commit({}, intents);
    }
    /// Appends `merges` merges of both members, which must exist.
    void merge_both(std::int64_t merges)
    {
        for (std::int64_t i = 0; i < merges; ++i)
            merge({contribute(a_, tip().find(a_)->seq.value + 1),
                   contribute(b_, tip().find(b_)->seq.value + 1)});
    }
    /// Makes another chain of `merges` merges of two members.
    void make_both(std::int64_t merges)
    {
        begin();
        a_ = join("A", 1);
        b_ = join("B", 2);
        merge_both(merges);
    }
    /// Makes another chain: its last commit merges `contributions` contributions of each of A and
    /// B.
    void make_wide(std::int64_t contributions)
    {
        spec_.params.grant_quantum = 2 * contributions;
        begin();
        a_ = join("A", 1);
        b_ = join("B", 2);
        std::vector<protocol::KnownContribution> known;
        for (std::int64_t seq = 1; seq <= contributions; ++seq)
            for (auto const& member : {a_, b_}) known.push_back(contribute(member, seq));
        merge(known);
    }
    /// Appends to make(): B joins again, and the newest merge makes a new momentum.
    void make_outer_step()
    {
        b_ = join("B", 3);
        merge({contribute(a_, 5), contribute(b_, 1)});
        if (!tip().outer_step) throw std::logic_error("no outer step");
    }

    [[nodiscard]] protocol::RunSpec const& spec() const { return spec_; }
    [[nodiscard]] protocol::Commit const& tip() const { return chain_.back(); }
    [[nodiscard]] std::vector<protocol::Commit> const& chain() const { return chain_; }
    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] MemberId a() const { return a_; }
    [[nodiscard]] MemberId b() const { return b_; }

    /// The names of the objects that the chain refers to and that the store still has.
    [[nodiscard]] std::vector<std::string> kept() const
    {
        std::vector<std::string> names{protocol::run_name};
        auto const add = [&](std::string const& name) {
            auto const there = objects_.stat(*object_name(spec_.run, name));
            if (there.value() && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
        };
        for (auto const& c : chain_) {
            add(protocol::commit_name(c.number));
            for (auto const& part : c.payloads()) add(part.name);
            for (auto const& d : c.decided) {
                if (d.inlined) continue;
                add(protocol::header_name(d.member, d.seq));
                if (d.refused != protocol::Refusal::digest && !d.ranges.empty())
                    add(deltas_.at({d.member, d.seq}));
            }
        }
        return names;
    }

  private:
    void put(std::string const& name, std::string const& bytes)
    {
        if (!objects_.put(*object_name(spec_.run, name), store::bytes_of(bytes)))
            throw std::runtime_error("cannot put " + name);
    }
    void remove(std::string const& name)
    {
        if (!objects_.remove(*object_name(spec_.run, name)))
            throw std::runtime_error("cannot remove " + name);
    }
    // A file in the form that Curtail writes: a head of whole pages, then the values.
    static std::string plain_image(std::vector<float> const& values)
    {
        std::string image("\x89HDF\r\n\x1a\n\x02");
        image.resize(4096);
        auto const bytes = std::as_bytes(std::span(values));
        return image.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    }
    protocol::PartRef payload(std::string part, std::string const& name,
                              std::vector<float> values = {})
    {
        ++payloads_;
        for (std::size_t i = values.size(); i < size_; ++i)
            values.push_back(static_cast<float>(payloads_) / static_cast<float>(3 + i % 7));
        auto const image = models_ != Models::arbitrary
                               ? plain_image(values)
                               : hdf5_image({elements, static_cast<float>(payloads_)});
        values_[name] = std::move(values);
        put(name, image);
        return {std::move(part), name, static_cast<std::int64_t>(image.size()), sha256(image)};
    }
    [[nodiscard]] std::string model_of(std::int64_t round) const
    {
        for (auto const& c : chain_)
            if (c.round.value == round) return c.model.weights.name;
        throw std::out_of_range("no such round");
    }

    void append(protocol::Commit c)
    {
        auto const encoded = protocol::encode(c);
        put(protocol::commit_name(c.number), encoded.bytes);
        sha256_ = encoded.sha256;
        chain_.push_back(std::move(c));
    }
    void begin()
    {
        auto const run = protocol::encode(spec_);
        put(protocol::run_name, run.bytes);
        MemberId const non_member{"A.00000001.0"};
        append(protocol::genesis(spec_, run.sha256, {non_member, 1}, now_,
                                 payload("w0", protocol::model_name({1}, non_member, 1, "w0"))));
    }
    MemberId join(std::string const& site, std::uint32_t nonce)
    {
        protocol::Process const process{{site}, nonce};
        protocol::Intents intents;
        intents.admit = protocol::Admission{process, 1'000'000};
        auto id = protocol::member_id(process, tip().number.next());
        commit({}, intents, id);
        return id;
    }

    /// Contributes the two lowest blocks that the member holds.
    protocol::KnownContribution contribute(MemberId const& member, std::int64_t seq,
                                           bool leaving = false)
    {
        auto known = work(member, seq);
        auto& header = known.header;
        header.leaving = leaving;
        auto const name = protocol::delta_name(header.base_round, member, header.seq);
        header.delta = {payload("d0", name), 4.0};
        deltas_[{member, header.seq}] = name;
        auto const encoded = protocol::encode(header);
        put(protocol::header_name(member, header.seq), encoded.bytes);
        known.sha256 = encoded.sha256;
        return known;
    }
    /// The same for a lone member: its work is in the weights that it commits, so the store gets no
    /// header and no delta.
    protocol::KnownContribution lone(MemberId const& member, std::int64_t seq)
    {
        auto known = work(member, seq);
        auto const name = protocol::delta_name(known.header.base_round, member, known.header.seq);
        known.header.delta = {{"d0", name, 1, sha256("")}, 4.0};
        return known;
    }
    protocol::KnownContribution work(MemberId const& member, std::int64_t seq)
    {
        protocol::Header header;
        header.run = spec_.run;
        header.member = member;
        header.seq = {seq};
        header.base_round = tip().round;
        header.ranges = tip().find(member)->held.lowest(2);
        header.tokens = header.ranges.count() * spec_.params.block_tokens;
        header.steps = 2;
        header.rate = 1'000'000;
        if (names_journals)
            header.heads = {{"trainer", {seq, sha256(member.value + std::to_string(seq))}}};
        header.time = now_;
        return {header, {}, {}};
    }

    struct Merged {
        std::vector<float> model{};
        std::vector<float> momentum{};
    };
    // Empty if no delta is merged.
    Merged merge_of(protocol::Commit const& c)
    {
        std::vector<std::span<float const>> deltas;
        std::vector<float> scales;
        for (auto const& d : c.decided) {
            if (d.refused || d.ranges.empty() || d.inlined) continue;
            deltas.emplace_back(values_.at(deltas_.at({d.member, d.seq})));
            scales.push_back(d.scale);
        }
        if (deltas.empty() || models_ != Models::merged) return {};
        auto const& theta = values_.at(tip().model.weights.name);
        Merged merged{std::vector<float>(size_), std::vector<float>(size_)};
        protocol::WeightedDeltas const weighted{deltas, scales};
        auto const outer = protocol::in_force(spec_, tip()).outer;
        std::vector<float> const before =
            tip().outer ? values_.at(tip().outer->momentum.name) : std::vector<float>();
        if (c.outer_step)
            (void)protocol::nesterov_step(
                {theta, before, static_cast<float>(outer.eta), static_cast<float>(outer.mu)},
                weighted, merged.model, merged.momentum);
        else (void)protocol::average_step(theta, weighted, merged.model);
        return merged;
    }

    void merge(std::vector<protocol::KnownContribution> const& known) { commit(known, {}); }
    void commit(std::vector<protocol::KnownContribution> const& known,
                protocol::Intents const& intents, std::optional<MemberId> const& writer = {})
    {
        now_ += Seconds{1};
        protocol::CommitWriter const by{writer.value_or(a_), ++attempt_};
        auto c = protocol::next(spec_, tip(), sha256_, by, now_, known, intents);
        if (!c) throw std::logic_error("the commit would change nothing");
        auto merged = merge_of(*c);
        if (c->kind == protocol::Commit::Kind::merge)
            c->model = {c->round,
                        payload("w0", protocol::model_name(c->round, by.member, by.attempt, "w0"),
                                std::move(merged.model))};
        if (c->outer_step)
            c->outer = protocol::OuterRef{
                protocol::Outer::Type::nesterov,
                payload("m0", protocol::model_name(c->round, by.member, by.attempt, "m0"),
                        std::move(merged.momentum))};
        append(std::move(*c));
    }

    store::ObjectStore& objects_;
    Models models_;
    std::size_t size_;
    std::map<std::string, std::vector<float>> values_;  // of payloads, by name
    protocol::RunSpec spec_;
    std::vector<protocol::Commit> chain_;
    Digest sha256_;
    Time now_{from_unix_ms(1'795'270'000'000)};
    MemberId a_;
    MemberId b_;
    std::int64_t attempt_{0};
    int payloads_{0};
    std::map<std::pair<MemberId, Seq>, std::string> deltas_;
};

}  // namespace curtail::chain::test
