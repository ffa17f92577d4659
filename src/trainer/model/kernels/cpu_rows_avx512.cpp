// SPDX-License-Identifier: Apache-2.0
#define CURTAIL_ROWS cpu_rows_avx512
#define CURTAIL_ROWS_NAME "avx512"
#include "trainer/model/kernels/cpu_rows.inl"
