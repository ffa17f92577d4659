// SPDX-License-Identifier: Apache-2.0
#define CURTAIL_ROWS cpu_rows_baseline
#define CURTAIL_ROWS_NAME "baseline"
#include "trainer/model/kernels/cpu_rows.inl"
