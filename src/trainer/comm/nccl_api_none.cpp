// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/nccl_api.hpp"

namespace curtail::comm {

NcclApi const* nccl_api() { return nullptr; }

}  // namespace curtail::comm
