// SPDX-License-Identifier: Apache-2.0
// Filters for the run's events.
import {data, siteById, siteLabel, sites} from './data.js';
import {fillTable, h, siteDot, timeElement} from './elements.js';
import {number, timeOf, timestamp} from './format.js';

const NO_EVENT = 'No event matches this filter.';

// The page lists the first events; the filters list any.
export function addEvents() {
    const table = document.querySelector('#events table');
    if (!table) return;
    const filter = {text: '', site: '', types: new Set(), most: 500};
    const list = table.tBodies[0], count = document.querySelector('#events .count');
    const rows =
        data.events.map((event, i) => ({event, text: searchText(event), element: list.rows[i]}));
    const show = () => {
        const found = rows.filter(row => matches(row, filter));
        // Each row is made when it is first shown.
        fillTable(list, found, row => row.element ||= eventRow(row.event), filter, show);
        if (!found.length) list.append(h('tr', {}, h('td', {class: 'l', colspan: 6}, NO_EVENT)));
        count.textContent = countText(found.length);
    };
    count.before(...filterControls(filter, show));
    show();
}

// The text that the text filter searches.
function searchText([, type, round, id, details]) {
    const roundText = round == null ? '' : 'round ' + round;
    const parts = [type, roundText, id || '', id ? siteLabel(id) : '', details];
    return parts.join(' ').toLowerCase();
}

function matches({event: [, type, , id], text}, filter) {
    return (!filter.text || text.includes(filter.text)) && (!filter.site || id === filter.site) &&
        (!filter.types.size || filter.types.has(type));
}

function eventRow([t, type, round, id, details]) {
    const site = id ? [siteById[id] && siteDot(siteById[id]), siteLabel(id)] : '';
    return h(
        'tr', {}, h('td', {class: 'l'}, timeElement(timeOf(t), timestamp(timeOf(t)))),
        h('td', {}, '+' + number(t, 1)), h('td', {class: 'l m'}, type),
        h('td', {}, round == null ? '' : round), h('td', {class: 'l'}, site),
        h('td', {class: 'l m'}, details));
}

function countText(found) {
    const leftOut = data.events_left_out;
    return found + ' of ' + data.events.length + (leftOut ? `, ${number(leftOut)} left out` : '');
}

// Controls that change `filter` and call `show`.
function filterControls(filter, show) {
    const types = new Map();
    for (const [, type] of data.events) types.set(type, (types.get(type) || 0) + 1);
    const chips = [...types].map(([type, events]) => typeChip(type, events, filter, show));
    return [textFilter(filter, show), siteFilter(filter, show), ...chips];
}

function textFilter(filter, show) {
    const oninput = e => {
        filter.text = e.target.value.toLowerCase().trim();
        show();
    };
    const label = {placeholder: 'Filter text', 'aria-label': 'Filter events by text'};
    return h('input', {type: 'search', ...label, oninput});
}

function siteFilter(filter, show) {
    const onchange = e => {
        filter.site = e.target.value;
        show();
    };
    const options = sites.map(s => h('option', {value: s.id}, s.label));
    return h(
        'select', {'aria-label': 'Filter events by site', onchange},
        h('option', {value: ''}, 'All sites'), options);
}

// Several selected chips show the events of any of their types.
function typeChip(type, events, filter, show) {
    const onclick = e => {
        const selected = !filter.types.has(type);
        if (selected) filter.types.add(type);
        else filter.types.delete(type);
        e.currentTarget.setAttribute('aria-pressed', String(selected));
        show();
    };
    const name = type.toLowerCase().replace(/_/g, ' ');
    const attributes = {class: 'chip', 'aria-pressed': 'false', onclick};
    return h('button', attributes, name, h('span', {}, events));
}
