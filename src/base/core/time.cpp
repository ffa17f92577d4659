// SPDX-License-Identifier: Apache-2.0
#include "base/core/time.hpp"

#include <fmt/format.h>

#include <optional>

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
    [[nodiscard]] bool at_end() const { return rest_.empty(); }
    [[nodiscard]] bool good() const { return good_; }

  private:
    std::string_view rest_;
    bool good_{true};
};

struct Date {
    int year, month, day;
};
struct TimeOfDay {
    int hour, minute, second, ms;
};

Date scan_date(Scanner& scan)
{
    Date date{};
    date.year = scan.digits(4);
    scan.expect('-');
    date.month = scan.digits(2);
    scan.expect('-');
    date.day = scan.digits(2);
    return date;
}

// Digits beyond milliseconds are ignored.
int scan_fraction_ms(Scanner& scan)
{
    int ms = 0;
    int weight = 100;
    while (scan.next_is_digit()) {
        ms += scan.digits(1) * weight;
        weight /= 10;
    }
    return ms;
}

TimeOfDay scan_time_of_day(Scanner& scan)
{
    TimeOfDay time{};
    time.hour = scan.digits(2);
    scan.expect(':');
    time.minute = scan.digits(2);
    time.second = scan.accept(':') ? scan.digits(2) : 0;
    time.ms = scan.accept('.') ? scan_fraction_ms(scan) : 0;
    return time;
}

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

// The same digits read as UTC; empty if the calendar or the clock has no such time.
std::optional<Time> to_time(Date const& date, TimeOfDay const& time)
{
    using namespace std::chrono;
    year_month_day const day{year{date.year}, month{static_cast<unsigned>(date.month)},
                             std::chrono::day{static_cast<unsigned>(date.day)}};
    // A second of 60 is a leap second.
    if (!day.ok() || time.hour > 23 || time.minute > 59 || time.second > 60) return std::nullopt;
    return Time{sys_days{day}} + hours{time.hour} + minutes{time.minute} + seconds{time.second} +
           milliseconds{time.ms};
}

tl::expected<Time, Problem> scan_time(std::string_view text)
{
    Scanner scan(text);
    auto const date = scan_date(scan);
    if (!scan.accept('T')) scan.expect(' ');
    auto const time = scan_time_of_day(scan);
    if (!scan.good()) return tl::unexpected(Problem{"not an ISO 8601 time"});
    auto const offset = scan_offset(scan);
    if (!offset) return tl::unexpected(offset.error());
    if (!scan.good() || !scan.at_end()) return tl::unexpected(Problem{"not an ISO 8601 time"});
    auto const local = to_time(date, time);
    if (!local) return tl::unexpected(Problem{"this date or time does not exist"});
    return *local - *offset;
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
