// SPDX-License-Identifier: Apache-2.0
// Panel: each site's hours by state, starts and stops, and the parts of a round.
import {data, GROUP_OF_STATE, REAL_SECONDS, sites, STATE_GROUPS} from './data.js';
import {
    add,
    caption,
    h,
    note,
    segmentedControl,
    siteColor,
    siteDot,
    stateSwatch,
    unitLine
} from './elements.js';
import {counted, number, percent} from './format.js';
import {addPanel, table} from './panel.js';
import {sourceMark} from './provenance.js';

export function addHours() {
    addPanel({
        id: 'time',
        number: 3,
        title: 'Where the time went',
        link: 'Time',
        question: 'How much of each site\'s time went into training?',
        why: whyNoHours(),
        build: buildHours
    });
}

function buildHours(body, controls) {
    const bars = h('div', {}, hourBars(true));
    const modes = [['span', 'Share of the run'], ['alloc', 'Share of allocated time']];
    const show = mode => bars.replaceChildren(hourBars(mode === 'span'));
    controls.append(segmentedControl('tmode', 'Length of the bars', modes, 'span', show));
    add(body, legend(), bars, hoursTable(), startsAndStops(), longestNote(), roundNote());
}

function whyNoHours() {
    const known = data.hours && Object.keys(data.hours).length;
    return known ? null : 'No site has been provisioned yet.';
}

function legend() {
    const entry = ([group, text]) => h('li', {}, stateSwatch(group), text);
    return h('ul', {class: 'legend'}, STATE_GROUPS.map(entry));
}

const sumOf = values => values.reduce((a, b) => a + b, 0);

const goodput = id => percent(data.goodput.sites[id]);

// A bar for each site, of the `whole` run or of the time during which the site held devices.
function hourBars(whole) {
    const longest = Math.max(...sites.map(s => sumOf(Object.values(data.hours[s.id]))));
    const row = s => {
        const parts = barParts(s, whole, (whole ? longest : data.allocated_h[s.id]) || 1);
        const bar = h('div', {class: 'stack', style: '--c:' + siteColor(s)}, parts);
        const share = [h('b', {}, goodput(s.id)), h('span', {class: 'gp'}, ' goodput')];
        return h('tr', {}, h('td', {}, siteDot(s), s.label), h('td', {}, bar), h('td', {}, share));
    };
    return h(
        'table', {class: 'bars'}, caption('Share of time by state; values in the next table'),
        h('tbody', {}, sites.map(row)));
}

function barParts(s, whole, all) {
    return STATE_GROUPS.filter(([group]) => whole || group !== 'closed').map(([group, text]) => {
        const hours = hoursOfGroup(s.id, group), share = hours / all;
        const title = `${s.label}, ${text}: ${number(hours, 2)} h, ${percent(share)}`;
        return hours > 0 && h('i', {class: 'st-' + group, style: `width:${share * 100}%`, title});
    });
}

function hoursOfGroup(id, group) {
    const states = Object.keys(data.hours[id]);
    const inGroup = states.filter(state => (GROUP_OF_STATE[state] || state) === group);
    return sumOf(inGroup.map(state => data.hours[id][state]));
}

// State, heading, unit.
const HOUR_COLUMNS = [
    ['training', 'Training', ''],
    ['provision', 'Provisioning', 'opening to devices'],
    ['starting', 'Starting', 'devices to first step'],
    ['exchange', 'Exchange', 'or lone checkpoint'],
    ['contribute', 'Contribute + wait', 'last step to round end'],
    ['merge', 'Merge', ''],
    ['adopt', 'Adopt + restart', 'to next first step'],
    ['draining', 'Draining', ''],
    ['idle', 'Idle', 'devices held'],
];

