// SPDX-License-Identifier: Apache-2.0
#include "gpu/golden_model.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>

#include "storage/tensors/reader.hpp"
#include "trainer/model/gpt.hpp"

namespace curtail::check {
namespace {

// The contents of a file of golden vectors.
struct Golden {
    model::Parameters weights, gradients;
    at::Tensor input, target;
    double loss{};
};

Result<at::Tensor> read_tensor(tensors::TensorReader const& reader, std::string const& name)
{
    auto const info = reader.info(name);
    if (!info) return tl::unexpected(info.error());
    auto const type = info->dtype == tensors::Dtype::int64     ? at::kLong
                      : info->dtype == tensors::Dtype::float64 ? at::kDouble
                                                               : at::kFloat;
    auto tensor = at::empty(info->shape, at::TensorOptions(type));
    auto read = reader.read_into(name, info->dtype,
                                 {static_cast<std::byte*>(tensor.mutable_data_ptr()),
                                  static_cast<std::size_t>(tensor.nbytes())});
    if (!read) return tl::unexpected(read.error());
    return tensor;
}

Result<config::Model> shape_in(tensors::TensorReader const& reader,
                               std::filesystem::path const& file)
{
    config::Model shape;
    shape.name = "golden";
    for (auto const& [name, value] : {std::pair("n_layer", &config::Model::layers),
                                      {"n_embd", &config::Model::width},
                                      {"n_head", &config::Model::heads},
                                      {"n_kv_head", &config::Model::kv_heads},
                                      {"sequence_len", &config::Model::sequence},
                                      {"vocab_size", &config::Model::vocabulary}}) {
        auto const* const attribute = reader.attributes().find(name);
        auto const number = attribute == nullptr ? std::nullopt : attribute->as_number();
        if (!number || *number < 1)
            return fail(ExitCode::data, "cannot read " + file.string(),
                        std::string("its attribute ") + name + " is missing or not positive",
                        "use a file of golden vectors");
        shape.*value = static_cast<std::int64_t>(*number);
    }
    return shape;
}

Result<void> read_parameters(tensors::TensorReader const& reader, std::string const& group,
                             model::Parameters const& into)
{
    for (auto const& [name, parameter] : into.named()) {
        auto const tensor = read_tensor(reader, group + "/" + name);
        if (!tensor) return tl::unexpected(tensor.error());
        parameter.copy_(tensor->view(parameter.sizes()));
    }
    return {};
}

Result<Golden> read_golden(std::filesystem::path const& file)
{
    tensors::FileLimits limits;
    limits.compressed = true;
    auto const reader = tensors::TensorReader::open(file, limits);
    if (!reader) return tl::unexpected(reader.error());
    auto const shape = shape_in(*reader, file);
    if (!shape) return tl::unexpected(shape.error());
    Golden golden{model::Parameters(*shape), model::Parameters(*shape), {}, {}, 0};
    for (auto const& [group, into] :
         {std::pair("weights", &golden.weights), std::pair("grads", &golden.gradients)})
        if (auto read = read_parameters(*reader, group, *into); !read)
            return tl::unexpected(read.error());
    auto const input = read_tensor(*reader, "input");
    auto const target = read_tensor(*reader, "target");
    auto const loss = read_tensor(*reader, "loss");
    for (auto const* const tensor : {&input, &target, &loss})
        if (!*tensor) return tl::unexpected(tensor->error());
    golden.input = *input;
    golden.target = *target;
    golden.loss = loss->item<double>();
    return golden;
}

double relative(at::Tensor const& found, at::Tensor const& exact)
{
    auto const norm = [](at::Tensor const& tensor) {
        return at::linalg_vector_norm(tensor, 2, {}, false, at::kDouble).item<double>();
    };
    return norm(found.sub(exact)) / norm(exact);
}

}  // namespace

Result<std::vector<Measured>> check_golden_model(std::filesystem::path const& file,
                                                 ModelSubject const& subject)
{
    auto const golden = read_golden(file);
    if (!golden) return tl::unexpected(golden.error());
    auto weights = golden->weights.to(subject.device, subject.type);
    auto kernels = subject.kernels ? subject.kernels()
                                   : model::kernels_for(subject.type, subject.device.type());
    model::Gpt gpt(std::move(weights), {std::move(kernels)});
    auto const count = golden->target.ge(0).sum().item<double>();
    auto const loss = gpt.enqueue_gradients(golden->input.to(subject.device),
                                            golden->target.to(subject.device), 1 / count)
                          .item<double>() /
                      count;
    auto const gradients = gpt.gradients().to(at::kCPU, at::kFloat);
    double worst = 0;
    for (auto const& [name, gradient] : gradients.named()) {
        auto const error = relative(gradient, golden->gradients.get(name));
        if (!(error <= worst)) worst = error;  // NaN too
        if (std::isnan(worst)) break;
    }
    bool const rounded = subject.type == at::kBFloat16;
    auto const name = file.stem().string() + (rounded ? " bf16 " : " fp32 ");
    return std::vector<Measured>{
        {name + "loss", std::abs(loss - golden->loss) / golden->loss, rounded ? 1e-2 : 1e-4, {}},
        {name + "gradients", worst, rounded ? 5e-2 : 1e-4, {}}};
}

}  // namespace curtail::check
