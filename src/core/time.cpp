// SPDX-License-Identifier: Apache-2.0
#include "core/time.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace curtail {
namespace {

/// Reads fixed-width digits and separators from the front of a text; any miss makes it bad for
/// good.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : rest_(text) {}
    int digits(std::size_t count)
    {
        int value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') {
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

int fraction_ms(Scanner& scan)
{
    int ms = 0;
    int weight = 100;
    while (scan.next_is_digit()) {
        ms += scan.digits(1) * weight;
        weight /= 10;
    }
    return ms;
}

}  // namespace

Result<Time> parse_time(std::string_view text)
{
    auto const bad = [&](std::string why,
                         std::string remedy = "write it like 2026-01-11T14:20:00Z") {
        return fail(ExitCode::data, "bad time \"" + printable(text) + "\"", std::move(why),
                    std::move(remedy));
    };
    Scanner scan(text);
    int const year = scan.digits(4);
    scan.expect('-');
    int const month = scan.digits(2);
    scan.expect('-');
    int const day = scan.digits(2);
    if (!scan.accept('T')) scan.expect(' ');
    int const hour = scan.digits(2);
    scan.expect(':');
    int const minute = scan.digits(2);
    int const second = scan.accept(':') ? scan.digits(2) : 0;
    int const ms = scan.accept('.') ? fraction_ms(scan) : 0;
    if (!scan.good()) return bad("not an ISO 8601 time");
    int offset_minutes = 0;
    if (!scan.accept('Z')) {
        bool const plus = scan.accept('+');
        if (!plus && !scan.accept('-'))
            return bad("it has no time zone", "add Z or an offset such as +00:00");
        int const offset_hour = scan.digits(2);
        scan.accept(':');
        int const offset_minute = scan.digits(2);
        if (offset_hour > 14 || offset_minute > 59)
            return bad("no such time zone", "offsets are -14:00 to +14:00");
        offset_minutes = (plus ? 1 : -1) * (offset_hour * 60 + offset_minute);
    }
    if (!scan.good() || !scan.at_end()) return bad("not an ISO 8601 time");
    using namespace std::chrono;
    auto const date =
        year_month_day{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                       std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return bad("no such moment");
    return Time{sys_days{date}} + hours{hour} + minutes{minute - offset_minutes} + seconds{second} +
           milliseconds{ms};
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
