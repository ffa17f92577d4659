// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

namespace curtail::data {

/// Called during a long operation, with the amount of work done so far and the total amount. The
/// operation chooses the unit, for example documents or tokens.
using ProgressCallback = std::function<void(double done, double total)>;
/// Called during an operation of several stages, with the name of the stage ("training the
/// tokenizer", ...) and its progress.
using StageCallback = std::function<void(std::string const& stage, double done, double total)>;

}  // namespace curtail::data
