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

Result<std::int64_t> integer(tensors::TensorReader const& reader, std::string const& key)
{
    auto const* found = reader.attributes().find(key);
    if (found != nullptr && found->as_integer() != nullptr) return *found->as_integer();
    return fail(ExitCode::data, "snapshot", "attribute " + key + " is missing");
}

Result<void> check_text(tensors::TensorReader const& reader, std::string const& key,
                        std::string const& wanted)
{
    auto const* found = reader.attributes().find(key);
    if (found != nullptr && found->as_text() != nullptr && *found->as_text() == wanted) return {};
    return fail(ExitCode::data, "snapshot", "its " + key + " is not " + wanted);
}

Result<void> read_tensor(tensors::TensorReader const& reader, std::string const& name,
                         at::Tensor& into)
{
    auto const info = reader.info(name);
    if (!info) return tl::unexpected(info.error());
    if (info->shape != into.sizes().vec())
        return fail(ExitCode::data, name, "it has another shape than this model's");
    return reader.read_into(name, tensors::Dtype::float32, std::as_writable_bytes(space_of(into)))
        .and_then([&] { return check_finite(name, values_of(into)); });
}

Result<Snapshot> read_snapshot(tensors::TensorReader const& reader, RunId const& run,
                               config::Model const& shape)
{
    for (auto const& [key, wanted] :
         {std::pair<std::string, std::string>{"format", snapshot_format}, {"run", run.value}})
        if (auto good = check_text(reader, key, wanted); !good) return tl::unexpected(good.error());
    Snapshot snapshot{{}, {}, model::Parameters(shape), {}};
    if (auto const* owner = reader.attributes().find("owner");
        owner != nullptr && owner->as_text() != nullptr)
        snapshot.owner = *owner->as_text();
    for (auto const& [key, into] :
         {std::pair<std::string, std::int64_t*>{"tokens", &snapshot.position.tokens.value},
          {"steps", &snapshot.position.steps},
          {"rate", &snapshot.position.rate},
          {"optimizer_steps", &snapshot.optimizer.steps}}) {
        auto const value = integer(reader, key);
        if (!value) return tl::unexpected(value.error());
        *into = *value;
    }
    for (auto const& named : snapshot.weights.named()) {
        auto tensor = named.tensor;
        if (auto read = read_tensor(reader, "weights/" + named.name, tensor); !read)
            return tl::unexpected(read.error());
    }
    for (auto const& info : reader.list()) {
        if (info.name.rfind(optimizer_prefix, 0) != 0) continue;
        auto tensor = at::empty(info.shape, at::kFloat);
        if (auto read = read_tensor(reader, info.name, tensor); !read)
            return tl::unexpected(read.error());
        snapshot.optimizer.tensors.push_back({info.name.substr(optimizer_prefix.size()), tensor});
    }
    return snapshot;
}

}  // namespace

Result<void> save_snapshot(std::filesystem::path const& path, RunId const& run,
                           std::string const& owner, Position const& position,
                           model::Parameters const& weights, optim::OptimizerState const& optimizer)
{
    auto const refuse = [&](Error const& error) {
        return tl::unexpected(error.within("cannot save snapshot " + path.string()));
    };
    if (auto good = check_finite("weights", weights.values()); !good) return refuse(good.error());
    tensors::TensorWriter writer;
    writer.attribute("format", snapshot_format);
    writer.attribute("run", run.value);
    writer.attribute("owner", owner);
    writer.attribute("tokens", position.tokens.value);
    writer.attribute("steps", position.steps);
    writer.attribute("rate", position.rate);
    writer.attribute("optimizer_steps", optimizer.steps);
    for (auto const& named : weights.named())
        writer.add("weights/" + named.name, named.tensor.sizes().vec(), values_of(named.tensor));
    std::vector<at::Tensor> kept;
    for (auto const& named : optimizer.tensors) {
        kept.push_back(named.tensor.contiguous());
        if (auto good = check_finite(named.name, values_of(kept.back())); !good)
            return refuse(good.error());
        writer.add(std::string(optimizer_prefix) + named.name, named.tensor.sizes().vec(),
                   values_of(kept.back()));
    }
    return writer.write(path);
}

Result<std::optional<Snapshot>> load_snapshot(std::filesystem::path const& path, RunId const& run,
                                              config::Model const& shape)
{
    std::error_code unknown;
    if (std::filesystem::status(path, unknown).type() == std::filesystem::file_type::not_found)
        return std::optional<Snapshot>{};
    auto const explain = [&](Error const& error) {
        auto explained = error.within("cannot use snapshot " + path.string());
        explained.code = ExitCode::data;
        explained.remedy =
            "remove it to go on without it (a run's weights and data are in its store; only the "
            "optimizer's state is lost)";
        return explained;
    };
    auto const reader = tensors::TensorReader::open(path);
    if (!reader) return tl::unexpected(explain(reader.error()));
    auto snapshot = read_snapshot(*reader, run, shape);
    if (!snapshot) return tl::unexpected(explain(snapshot.error()));
    return std::optional<Snapshot>(std::move(*snapshot));
}

}  // namespace curtail::train
