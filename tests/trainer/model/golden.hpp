// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "run/config/model.hpp"
#include "storage/tensors/reader.hpp"
#include "trainer/model/parameters.hpp"

namespace curtail::test {

/// A file of golden vectors from CURTAIL_GOLDEN_DIR, by default tests/golden. Throws
/// std::runtime_error if the file lacks what a test requests.
class Golden {
  public:
    explicit Golden(std::string const& file);
    [[nodiscard]] at::Tensor tensor(std::string const& name) const;   ///< float32, float64 or int64
    [[nodiscard]] double number(std::string const& attribute) const;  ///< attribute of the root
    /// Attribute of the root.
    [[nodiscard]] std::int64_t integer(std::string const& attribute) const;
    [[nodiscard]] bool has(std::string const& name) const;  ///< whether there is a tensor `name`
    [[nodiscard]] std::vector<std::string> groups() const;  ///< groups at the root, sorted
    /// The tensors whose names start with `prefix`. In the result, their names lack the prefix.
    [[nodiscard]] std::vector<model::NamedTensor> with_prefix(std::string const& prefix) const;
    [[nodiscard]] config::Model shape() const;  ///< from the attributes
    /// All parameters from `group`, which must hold nothing else.
    [[nodiscard]] model::Parameters parameters(std::string const& group) const;

  private:
    std::string file_;
    tensors::TensorReader reader_;
};

/// |a - b| / |b| with Frobenius norms, computed in double.
[[nodiscard]] double relative(at::Tensor const& a, at::Tensor const& b);
/// |a - b| / |b - start|: the difference relative to the update.
[[nodiscard]] double relative_to_update(at::Tensor const& a, at::Tensor const& b,
                                        at::Tensor const& start);
/// Prints and records a difference, so that a test run shows the distance to the tolerance.
void record(std::string const& what, double difference);

}  // namespace curtail::test
