// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

namespace curtail::data {

/// Progress of a long operation: done and total, in a unit of its own.
using ProgressCallback = std::function<void(double done, double total)>;
/// The same for an operation of several stages ("training the tokenizer", ...).
using StageCallback = std::function<void(std::string const& stage, double done, double total)>;

}  // namespace curtail::data
