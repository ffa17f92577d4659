// SPDX-License-Identifier: Apache-2.0
#include "poll/signal_record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace curtail::poll {
namespace {

/// What is asked for again after a restart is much younger than what so many bytes of the record go
/// back.
constexpr off_t recalled_bytes = off_t{256} * 1024;

/// The last lines of a file; a first one that is not whole is left out. A file that does not exist
/// has none.
Result<std::string> read_tail(std::filesystem::path const& path)
{
    Fd const fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT) return std::string();
    auto const failed = [&] {
        return fail(ExitCode::io, "cannot read " + path.string(), errno_text(errno));
    };
    if (!fd) return failed();
    off_t const size = lseek(fd.get(), 0, SEEK_END);
    if (size < 0) return failed();
    off_t const begin = std::max<off_t>(0, size - recalled_bytes);
    std::string text(static_cast<std::size_t>(size - begin), '\0');
    for (std::size_t have = 0; have < text.size();) {
        ssize_t const n = pread(fd.get(), text.data() + have, text.size() - have,
                                begin + static_cast<off_t>(have));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed();
        if (n == 0) text.resize(have);
        have += static_cast<std::size_t>(n);
    }
    if (begin > 0) text.erase(0, text.find('\n'));
    return text;
}

std::string line_of(RegionId const& region, signals::Sample const& sample)
{
    json::Value intensity;
    if (auto const value = signals::accepted(sample, signals::SignalType::marginal))
        intensity = value->value;
    return json::to_string(json::Object{{"region", region.value},
                                        {"time", format_time(sample.time)},
                                        {"intensity_gco2_per_kwh", intensity},
                                        {"provider", sample.provider}});
}

}  // namespace

Result<void> SignalRecord::recall()
{
    auto const text = read_tail(path_);
    if (!text) return tl::unexpected(text.error());
    for (auto const line : split(*text, '\n')) {
        auto const value =
            json::parse(line, path_.string(), json::Dialect::strict, json::record_limits);
        if (!value) continue;  // cut short
        json::ObjectReader r(*value, path_.string());
        RegionId const region{r.text("region")};
        auto const time = parse_time(r.text("time"));
        if (!r.good() || !time) continue;
        auto const known = newest_.try_emplace(region, *time).first;
        known->second = std::max(known->second, *time);
    }
    return {};
}

bool SignalRecord::add(RegionId const& region, std::span<signals::Sample const> samples)
{
    bool is_new = false;
    for (auto const& sample : samples) {
        auto const known = newest_.find(region);
        if (known != newest_.end() && sample.time <= known->second) continue;
        lines_ += (lines_.empty() ? "" : "\n") + line_of(region, sample);
        newest_[region] = sample.time;
        is_new = true;
    }
    return is_new;
}

Result<void> SignalRecord::write()
{
    if (lines_.empty()) return {};
    std::error_code error;
    auto const size = std::filesystem::file_size(path_, error);
    auto written = append_line(path_, lines_, true);
    if (written) lines_.clear();
    else if (!error)
        std::filesystem::resize_file(path_, size,
                                     error);  // a full disk took some of them: all come again
    else std::filesystem::remove(path_, error);
    return written;
}

}  // namespace curtail::poll
