// SPDX-License-Identifier: Apache-2.0
#define CURTAIL_LOOPS baseline
#define CURTAIL_FLOATS 4
#define CURTAIL_DOUBLES 2
#include "protocol/rules/merge_loops.inl"
