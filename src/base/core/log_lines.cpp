// SPDX-License-Identifier: Apache-2.0
#include "base/core/log_lines.hpp"

#include <algorithm>

namespace curtail {

BrokenLines& BrokenLines::operator+=(BrokenLines const& other)
{
    if (count == 0) return *this = other;
    if (other.count == 0) return *this;
    count += other.count;
    after = after && other.after ? std::min(after, other.after) : std::nullopt;
    before = before && other.before ? std::max(before, other.before) : std::nullopt;
    return *this;
}

void BrokenLineFinder::good(Time time)
{
    if (is_after_broken_) found_.before = time;
    is_after_broken_ = false;
    last_good_ = time;
}

void BrokenLineFinder::broken()
{
    if (found_.count++ == 0) found_.after = last_good_;
    found_.before.reset();
    is_after_broken_ = true;
}

}  // namespace curtail
