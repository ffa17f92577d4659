// SPDX-License-Identifier: Apache-2.0
#define CURTAIL_LOOPS avx512
#define CURTAIL_FLOATS 8
#define CURTAIL_DOUBLES 8
#include "protocol/rules/merge_loops.inl"
