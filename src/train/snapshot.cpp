// SPDX-License-Identifier: Apache-2.0
#include "train/snapshot.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "tensors/reader.hpp"
#include "tensors/writer.hpp"

namespace curtail::train {
namespace {

constexpr char const* snapshot_format = "curtail.snapshot/1";
constexpr std::string_view optimizer_prefix = "optimizer/";

std::span<float const> values_of(at::Tensor const& tensor)
{
    return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}
std::span<float> space_of(at::Tensor& tensor)
{
    return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

Result<void> check_finite(std::string const& name, std::span<float const> values)
{
    if (std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
        return {};
    return fail(ExitCode::data, name, "it has values that are not finite");
}

class SnapshotReader {
  public:
    explicit SnapshotReader(tensors::TensorReader const& reader) : reader_(reader) {}

    Result<Snapshot> read(RunId const& run, config::Model const& shape) const
    {
        Snapshot snapshot{{}, {}, model::Parameters(shape), {}};
        return check_text("format", snapshot_format)
            .and_then([&] { return check_text("run", run.value); })
            .and_then([&] { return read_attributes(snapshot); })
            .and_then([&] { return read_weights(snapshot.weights); })
            .and_then([&] { return read_optimizer(snapshot.optimizer); })
            .map([&] { return std::move(snapshot); });
    }

  private:
    [[nodiscard]] std::string const* text(std::string const& key) const
    {
        auto const* found = reader_.attributes().find(key);
        return found == nullptr ? nullptr : found->as_text();
    }
    [[nodiscard]] Result<void> check_text(std::string const& key, std::string const& expected) const
    {
        auto const* found = text(key);
        if (found != nullptr && *found == expected) return {};
        return fail(ExitCode::data, "snapshot", "its " + key + " is not " + expected);
    }
    [[nodiscard]] Result<void> read_integer(std::string const& key, std::int64_t& into) const
    {
        auto const* found = reader_.attributes().find(key);
        if (found == nullptr || found->as_integer() == nullptr)
            return fail(ExitCode::data, "snapshot", "attribute " + key + " is missing");
        into = *found->as_integer();
        return {};
    }
    [[nodiscard]] Result<void> read_attributes(Snapshot& snapshot) const
    {
        if (auto const* training_id = text("owner")) snapshot.training_id = *training_id;
        auto& position = snapshot.position;
        return read_integer("tokens", position.tokens.value)
            .and_then([&] { return read_integer("steps", position.steps); })
            .and_then([&] { return read_integer("rate", position.rate); })
            .and_then([&] { return read_integer("optimizer_steps", snapshot.optimizer.steps); });
    }
    [[nodiscard]] Result<void> read_tensor(std::string const& name, at::Tensor& into) const
    {
        auto const info = reader_.info(name);
        if (!info) return tl::unexpected(info.error());
        if (info->shape != into.sizes().vec())
            return fail(ExitCode::data, name, "its shape differs from this model's");
        return reader_
            .read_into(name, tensors::Dtype::float32, std::as_writable_bytes(space_of(into)))
            .and_then([&] { return check_finite(name, values_of(into)); });
    }
    [[nodiscard]] Result<void> read_weights(model::Parameters& weights) const
    {
        for (auto const& named : weights.named()) {
            auto tensor = named.tensor;
            if (auto read = read_tensor("weights/" + named.name, tensor); !read) return read;
        }
        return {};
    }
    [[nodiscard]] Result<void> read_optimizer(optim::OptimizerState& optimizer) const
    {
        for (auto const& info : reader_.list()) {
            if (info.name.rfind(optimizer_prefix, 0) != 0) continue;
            auto tensor = at::empty(info.shape, at::kFloat);
            if (auto read = read_tensor(info.name, tensor); !read) return read;
            optimizer.tensors.push_back({info.name.substr(optimizer_prefix.size()), tensor});
        }
        return {};
    }

    tensors::TensorReader const& reader_;
};

// The optimizer's tensors, contiguous and checked.
Result<std::vector<model::NamedTensor>> finite_tensors(optim::OptimizerState const& optimizer)
{
    std::vector<model::NamedTensor> tensors;
    for (auto const& named : optimizer.tensors) {
        tensors.push_back({named.name, named.tensor.contiguous()});
        if (auto good = check_finite(named.name, values_of(tensors.back().tensor)); !good)
            return tl::unexpected(good.error());
    }
    return tensors;
}

}  // namespace

Result<void> save_snapshot(std::filesystem::path const& path, RunId const& run,
                           std::string const& training_id, Position const& position,
                           model::Parameters const& weights, optim::OptimizerState const& optimizer)
{
    auto const state = check_finite("weights", weights.values()).and_then([&] {
        return finite_tensors(optimizer);
    });
    if (!state)
        return tl::unexpected(state.error().with_context("cannot save snapshot " + path.string()));
    tensors::TensorWriter writer;
    writer.attribute("format", snapshot_format);
    writer.attribute("run", run.value);
    writer.attribute("owner", training_id);
    writer.attribute("tokens", position.tokens.value);
    writer.attribute("steps", position.steps);
    writer.attribute("rate", position.rate);
    writer.attribute("optimizer_steps", optimizer.steps);
    for (auto const& [name, tensor] : weights.named())
        writer.add("weights/" + name, tensor.sizes().vec(), values_of(tensor));
    for (auto const& [name, tensor] : *state)
        writer.add(std::string(optimizer_prefix) + name, tensor.sizes().vec(), values_of(tensor));
    return writer.write(path);
}

Result<std::optional<Snapshot>> load_snapshot(std::filesystem::path const& path, RunId const& run,
                                              config::Model const& shape)
{
    std::error_code unknown;
    if (std::filesystem::status(path, unknown).type() == std::filesystem::file_type::not_found)
        return std::optional<Snapshot>{};
    auto const explain = [&](Error const& error) {
        auto explained = error.with_context("cannot use snapshot " + path.string());
        explained.code = ExitCode::data;
        explained.remedy =
            "remove it to continue without it (the weights and data of a run are in its store; "
            "only the optimizer state is lost)";
        return explained;
    };
    auto const reader = tensors::TensorReader::open(path);
    if (!reader) return tl::unexpected(explain(reader.error()));
    auto snapshot = SnapshotReader(*reader).read(run, shape);
    if (!snapshot) return tl::unexpected(explain(snapshot.error()));
    return std::optional<Snapshot>(std::move(*snapshot));
}

}  // namespace curtail::train
