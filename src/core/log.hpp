// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace curtail {

enum class Level { debug, info, warning, error };

/// Lines for people about what a program is doing. Programs make one that writes to stderr and hand
/// it down; libraries that need none take none. Copies share the sink.
class Log {
  public:
    using Sink = std::function<void(Level, std::string_view)>;
    Log() = default;  ///< says nothing
    explicit Log(Sink sink, Level least = Level::info) : sink_(std::move(sink)), least_(least) {}
    /// To stderr, one write per line: `2026-01-11T17:05:00.120Z curtail-poll warning: ...`.
    [[nodiscard]] static Log to_stderr(std::string program, Level least = Level::info);

    void debug(std::string_view text) const { write(Level::debug, text); }
    void info(std::string_view text) const { write(Level::info, text); }
    void warning(std::string_view text) const { write(Level::warning, text); }
    void error(std::string_view text) const { write(Level::error, text); }

  private:
    void write(Level level, std::string_view text) const
    {
        if (sink_ && level >= least_) sink_(level, text);
    }
    Sink sink_;
    Level least_{Level::info};
};

}  // namespace curtail
