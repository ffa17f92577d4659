// SPDX-License-Identifier: Apache-2.0
#define CURTAIL_ROWS cpu_rows_avx2
#define CURTAIL_ROWS_NAME "avx2"
#include "trainer/model/kernels/cpu_rows.inl"
