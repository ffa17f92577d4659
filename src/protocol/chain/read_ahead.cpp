// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/read_ahead.hpp"

#include <algorithm>

#include "protocol/chain/in_parallel.hpp"

namespace curtail::chain {
namespace {

constexpr std::size_t at_a_time = 512;
constexpr std::size_t worth_a_thread = 16;

}  // namespace

void ReadAhead::read_next()
{
    auto const count = std::min(at_a_time, names_.size() - next_);
    std::vector<std::optional<Result<std::optional<std::string>>>> answers(count);
    in_parallel(count, worth_a_thread,
                [&](std::size_t i) { answers[i] = objects_.record(names_[next_ + i]); });
    for (std::size_t i = 0; i < count; ++i) {
        unread_.erase(names_[next_ + i]);
        read_.emplace(names_[next_ + i], std::move(*answers[i]));
    }
    next_ += count;
}

Result<std::optional<std::string>> ReadAhead::record(std::string const& name)
{
    while (unread_.count(name) > 0) {
        read_.clear();
        read_next();
    }
    auto const found = read_.find(name);
    if (found == read_.end()) return objects_.record(name);
    auto answer = std::move(found->second);
    read_.erase(found);
    return answer;
}

}  // namespace curtail::chain
