// SPDX-License-Identifier: Apache-2.0
#define CURTAIL_LOOPS avx2
#define CURTAIL_FLOATS 8
#define CURTAIL_DOUBLES 4
#include "protocol/rules/merge_loops.inl"
