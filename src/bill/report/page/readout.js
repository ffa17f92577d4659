// SPDX-License-Identifier: Apache-2.0
// The line of values at the cursor.
import {data, roundMode, signalSeries, sites, STATES, sumOrNull} from './data.js';
import {h, siteDot} from './elements.js';
import {
    clockTime,
    dayMonth,
    duration,
    gramsOrKg,
    number,
    significant,
    timeOf,
    totalBoundMark
} from './format.js';

const IDLE = matchMedia('(pointer: coarse)').matches ?
    'Tap a time chart to read values.' :
    'Point at a time chart, or focus it and press the arrow keys, to read values. ' +
        'Drag to zoom all time charts; double-click to reset.';
const bold = text => h('b', {}, text);

export const readout = () => h('div', {class: 'readout', 'data-idle': IDLE}, h('span', {}, IDLE));

// `s`: seconds on the signal's clock; null where no cursor is shown.
export function updateReadouts(s) {
    for (const line of document.querySelectorAll('.readout'))
        line.replaceChildren(...(s == null ? [h('span', {}, line.dataset.idle)] : valuesAt(s)));
}

// The known values at `s` as elements.
export function valuesAt(s) {
    const beforeEnd = s <= data.run.end_s;
    const time = bold(clockTime(timeOf(s)) + ' UTC');
    const values =
        [h('span', {}, time, ' ' + dayMonth(timeOf(s)) + ', ' + duration(s) + ' after the start')];
    for (const q of sites) values.push(siteValue(q, s, beforeEnd));
    const round = data.rounds.find(k => k.start_s <= s && s < (k.merged_s || k.end_s));
    if (round) values.push(h('span', {}, 'round ', bold(round.number), ' ' + roundMode(round)));
    if (data.energy && data.energy.cumulative && beforeEnd) values.push(totalsUntil(s));
    return values;
}

function siteValue(q, s, beforeEnd) {
    const grams = intensityAt(q.region, s);
    const intensity = bold(intensityText(grams));
    const state = beforeEnd ? ' ' + stateAt(q.id, s) : '';
    return h('span', {}, siteDot(q), q.label + ' ', intensity, state);
}

function intensityText(grams) {
    if (grams === undefined) return 'sample left out';
    return grams === null ? 'no signal' : number(grams) + ' g';
}

// The intensity as the accounting rule has it: null where it is unknown, undefined where the page
// leaves out the sample that counts.
function intensityAt(region, s) {
    if (!signalSeries[region]) return null;
    const {t, v, u, left_out: leftOut} = signalSeries[region];
    const i = t.findLastIndex(from => from <= s);
    if (i < 0) return null;
    if (!u) return interpolated(t, v, i, s);
    if (s <= u[i]) return v[i];
    return leftOut && i + 1 < t.length ? undefined : null;
}

// Linear between two samples; null where one of them is missing.
function interpolated(t, v, i, s) {
    if (t[i] === s) return v[i];
    if (i + 1 >= v.length || v[i] == null || v[i + 1] == null) return null;
    return v[i] + (v[i + 1] - v[i]) * (s - t[i]) / (t[i + 1] - t[i]);
}

function stateAt(id, s) {
    const interval = (data.states[id] || []).find(([, from, to]) => from <= s && s < to);
    return interval ? STATES[interval[0]][1].split(',')[0] : 'off';
}

// Energy and carbon of all sites from the start to `s`, as the charts draw them: on the line
// between two totals.
function totalsUntil(s) {
    const {step_s: step, sites: series} = data.energy.cumulative, i = Math.floor(s / step);
    const length = Math.min(step, data.run.end_s - i * step);
    const share = length > 0 ? (s - i * step) / length : 0;
    const between = totals => totals[i] + share * ((totals[i + 1] ?? totals[i]) - totals[i]);
    const bySite = sites.map(q => series[q.id]);
    const wattHours = sumOrNull(bySite.map(totals => between(totals.wh)));
    const grams = sumOrNull(bySite.map(totals => totals.g ? between(totals.g) : null));
    const mark = grams == null ? '' : totalBoundMark();
    const ofCarbon = grams == null ? ' of CO₂' : '';
    return h(
        'span', {}, bold(significant(wattHours / 1000)), ' kWh, ', bold(mark + gramsOrKg(grams)),
        ofCarbon, ' so far');
}
