// SPDX-License-Identifier: Apache-2.0
// The six tiles of the summary.
import {alwaysOnAtSites, clockFactor, data, scaled, sites} from './data.js';
import {h, siteColor} from './elements.js';
import {
    duration,
    number,
    percent,
    rangeText,
    signed,
    tokenCount,
    tokenScale,
    tokenUnit
} from './format.js';
import {kindLine, sourceMark} from './provenance.js';

const NO_BASELINE = ['no baseline was run', ''];

export function tiles(headline) {
    const all = [energyTile, shareTile, wallTile, learnedTile, tokensTile, goodputTile];
    return h('div', {class: 'tiles'}, all.map(tile => tile(headline)));
}

// `key` names the provenance. `strip` of [share, colour] and `rows` of cells follow the value.
function makeTile({title, key, value, unit, strip, rows}) {
    const part = ([share, color]) => h('i', {style: `width:${share * 100}%;background:${color}`});
    const line = row => h('tr', {}, row.map(cell => h('td', {}, cell)));
    return h(
        'div', {class: 'tile'}, h('h3', {}, title, sourceMark(key)),
        h('div', {class: 'v'}, value, h('small', {}, unit)), kindLine(key),
        strip && h('div', {class: 'mini', 'aria-hidden': 'true'}, strip.map(part)),
        h('table', {}, h('tbody', {}, rows.map(line))));
}

function relative(a, b) {
    if (a == null) return '–';
    const change = a / b - 1;
    return signed(change * 100, Math.abs(change) < .1 ? 1 : 0) + ' %';
}

function energyTile(headline) {
    const kwh = headline.energy_kwh;
    const value = (headline.energy_is_whole === false ? '≥ ' : '') + number(kwh, 2);
    const rows = (headline.baselines ||
                  []).map(b => [b.label, number(b.kwh, 2) + ' kWh', relative(kwh, b.kwh)]);
    if (data.energy) {
        const idle = energyNotTraining();
        rows.push(['not training', number(idle, 2) + ' kWh', kwh > 0 ? percent(idle / kwh) : '']);
    }
    return makeTile({title: 'Energy', key: 'energy', value, unit: 'kWh', rows});
}

function energyNotTraining() {
    let kwh = 0;
    for (const states of Object.values(data.energy.kwh))
        for (const state in states)
            if (state !== 'training') kwh += states[state];
    return kwh;
}

function shareTile(headline) {
    const {share, share_inside_windows: inside, kwh_unknown: unknown, co2_kg: kg} = headline;
    const always = alwaysOnAtSites(headline).map(a => a.share).filter(share => share != null);
    const rows = [];
    if (always.length) {
        const range = rangeText(Math.min(...always) * 100, Math.max(...always) * 100);
        rows.push(['always on', range + ' %']);
    }
    if (inside != null) rows.push(['inside windows', percent(inside)]);
    if (unknown > 0) rows.push(['signal unknown', number(unknown, 2) + ' kWh']);
    if (kg > 0)
        rows.push(['above threshold', percent(headline.co2_outside_kg / kg, 0) + ' of CO₂']);
    const strip = [[share || 0, 'var(--mid)']], value = number(scaled(share, 100), 1);
    return makeTile(
        {title: 'Curtailed share of energy', key: 'share', value, unit: '%', strip, rows});
}

function wallTile(headline) {
    const wall = headline.wall_s;
    const alwaysOn = data.comparison.filter(c => c.id.startsWith('one')).map(c => c.wall_s);
    const against = (name, s) => [name, number(s / 3600, 2) + ' h', relative(wall, s)];
    const rows = (headline.baselines || []).map(b => against(b.label, b.wall_s));
    if (!rows.length && alwaysOn.length) rows.push(alwaysOnWall(wall, alwaysOn));
    if (!rows.length) rows.push(NO_BASELINE);
    if (clockFactor !== 1)
        rows.push(['in real time', wall == null ? '–' : duration(wall / clockFactor)]);
    const value = number(scaled(wall, 1 / 3600), 2);
    return makeTile({title: 'Wall time', key: 'wall', value, unit: 'h', rows});
}

// The duration of the scenarios, or the range of their durations.
function alwaysOnWall(wall, durations) {
    const least = Math.min(...durations), most = Math.max(...durations);
    const hours = s => number(s / 3600, 2);
    if (hours(least) === hours(most))
        return ['always on', hours(least) + ' h', relative(wall, least)];
    return ['always on', hours(least) + '–' + hours(most) + ' h', ''];
}

// Held-out loss where it was evaluated, else perplexity of the training loss.
function learnedTile(headline) {
    return headline.held_out ? heldOutTile(headline) : perplexityTile(headline);
}

function perplexityTile(headline) {
    const tail = x => 'loss ' + number((x.tail_loss || [])[0], 3);
    const baselines = headline.baselines || [];
    const rows = baselines.map(b => [b.label, number(b.best_ppl, 2), tail(b)]);
    if (!rows.length) rows.push(NO_BASELINE);
    const title = 'Training perplexity, lowest smoothed', value = number(headline.best_ppl, 2);
    return makeTile({title, key: 'ppl', value, unit: tail(headline), rows});
}

function heldOutTile(headline) {
    const {loss, unigram_entropy: entropy, commit, newer_commit: newer} = headline.held_out;
    const nats = x => number(x, 3) + ' nats';
    const rows = [
        ['unigram entropy', nats(entropy)],
        [loss <= entropy ? 'below it by' : 'above it by', nats(Math.abs(entropy - loss))],
        ['perplexity', number(Math.exp(loss), 2)],
        ['training loss', nats((headline.tail_loss || [])[0])],
        ['at commit', number(commit) + (newer == null ? '' : `, newest ${number(newer)}`)],
    ];
    return makeTile(
        {title: 'Held-out loss', key: 'ppl', value: number(loss, 3), unit: 'nats', rows});
}

function tokensTile(headline) {
    const bySite = sites.map(s => headline.tokens_by_site[s.id]);
    const text = count => number(count * tokenScale, 2);
    const planned = headline.planned_tokens;
    const rows = planned == null ? [] : [['planned', tokenCount(planned)]];
    if (sites.length > 4)
        rows.push(
            ['smallest, largest', text(Math.min(...bySite)) + ', ' + text(Math.max(...bySite))]);
    else rows.push(['by site', bySite.map(text).join(' + ')]);
    const strip = sites.map((s, i) => [bySite[i] / headline.tokens, siteColor(s)]);
    const value = text(headline.tokens);
    return makeTile({title: 'Tokens trained', key: 'tokens', value, unit: tokenUnit, strip, rows});
}

function goodputTile(headline) {
    const hours = number(headline.training_h, 2) + ' of ' + number(headline.allocated_h, 2) + ' h';
    const rows = [
        ['in training', hours],
        ['rounds (joint)', headline.rounds + ' (' + headline.joint_rounds + ')'],
    ];
    const title = 'Goodput, of allocated time', value = number(scaled(headline.goodput, 100), 1);
    return makeTile({title, key: 'goodput', value, unit: '%', rows});
}
