// SPDX-License-Identifier: Apache-2.0
#include "base/core/time.hpp"

#include <fmt/format.h>

#include "base/core/text.hpp"

namespace curtail {
namespace {

// Reads fixed-width digits and separators from the front of a text. After a mismatch, good() stays
// false.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : rest_(text) {}
    int digits(std::size_t count)
    {
        int value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (!next_is_digit()) {
                good_ = false;
                return 0;
            }
            value = value * 10 + (rest_[0] - '0');
            rest_.remove_prefix(1);
        }
        return value;
    }
    bool accept(char c)
    {
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char c) { good_ = accept(c) && good_; }
    [[nodiscard]] bool next_is_digit() const
    {
        return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9';
    }
    // The digits of a fraction of a second. Ignores those beyond milliseconds.
    int fraction_ms()
    {
        int ms = 0;
        for (int weight = 100; next_is_digit(); weight /= 10) ms += digits(1) * weight;
        return ms;
    }
    [[nodiscard]] bool at_end() const { return rest_.empty(); }
    [[nodiscard]] bool good() const { return good_; }

  private:
    std::string_view rest_;
    bool good_{true};
};

struct Problem {
    char const* why;
    char const* remedy{"write it like 2026-01-11T14:20:00Z"};
};

// The offset from UTC: `Z`, `+01:00` or `+0100`.
tl::expected<std::chrono::minutes, Problem> scan_offset(Scanner& scan)
{
    using std::chrono::hours;
    using std::chrono::minutes;
    if (scan.accept('Z')) return minutes{0};
    bool const east = scan.accept('+');
    if (!east && !scan.accept('-'))
        return tl::unexpected(
            Problem{"it has no time zone", "append Z or an offset such as +00:00"});
    int const hour = scan.digits(2);
    scan.accept(':');
    int const minute = scan.digits(2);
    if (hour > 14 || minute > 59)
        return tl::unexpected(Problem{"invalid time zone", "offsets are -14:00 to +14:00"});
    auto const offset = hours{hour} + minutes{minute};
    return east ? offset : -offset;
}

tl::expected<Time, Problem> scan_time(std::string_view text)
{
    using namespace std::chrono;
    Scanner scan(text);
    year const year{scan.digits(4)};
    scan.expect('-');
    month const month{static_cast<unsigned>(scan.digits(2))};
    scan.expect('-');
    day const day{static_cast<unsigned>(scan.digits(2))};
    if (!scan.accept('T')) scan.expect(' ');
    int const hour = scan.digits(2);
    scan.expect(':');
    int const minute = scan.digits(2);
    int const second = scan.accept(':') ? scan.digits(2) : 0;
    int const ms = scan.accept('.') ? scan.fraction_ms() : 0;
    if (!scan.good()) return tl::unexpected(Problem{"not an ISO 8601 time"});
    auto const offset = scan_offset(scan);
    if (!offset) return tl::unexpected(offset.error());
    if (!scan.good() || !scan.at_end()) return tl::unexpected(Problem{"not an ISO 8601 time"});
    year_month_day const date{year, month, day};
    // A second of 60 is a leap second.
    if (!date.ok() || hour > 23 || minute > 59 || second > 60)
        return tl::unexpected(Problem{"this date or time does not exist"});
    return Time{sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} +
           milliseconds{ms} - *offset;
}

}  // namespace

Result<Time> parse_time(std::string_view text)
{
    return scan_time(text).map_error([&](Problem const& problem) {
        return Error{ExitCode::data, "invalid time \"" + printable(text) + "\"", problem.why,
                     problem.remedy};
    });
}

std::string format_time(Time time)
{
    using namespace std::chrono;
    auto const day = floor<days>(time);
    year_month_day const date{day};
    hh_mm_ss const clock{time - day};
    auto text =
        fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    clock.hours().count(), clock.minutes().count(), clock.seconds().count());
    if (clock.subseconds().count() != 0) text += fmt::format(".{:03}", clock.subseconds().count());
    return text + "Z";
}

std::string format_duration(Millis duration)
{
    auto const s = FractionalSeconds(duration).count();
    if (s < 60) return fmt::format("{:.1f} s", s);
    auto const whole = static_cast<std::int64_t>(s);
    if (s < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
    return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

}  // namespace curtail
