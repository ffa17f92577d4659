// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

#include "protocol/site/site.hpp"

namespace curtail::protocol::simulator {

/// Signs of life in `status/`: whether one process gives them, and whether it waits for those of
/// others before it removes their members.
class Signs {
  public:
    /// Takes that the process has ordered to write its own status.
    void written(MonoTime now) { written_ = now; }
    /// Takes the answer to a read of a status; null: there is none.
    void read(std::string const& name, std::string const* bytes, Millis now);
    /// Checks after an input that a member has written its status in time. `status` is that of
    /// `site`. `awake`: since when the process has not been suspended.
    void check_written(Site const& site, Status const& status, MonoTime now, MonoTime awake);
    /// Checks that this process, which is no member, may remove a silent member: the reads of its
    /// status were far apart and equal.
    void check_removal(Member const& member, Params const& params) const;
    /// Checks that this process, which is no member, may remove the member of another process of
    /// its site that has not ended: all reads of the status in two intervals were equal.
    void check_succession(Member const& member, Params const& params) const;

  private:
    struct Reads {
        std::optional<std::string> bytes;
        Millis first, last;
    };
    MonoTime written_{};
    std::optional<MonoTime> member_since_;
    std::map<std::string, Reads> reads_;
};

}  // namespace curtail::protocol::simulator
