// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/known_chain.hpp"

#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "protocol/rules/check.hpp"

namespace curtail::protocol::site {

void KnownChain::set_run(RunSpec run, Digest sha256)
{
    run_ = std::move(run);
    run_sha256_ = sha256;
}

std::optional<Error> KnownChain::start(std::string const& bytes)
{
    auto first = decoder_->commit(bytes, commit_name({1}));
    if (!first) return first.error();
    if (auto error = check_genesis(run_, run_sha256_, *first)) return error;
    set_tip(std::move(*first), bytes);
    return std::nullopt;
}

std::optional<Error> KnownChain::start(CommitNumber number, std::string const& bytes,
                                       std::string const& parent)
{
    auto const before = decoder_->commit(parent, commit_name({number.value - 1}));
    if (!before) return before.error();
    auto commit = decoder_->commit(bytes, commit_name(number));
    if (!commit) return commit.error();
    if (auto error = check(run_, *before, sha256(parent), *commit)) return error;
    set_tip(std::move(*commit), bytes);
    return std::nullopt;
}

std::optional<Error> KnownChain::advance(std::string const& bytes)
{
    auto commit = read_next(bytes);
    if (!commit) return commit.error();
    set_tip(std::move(*commit), bytes);
    if (tip_->kind == Commit::Kind::merge) round_began_ = tip_->time;
    return std::nullopt;
}

std::optional<Error> KnownChain::check_next(EncodedRecord const& encoded) const
{
    auto const commit = read_next(encoded.bytes);
    return commit ? std::nullopt : std::optional(commit.error());
}

Result<Commit> KnownChain::read_next(std::string const& bytes) const
{
    auto commit = decoder_->commit(bytes, commit_name(tip_->number.next()));
    if (!commit) return commit;
    if (auto error = check(run_, *tip_, tip_sha256_, *commit)) return tl::unexpected(*error);
    return commit;
}

void KnownChain::set_tip(Commit commit, std::string const& bytes)
{
    tip_ = std::move(commit);
    run_ = in_force(run_, *tip_);
    tip_sha256_ = sha256(bytes);
}

}  // namespace curtail::protocol::site
