// SPDX-License-Identifier: Apache-2.0
#include "train/store_work.hpp"

#include <future>

#include "chain/run_objects.hpp"
#include "maintain/sweep.hpp"
#include "train/merger.hpp"

namespace curtail::train {
namespace {

constexpr Bytes small_object_limit{rounds::record_bytes_limit};

tl::unexpected<Error> uncertain(std::string const& name, char const* why)
{
    return fail(ExitCode::temporary, "cannot tell whether " + name + " was created", why);
}

}  // namespace

StoreWork::StoreWork(std::shared_ptr<store::ObjectStore> store, payload::Layout layout)
    : store_(std::move(store)), layout_(std::make_shared<payload::Layout const>(std::move(layout)))
{
}

Result<store::ObjectName> StoreWork::object(std::string const& name) const
{
    return chain::object_name(layout_->run, name);
}

Result<rounds::Input> StoreWork::get(rounds::Get const& question, Call const& call) const
{
    auto const name = object(question.name);
    if (!name) return tl::unexpected(name.error());
    auto content = store_->get(*name, small_object_limit, call);
    // Too long for a record: return any text of that length, which the protocol refuses.
    if (!content && content.error().code == ExitCode::data)
        return rounds::Got{question.op, std::string(rounds::record_bytes_limit + 1, ' ')};
    if (!content) return tl::unexpected(content.error());
    if (!*content) return rounds::Missing{question.op};
    return rounds::Got{question.op, std::string(store::text_of(**content))};
}

Result<rounds::Input> StoreWork::create(rounds::Create const& question, Call const& call) const
{
    auto const name = object(question.name);
    if (!name) return tl::unexpected(name.error());
    auto const outcome = store_->create(*name, store::bytes_of(question.bytes), call);
    if (!outcome) return tl::unexpected(outcome.error());
    if (*outcome == store::CreateOutcome::unknown)
        return uncertain(question.name, "the store's reply was lost");
    if (*outcome == store::CreateOutcome::exists) return rounds::Exists{question.op};
    if (!question.want_time) return rounds::Created{question.op, std::nullopt};
    auto const info = store_->stat(*name, call);
    if (!info) return tl::unexpected(info.error());
    if (!*info) return uncertain(question.name, "the object has disappeared");
    return rounds::Created{question.op, (*info)->modified};
}

Result<rounds::PartRef> StoreWork::put_one(rounds::Target const& target, Values const& values,
                                           Call const& call) const
{
    auto const name = object(target.name);
    if (!name) return tl::unexpected(name.error());
    auto const encoded = payload::encode(*layout_, target.part, *values);
    auto const bytes = encoded.pieces();
    // In another thread if one can start.
    auto digest = std::async([&] { return sha256_of(bytes); });
    if (auto stored = store_->put(*name, bytes, call); !stored)
        return tl::unexpected(stored.error());
    rounds::PartRef const part{target.part, target.name, static_cast<std::int64_t>(bytes.size()),
                               digest.get()};
    made_->add(part, values);
    return part;
}

Result<std::vector<rounds::PartRef>> StoreWork::put(std::vector<rounds::Target> const& targets,
                                                    Values const& values, Call const& call) const
{
    auto stored = put_one(targets.at(0), values, call);
    if (!stored) return tl::unexpected(stored.error());
    return std::vector{std::move(*stored)};
}

tl::expected<Values, store::ReadFailure> StoreWork::read(rounds::PartRef const& part,
                                                         Call const& call) const
{
    return read_payload(source(), part, call);
}

Result<rounds::Input> StoreWork::merge(rounds::Merge const& question, Byproducts& byproducts,
                                       Call const& call) const
{
    Merger merger(source(), question, call);
    auto const computed = merger.run();
    byproducts.warnings = merger.warnings();
    if (!computed) return computed.error();
    rounds::Merged merged{question.op, {}, {}, {}};
    if (question.outer_step) {
        auto part = put_one(question.momentum.at(0), computed->momentum, call);
        if (!part) return tl::unexpected(part.error());
        byproducts.stored.push_back({*part, computed->momentum});
        merged.momentum.push_back(std::move(*part));
    }
    auto part = put_one(question.weights.at(0), computed->model, call);
    if (!part) return tl::unexpected(part.error());
    byproducts.stored.push_back({*part, computed->model});
    merged.model.push_back(std::move(*part));
    return merged;
}

Result<void> StoreWork::overwrite(rounds::Overwrite const& order, Call const& call) const
{
    auto const name = object(order.name);
    if (!name) return tl::unexpected(name.error());
    return store_->put(*name, Pieces(std::string_view(order.bytes)), call);
}

Result<void> StoreWork::remove(std::string const& name, Call const& call) const
{
    auto const object_name = object(name);
    if (!object_name) return tl::unexpected(object_name.error());
    return store_->remove(*object_name, call);
}

Result<runlog::Swept> StoreWork::sweep(rounds::Sweep const& order) const
{
    chain::RunObjects const objects(*store_, layout_->run);
    auto const plan = maintain::plan_sweep(objects, order.now, {order.sweep_after});
    if (!plan) return tl::unexpected(plan.error());
    auto const result = maintain::carry_out(objects, *plan);
    if (!result.errors.empty()) return tl::unexpected(result.errors.front());
    return runlog::Swept{result.deleted, result.freed};
}

}  // namespace curtail::train
