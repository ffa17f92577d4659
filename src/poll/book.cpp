// SPDX-License-Identifier: Apache-2.0
#include "poll/book.hpp"

#include "core/private_file.hpp"

namespace curtail::poll {
namespace {

constexpr std::int64_t format = 1;

json::Value stored(SiteRecord const& site)
{
    return json::Object{
        {"window", windows::to_json(site.window)},
        {"evaluated_until",
         site.evaluated_until ? json::Value(format_time(*site.evaluated_until)) : json::Value()},
        {"open_window", site.open_window ? json::Value(site.open_window->value) : json::Value()},
        {"jobs", plan::to_json(site.jobs)}};
}

SiteRecord read_site(json::ObjectReader& r, std::string const& where)
{
    SiteRecord site;
    r.object("window", [&](json::ObjectReader& o) { site.window = windows::read_window_state(o); });
    if (auto const text = r.optional_text("evaluated_until")) {
        auto const time = parse_time(*text);
        r.require(time.has_value(), "evaluated_until", "must be a time");
        if (time) site.evaluated_until = *time;
    }
    if (auto const window = r.optional_text("open_window")) site.open_window = WindowId{*window};
    if (auto const* jobs = r.any("jobs", true)) {
        auto const read = plan::read_site_state(*jobs, where);
        if (read) site.jobs = *read;
        else r.reject(read.error());
    }
    return site;
}

}  // namespace

runlog::Event job_event(SiteId const& site, plan::Happening const& happening, Time real_now)
{
    using Kind = plan::Happening::Kind;
    using Type = runlog::JobChange::Type;
    static constexpr std::array types{Type::submitted, Type::started, Type::drained,
                                      Type::cancelled, Type::ended,   Type::failed};
    bool const stops = happening.kind == Kind::drained || happening.kind == Kind::cancelled;
    return runlog::to_event(
        runlog::JobChange{types.at(static_cast<std::size_t>(happening.kind)),
                          happening.window.value, happening.job.value,
                          stops ? happening.word : std::string(),
                          stops ? std::string() : happening.word, happening.when,
                          happening.exit_code, happening.retry_after},
        real_now, site.value);
}

Book::Book(std::filesystem::path folder, Mode mode)
    : folder_(std::move(folder)),
      mode_(mode),
      journal_(folder_ / "journal.jsonl"),
      event_log_(folder_ / "events.jsonl"),
      signals_(folder_ / "signals.jsonl")
{
}

Result<std::unique_ptr<Book>> Book::open(config::Run const& run, Mode mode, Time now)
{
    std::unique_ptr<Book> book(new Book(run.poller_folder(), mode));
    if (mode == Mode::write) {
        if (auto made = ensure_private_folder(book->folder_); !made)
            return tl::unexpected(made.error());
        auto lock = FileLock::take(book->folder_ / "lock");
        if (!lock)
            return tl::unexpected(
                lock.error().within("another poller is at work on run " + run.run.value));
        book->lock_ = std::move(*lock);
    }
    auto const has_state = book->load();
    if (!has_state) return tl::unexpected(has_state.error());
    for (auto const& site : run.sites) book->sites_.try_emplace(site.site);
    auto const restored = *has_state ? book->replay_journal(now) : book->restore_lost_state(now);
    if (!restored) return tl::unexpected(restored.error());
    if (mode == Mode::look) return book;
    if (auto loaded = book->signals_.load(); !loaded) return tl::unexpected(loaded.error());
    if (auto sent = book->resend_events(); !sent) return tl::unexpected(sent.error());
    // A full disk must not keep jobs from being stopped: whoever saves next tries again and says
    // so.
    if (!book->save()) return book;
    if (auto rotated = book->journal_.rotate(); !rotated) return tl::unexpected(rotated.error());
    return book;
}

/// False if there is no state.
Result<bool> Book::load()
{
    auto const path = folder_ / "state.json";
    auto const text = read_file_if_exists(path, json::document_limits.bytes);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return false;
    auto const value = json::parse(**text, path.string());
    if (!value) return tl::unexpected(value.error());
    json::ObjectReader r(*value, path.string());
    r.require(r.integer("format") == format, "format", "must be " + std::to_string(format));
    last_entry_ = r.integer("last_entry");
    last_event_ = r.integer("last_event");
    r.each("sites", [&](json::ObjectReader& o) {
        SiteId const site{o.text("site")};
        sites_[site] = read_site(o, path.string());
    });
    r.each("outbox", [&](json::ObjectReader& o) {
        auto const time = parse_time(o.text("time"));
        o.require(time.has_value(), "time", "must be a time");
        Numbered one{o.integer("number"),
                     {time.value_or(Time{}), o.text("type"), o.text("site"), {}}};
        if (auto const* details = o.any("details", true);
            details != nullptr && details->as_object() != nullptr)
            one.event.details = *details->as_object();
        outbox_.push_back(std::move(one));
    });
    if (auto error = r.finish()) {
        error->remedy = "move " + path.string() +
                        " away: jobs that are there will be found again by their names";
        return tl::unexpected(*error);
    }
    return true;
}

/// What the last poller did after it had saved for the last time.
Result<void> Book::replay_journal(Time now)
{
    auto const entries = journal_.read(last_entry_);
    if (!entries) return tl::unexpected(entries.error());
    for (auto const& entry : *entries) {
        auto& jobs = sites_[entry.site].jobs;
        if (entry.outcome) {
            auto seen = plan::finish(jobs, entry.action, *entry.outcome, entry.time, {});
            jobs = std::move(seen.state);
            std::vector<runlog::Event> events;
            for (auto const& happening : seen.happenings)
                events.push_back(job_event(entry.site, happening, entry.time));
            add(entry.site, std::move(events));
        } else {
            jobs = plan::begin(jobs, entry.action, entry.time);
        }
        last_entry_ = entry.number;
    }
    for (auto& [site, record] : sites_) record.jobs = plan::recover(record.jobs, now);
    unsaved_ = true;
    return {};
}

/// Events of the outbox that did not reach the file.
Result<void> Book::resend_events()
{
    if (outbox_.empty()) return {};
    auto const file = runlog::read_events(folder_ / "events.jsonl");
    if (!file) return tl::unexpected(file.error());
    auto const arrived = runlog::highest_number(file->events);
    while (!outbox_.empty() && outbox_.front().number <= arrived) outbox_.pop_front();
    return {};
}

SiteRecord Book::site(SiteId const& site) const
{
    std::lock_guard const guard(mutex_);
    return sites_.at(site);
}

std::map<SiteId, SiteRecord> Book::sites() const
{
    std::lock_guard const guard(mutex_);
    return sites_;
}

void Book::add(SiteId const& site, std::vector<runlog::Event> events)
{
    for (auto& event : events) {
        event.site = site.value;
        runlog::set_number(event, ++last_event_);
        outbox_.push_back({last_event_, std::move(event)});
    }
}

Result<void> Book::change(SiteId const& site, Act const& act, bool lazily)
{
    std::lock_guard const guard(mutex_);
    auto& record = sites_.at(site);
    auto const before = record;
    std::vector<runlog::Event> events;
    act(record, events);
    std::erase_if(events, [&](runlog::Event const& event) { return is_told(site, event); });
    if (record == before && events.empty()) return {};
    unsaved_ = true;
    bool const can_wait = lazily && events.empty();
    add(site, std::move(events));
    return can_wait ? Result<void>{} : save_locked();
}

Result<void> Book::intend(SiteId const& site, plan::Action const& action, Time now)
{
    std::lock_guard const guard(mutex_);
    auto written = journal_.append({last_entry_ + 1, now, site, action, {}});
    if (written) ++last_entry_;
    else if (action.kind == plan::Action::Kind::submit) return written;
    auto& jobs = sites_.at(site).jobs;
    jobs = plan::begin(jobs, action, now);
    unsaved_ = true;
    return written;
}

Result<void> Book::conclude(SiteId const& site, plan::Action const& action,
                            plan::Outcome const& outcome, Time now, plan::Rules const& rules)
{
    std::lock_guard const guard(mutex_);
    auto const written = journal_.append({last_entry_ + 1, now, site, action, outcome});
    if (written) ++last_entry_;
    auto& jobs = sites_.at(site).jobs;
    auto seen = plan::finish(jobs, action, outcome, now, rules);
    jobs = std::move(seen.state);
    std::vector<runlog::Event> events;
    for (auto const& happening : seen.happenings) events.push_back(job_event(site, happening, now));
    unsaved_ = true;
    bool const can_wait = written && events.empty();
    add(site, std::move(events));
    return can_wait ? Result<void>{} : save_locked();
}

Result<bool> Book::record(RegionId const& region, std::span<signals::Sample const> samples)
{
    if (mode_ == Mode::look) return false;
    std::lock_guard const guard(mutex_);
    bool const is_new = signals_.add(region, samples);
    return signals_.write().map([is_new] { return is_new; });
}

Result<void> Book::save()
{
    std::lock_guard const guard(mutex_);
    return save_locked();
}

/// State first, with its events; then the events themselves. A crash in between leaves them in the
/// outbox.
Result<void> Book::save_locked()
{
    if (mode_ == Mode::look || !unsaved_) return {};
    // Never ahead of the samples: those before `evaluated_until` may not be asked for again.
    if (auto kept = signals_.write(); !kept) return kept;
    if (auto written = write_file(folder_ / "state.json", json::to_string(to_json()) + "\n");
        !written)
        return written;
    unsaved_ = !outbox_.empty();
    while (!outbox_.empty()) {
        if (auto appended = event_log_.append(outbox_.front().event); !appended) return appended;
        outbox_.pop_front();
    }
    return {};
}

json::Value Book::to_json() const
{
    json::Array sites;
    for (auto const& [site, record] : sites_) {
        auto object = *stored(record).as_object();
        object.set("site", site.value);
        sites.push_back(std::move(object));
    }
    json::Array outbox;
    for (auto const& [number, event] : outbox_)
        outbox.push_back(json::Object{{"number", number},
                                      {"time", format_time(event.time)},
                                      {"type", event.type},
                                      {"site", event.site},
                                      {"details", event.details}});
    return json::Object{{"format", format},
                        {"last_entry", last_entry_},
                        {"last_event", last_event_},
                        {"sites", std::move(sites)},
                        {"outbox", std::move(outbox)}};
}

}  // namespace curtail::poll
