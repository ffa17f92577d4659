// SPDX-License-Identifier: Apache-2.0
#include "simulator/training.hpp"

#include <cmath>

namespace curtail::protocol::simulator {

Training::Training(Shared& shared, Processes& processes) : Part(shared, processes)
{
    for (std::size_t i = 0; i < run_.sites.size(); ++i)
        speed_.push_back(std::exp(uniform(-1.2, 1.2)));
    first_read_.resize(run_.sites.size());
}

void Training::execute(P const& p, LoadModel const& o)
{
    later(Millis{pick(20, 300)} + first_read_[p->site_index], [this, p, o] {
        if (p->dead) return;
        ++steps_;
        if (chance(chaos_.stalled)) return reply_late(p, Unavailable{o.op, "time-out"});
        if (is_unanswered(p)) return reply(p, Unavailable{o.op, "no answer", failure(p)});
        auto const* whole = store_.whole(o.model.weights);
        if (whole == nullptr || chance(chaos_.stale_404))
            return reply(p, Corrupt{o.op, o.model.weights.name, "missing"});
        shared_.copies.keep(p->site_index, o.model.weights.name, *whole);
        p->trainer->load(whole->content);
        p->open_work.loaded();
        deliver(p, Loaded{o.op});
    });
}

void Training::execute(P const& p, Adopt const& o)
{
    later(Millis{pick(5, 300)}, [this, p, o] {
        if (p->dead) return;
        ++steps_;
        auto const& part = o.model.weights;
        auto const* whole = o.keeps_weights ? store_.original(part) : store_.whole(part);
        if (chance(chaos_.stalled)) return reply_late(p, Unavailable{o.op, "time-out"});
        if (is_unanswered(p)) return reply(p, Unavailable{o.op, "no answer", failure(p)});
        if (whole == nullptr || chance(chaos_.stale_404))
            return reply(p, Corrupt{o.op, part.name, "missing"});
        if (!o.keeps_weights) shared_.copies.keep(p->site_index, part.name, *whole);
        p->adopt = {o, whole->content};
        if (!p->trainer->stepping()) boundary(p);
    });
}

void Training::execute(P const& p, Cut const& o)
{
    p->cut = o;
    if (!p->trainer->stepping()) boundary(p);
}

void Training::execute(P const& p, Train const& o)
{
    p->trainer->train(o.blocks);
    step(p);
}

void Training::boundary(P const& p)
{
    if (p->cut || p->adopt) ++steps_;
    if (p->cut) deliver(p, published(p->identity.site));
    if (p->cut) {
        auto const cut = *std::exchange(p->cut, {});
        auto ready = p->trainer->cut(cut);
        if (chance(chaos_.nan) && !p->trainer->last_cut().first.empty()) {
            ready.nonfinite = 1;
            ++p->hardware.nan_cuts;
        }
        ready.sumsq *= std::pow(chaos_.growth_per_s, 2 * FractionalSeconds(now()).count());
        if (chance(chaos_.outlier)) ready.sumsq *= std::pow(10.0, static_cast<double>(pick(2, 12)));
        deliver(p, ready);
    } else if (p->adopt) {
        auto const [adopt, theta] = *std::exchange(p->adopt, {});
        p->trainer->adopt(adopt, theta);
        check_included(p, adopt.model.round);
        deliver(p, Adopted{adopt.op});
    }
}

void Training::check_included(P const& p, Round round)
{
    if (p->machine->status().base == round) return;
    Ranges open = p->trainer->since();
    for (auto const& own : p->trainer->undecided()) open += own;
    bool const good = p->open_work.adopted(open);
    require(good || !p->healthy || !chaos_.gentle, Invariant::included, [&] {
        return "no commit decides the work of the healthy " + p->machine->status().member->value;
    });
}

// The newest piece of the site's journal, which gets one in each second, whatever process runs.
Published Training::published(SiteId const& site) const
{
    auto const number = std::chrono::floor<Seconds>(now()).count() + 1;
    return {{{"trainer", {number, sha256(site.value + std::to_string(number))}}}};
}

void Training::step(P const& p)
{
    if (p->cut || p->adopt || !p->trainer->begin_step(pick(1, 2))) return;
    auto const takes =
        Millis{static_cast<std::int64_t>(400 * speed_[p->site_index] * uniform(0.7, 1.4))};
    later(takes,
          [this, p, takes, instance = p->trainer->instance()] { end_step(p, takes, instance); });
}

void Training::end_step(P const& p, Millis takes, int instance)
{
    if (p->dead || instance != p->trainer->instance()) return;
    if (p->frozen_until > now())
        return later(p->frozen_until - now(), [=, this] { end_step(p, takes, instance); });
    ++steps_;
    if (p->hardware.broken || chance(chaos_.skipped)) {
        deliver(p, Skipped{p->trainer->skip_step()});
    } else {
        auto const blocks = p->trainer->end_step();
        p->ledger.trained += blocks.count() * run_.params.block_tokens;
        deliver(p, Stepped{blocks, takes});
    }
    boundary(p);
    step(p);
}

}  // namespace curtail::protocol::simulator
