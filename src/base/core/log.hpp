// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace curtail {

enum class Level { debug, info, warning, error };

/// A log for people. Each program creates a Log that writes to stderr, and passes it to the
/// libraries. Copies of a Log write to the same place. A Log drops each text whose level is
/// below `minimum`.
class Log {
  public:
    /// The function that receives each text to log.
    using Sink = std::function<void(Level, std::string_view)>;
    Log() = default;  ///< discards everything
    explicit Log(Sink sink, Level minimum = Level::info) : sink_(std::move(sink)), minimum_(minimum)
    {
    }
    /// Returns a log that writes each text to stderr as one line, in a single write:
    /// `2026-01-11T17:05:00.120Z curtail-poll warning: ...`. Escapes unprintable characters.
    [[nodiscard]] static Log to_stderr(std::string program, Level minimum = Level::info);

    void debug(std::string_view text) const { write(Level::debug, text); }
    void info(std::string_view text) const { write(Level::info, text); }
    void warning(std::string_view text) const { write(Level::warning, text); }
    void error(std::string_view text) const { write(Level::error, text); }

  private:
    void write(Level level, std::string_view text) const
    {
        if (sink_ && level >= minimum_) sink_(level, text);
    }
    Sink sink_;
    Level minimum_{Level::info};
};

}  // namespace curtail
