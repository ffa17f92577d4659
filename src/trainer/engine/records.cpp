// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/records.hpp"

#include "protocol/chain/run_objects.hpp"

namespace curtail::trainer {
namespace {

constexpr Bytes size_limit{protocol::record_bytes_limit};

tl::unexpected<Records::CreateFailure> uncertain(std::string const& name, std::string why)
{
    Error error{
        ExitCode::temporary, "cannot tell whether " + name + " was created", std::move(why), {}};
    return tl::unexpected(Records::CreateFailure{std::move(error), false});
}

tl::unexpected<Records::CreateFailure> not_created(Error error)
{
    return tl::unexpected(Records::CreateFailure{std::move(error), true});
}

}  // namespace

Records::Records(std::shared_ptr<store::ObjectStore> store, RunId run)
    : store_(std::move(store)), run_(std::move(run))
{
}

Result<protocol::Input> Records::get(protocol::Get const& question, CallLimits const& call) const
{
    auto const name = chain::object_name(run_, question.name);
    if (!name) return tl::unexpected(name.error());
    auto content = store_->get(*name, size_limit, call);
    // Too long for a record: return any text of that length, which the protocol refuses.
    if (!content && content.error().code == ExitCode::data)
        return protocol::Got{question.op, std::string(protocol::record_bytes_limit + 1, ' ')};
    if (!content) return tl::unexpected(content.error());
    if (!*content) return protocol::Missing{question.op};
    return protocol::Got{question.op, std::string(store::text_of(**content))};
}

tl::expected<protocol::Input, Records::CreateFailure> Records::create(
    protocol::Create const& question, CallLimits const& call) const
{
    auto const name = chain::object_name(run_, question.name);
    if (!name) return not_created(name.error());
    auto const outcome = store_->create(*name, store::bytes_of(question.bytes), call);
    if (!outcome) return not_created(outcome.error());
    if (*outcome == store::CreateOutcome::unknown)
        return uncertain(question.name, "the store's reply was lost");
    if (*outcome == store::CreateOutcome::exists) return protocol::Exists{question.op};
    if (!question.want_time) return protocol::Created{question.op, std::nullopt};
    auto const info = store_->stat(*name, call);
    if (!info) return uncertain(question.name, info.error().message());
    if (!*info) return uncertain(question.name, "the object has disappeared");
    return protocol::Created{question.op, (*info)->modified};
}

Result<void> Records::overwrite(protocol::Overwrite const& order, CallLimits const& call) const
{
    auto const name = chain::object_name(run_, order.name);
    if (!name) return tl::unexpected(name.error());
    return store_->put(*name, Pieces(std::string_view(order.bytes)), call);
}

}  // namespace curtail::trainer
