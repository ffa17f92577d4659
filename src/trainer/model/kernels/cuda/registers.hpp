// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to this folder: each source with kernels enters its launch functions into the table.

#include "trainer/model/kernels/cuda/arguments.hpp"

namespace curtail::model {

template <class T>
void register_softcap_loss(CudaLaunches<T>& table);
template <class T>
void register_norm(CudaLaunches<T>& table);
template <class T>
void register_rotary(CudaLaunches<T>& table);
template <class T>
void register_square_relu(CudaLaunches<T>& table);

}  // namespace curtail::model
