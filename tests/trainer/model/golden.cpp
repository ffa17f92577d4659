// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/golden.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <stdexcept>

#include "support/golden_folder.hpp"

namespace curtail::test {
namespace {

template <class T>
T need(Result<T> result)
{
    if (!result) throw std::runtime_error(result.error().message());
    return std::move(*result);
}

at::ScalarType scalar_type(tensors::Dtype dtype)
{
    switch (dtype) {
        case tensors::Dtype::float32:
            return at::kFloat;
        case tensors::Dtype::float64:
            return at::kDouble;
        case tensors::Dtype::int64:
            return at::kLong;
        default:
            throw std::runtime_error(std::string("golden tensor of type ") +
                                     tensors::name_of(dtype));
    }
}

tensors::TensorReader open_golden(std::string const& file)
{
    tensors::FileLimits limits;
    limits.compressed = true;
    return need(tensors::TensorReader::open(test::golden_folder() / file, limits));
}

}  // namespace

Golden::Golden(std::string const& file) : file_(file), reader_(open_golden(file)) {}

at::Tensor Golden::tensor(std::string const& name) const
{
    auto const info = need(reader_.info(name));
    auto out = at::empty(info.shape, at::TensorOptions(scalar_type(info.dtype)));
    std::span<std::byte> const bytes(static_cast<std::byte*>(out.mutable_data_ptr()),
                                     static_cast<std::size_t>(info.bytes()));
    if (auto read = reader_.read_into(name, info.dtype, bytes); !read)
        throw std::runtime_error(read.error().message());
    return out;
}

double Golden::number(std::string const& attribute) const
{
    auto const* value = reader_.attributes().find(attribute);
    if (value == nullptr || !value->as_number())
        throw std::runtime_error(file_ + " has no number " + attribute);
    return *value->as_number();
}

std::int64_t Golden::integer(std::string const& attribute) const
{
    return static_cast<std::int64_t>(number(attribute));
}

bool Golden::has(std::string const& name) const { return reader_.find(name) != nullptr; }

std::vector<std::string> Golden::groups() const
{
    std::set<std::string> names;
    for (auto const& info : reader_.list())
        if (auto const slash = info.name.find('/'); slash != std::string::npos)
            names.insert(info.name.substr(0, slash));
    return {names.begin(), names.end()};
}

std::vector<model::NamedTensor> Golden::with_prefix(std::string const& prefix) const
{
    std::vector<model::NamedTensor> found;
    for (auto const& info : reader_.list())
        if (info.name.starts_with(prefix))
            found.push_back({info.name.substr(prefix.size()), tensor(info.name)});
    return found;
}

config::Model Golden::shape() const
{
    config::Model shape{file_,
                        integer("n_layer"),
                        integer("n_embd"),
                        integer("n_head"),
                        integer("n_kv_head"),
                        integer("sequence_len"),
                        integer("vocab_size")};
    if (shape.padded_vocabulary() != integer("padded_vocab_size"))
        throw std::runtime_error(file_ + " has another padded vocabulary");
    return shape;
}

model::Parameters Golden::parameters(std::string const& group) const
{
    model::Parameters out(shape());
    for (auto const& [name, value] : out.named()) value.copy_(tensor(group + "/" + name));
    if (with_prefix(group + "/").size() != out.named().size())
        throw std::runtime_error(file_ + " has more parameters than the model");
    return out;
}

double relative(at::Tensor const& a, at::Tensor const& b)
{
    return relative_to_update(a, b, b.sub(b));
}

double relative_to_update(at::Tensor const& a, at::Tensor const& b, at::Tensor const& start)
{
    auto const exact = b.to(at::kDouble);
    auto const distance = [&](at::Tensor const& x) {
        return exact.sub(x.to(at::kDouble)).norm().item<double>();
    };
    return distance(a) / std::max(distance(start), 1e-30);
}

void record(std::string const& what, double difference)
{
    std::printf("[ measured ] %-60s %.1e\n", what.c_str(), difference);
    testing::Test::RecordProperty(what, std::to_string(difference));
}

}  // namespace curtail::test
