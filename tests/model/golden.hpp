// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "config/model.hpp"
#include "model/parameters.hpp"
#include "tensors/tensor_file.hpp"

namespace curtail::test {

/// A file of golden vectors: from CURTAIL_GOLDEN_DIR, else tests/golden. What it lacks is thrown as
/// std::runtime_error.
class Golden {
  public:
    explicit Golden(std::string const& file);
    [[nodiscard]] at::Tensor tensor(std::string const& name) const;   ///< float32, float64 or int64
    [[nodiscard]] double number(std::string const& attribute) const;  ///< attribute of the root
    [[nodiscard]] std::int64_t integer(
        std::string const& attribute) const;                ///< attribute of the root
    [[nodiscard]] bool has(std::string const& name) const;  ///< a tensor
    [[nodiscard]] std::vector<std::string> groups() const;  ///< at the root, sorted
    [[nodiscard]] std::vector<model::NamedTensor> under(
        std::string const& prefix) const;       ///< names without `prefix`
    [[nodiscard]] config::Model shape() const;  ///< from the attributes
    [[nodiscard]] model::Parameters parameters(
        std::string const& group) const;  ///< every one must be there, nothing else

  private:
    std::string file_;
    tensors::TensorReader reader_;
};

/// |a - b| / |b|, Frobenius norms in double.
[[nodiscard]] double relative(at::Tensor const& a, at::Tensor const& b);
/// |a - b| / |b - start|: the difference as a share of the update.
[[nodiscard]] double of_update(at::Tensor const& a, at::Tensor const& b, at::Tensor const& start);
/// Prints and records a measured difference, so that a run of the test shows how near the tolerance
/// is.
void measured(std::string const& what, double difference);

}  // namespace curtail::test