// States that no site was in are left out.
function hoursTable() {
    const isUsed = state => state === 'training' || sites.some(s => data.hours[s.id][state] > 0);
    const columns = HOUR_COLUMNS.filter(([state]) => isUsed(state));
    const states = columns.map(([state]) => state);
    const sum = value => sumOf(sites.map(s => value(s) || 0));
    const row = s => hoursRow(
        states, [siteDot(s), s.label], state => data.hours[s.id][state] || 0,
        data.allocated_h[s.id], data.goodput.sites[s.id]);
    const total = hoursRow(
        states, 'All sites', state => sum(s => data.hours[s.id][state]),
        sum(s => data.allocated_h[s.id]), data.goodput.all);
    return h(
        'div', {class: 'scroll'},
        h('table', {class: 't'}, caption('Hours by site and state'), hoursHead(columns),
          h('tbody', {}, sites.map(row)), h('tfoot', {}, total)));
}

function hoursHead(columns) {
    const heading = (title, unit, mark) => h('th', {scope: 'col'}, title, mark, unitLine(unit));
    return h(
        'thead', {},
        h('tr', {}, h('th', {class: 'l', scope: 'col'}, 'Hours'),
          columns.map(([, title, unit]) => heading(title, unit)), heading('Allocated'),
          heading('Closed'), heading('Goodput', '', sourceMark('goodput'))));
}

function hoursRow(states, name, hours, allocated, useful) {
    const cell = text => h('td', {}, text);
    const stateCell = state => {
        const value = hours(state);
        return h('td', {class: value ? null : 'z'}, value ? number(value, 2) : '0');
    };
    return h(
        'tr', {}, h('td', {class: 'l'}, name), states.map(stateCell), cell(number(allocated, 2)),
        cell(number(hours('closed'), 2)), cell(percent(useful)));
}

function startsAndStops() {
    const times = data.times;
    const hasTimes = s => times[s.id] && (times[s.id].startup_s || times[s.id].drain_s);
    if (!times || !sites.some(hasTimes)) return null;
    const values = x => [x.min, x.median, x.max].map(v => number(v, 1)).join(' / ');
    const spread = x => x ? values(x) : '–';
    const start = s => times[s.id].startup_s, stop = s => times[s.id].drain_s;
    const unit = REAL_SECONDS + ': min / median / max';
    const columns = [
        ['Starts and stops', unit, s => [siteDot(s), s.label], 'l'],
        ['Window open to first step', '', s => spread(start(s))],
        ['Windows', '', s => number((start(s) || {}).count)],
        ['Stop request to exit', '', s => spread(stop(s))],
        ['Stops', '', s => number((stop(s) || {}).count)],
    ];
    return table('Starts and stops by site', columns, sites, {id: 'times'});
}

function longestNote() {
    if (!data.edges) return null;
    const longest = x => x ? number(x.max, 1) + ' ' + REAL_SECONDS : '–';
    const both = x => `${longest(x.alone)} with no other site training, ` +
        `${longest(x.beside)} while another trained`;
    const {start_s: start, stop_s: stop} = data.edges;
    return note(`Longest start: ${both(start)}. Longest stop: ${both(stop)}.`);
}

function roundNote() {
    const transfer = data.missing.transfer ? data.missing.transfer + ' ' : '';
    return note(transfer + (data.round_summary ? roundText(data.round_summary) : ''));
}

function roundText(r) {
    const unit = ' ' + REAL_SECONDS + ' ';
    const whole = `A joint round takes ${number(r.duration_s, 1)} ${REAL_SECONDS} ` +
        `from its start to its merge (median of ${counted(r.joint, 'round')})`;
    const parts = [
        number(r.before_s, 1) + unit + 'before the first step',
        number(r.train_s, 1) + unit + 'of training',
        number(r.after_s, 1) + unit + 'after the last step',
        number(r.merge_s, 1) + unit + 'of merging',
    ];
    const idle = percent(1 - r.train_s / r.duration_s);
    return `${whole}: ${parts.join(', ')}. No tokens are trained in ${idle} of that time.`;
}
