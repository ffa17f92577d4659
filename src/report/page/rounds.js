// SPDX-License-Identifier: Apache-2.0
// Panel: the rounds as a sortable table.
import {data, REAL_SECONDS, roundMode, scaled, siteById, siteLabel} from './data.js';
import {caption, h, note, siteColor, timeElement, unitLine} from './elements.js';
import {boundMark, keepUnits, number, timeOf, timestamp, tokenCount, tokenUnit} from './format.js';
import {addPanel} from './panel.js';
import {estimateMark, markedUnit} from './provenance.js';

export function addRounds() {
    addPanel({
        id: 'rounds',
        number: 6,
        title: 'Rounds',
        question: 'What did each site contribute to each commit, and at what cost?',
        why: whyNoRounds(),
        build: body => {
            const noted = data.rounds.filter(k => k.note);
            const mark = k => k.note ? 'abcdefghijklmnopqrstuvwxyz'[noted.indexOf(k) % 26] : '';
            body.append(roundsTable(roundColumns(mark)));
            if (noted.length) body.append(roundNotes(noted, mark));
            body.append(totalsNote());
        }
    });
}

function whyNoRounds() {
    if (data.rounds.length) return null;
    return 'No round has ended yet: the first one ends when a lone site commits or ' +
        'two sites merge.';
}

// Training of the site that trained longest, as a share of the round; null where it is unknown.
function trainingShare(k) {
    if (!(k.duration_s > 0) || !k.sites.some(part => part.train_s != null)) return null;
    return Math.max(...k.sites.map(part => part.train_s || 0)) / k.duration_s;
}

const WEIGHTS_STYLE = 'display:inline-block;min-width:6.2em;margin-left:8px';

function weightsCell(k) {
    const percent = part => number(part.weight * 100, 1);
    const steps = part => `${siteLabel(part.site)} ${percent(part)} %, ${number(part.steps)} steps`;
    const bar = part => {
        const color = siteColor(siteById[part.site]);
        return h('i', {style: `width:${part.weight * 100}%;background:${color}`});
    };
    const names = k.sites.map(part => siteLabel(part.site)).join(', ');
    return h(
        'span', {title: k.sites.map(steps).join('; ')},
        h('span', {class: 'wbar'}, k.sites.map(bar)), h('span', {class: 'vh'}, names), ' ',
        h('span', {style: WEIGHTS_STYLE}, k.sites.map(percent).join(' : ')));
}

function numberCell(k, mark) {
    const style = 'display:inline-block;width:.9em;text-align:left';
    return [number(k.number), h('sup', {class: 'fn', style}, mark(k))];
}

function gigabytes() {
    const why = data.missing.bytes;
    return why ? ['GB ', estimateMark(why, 'computed')] : 'GB';
}

// Columns {key, title, unit, cell, value to sort by, cls}. Optional columns without a known value
// are left out.
function roundColumns(mark) {
    const [scale, unit] = tokenUnit === 'G' ? [1e-6, 'M'] : [1e-3, 'k'];
    const greatestWeight = k => Math.max(0, ...k.sites.map(part => part.weight));
    const share = k => number(scaled(trainingShare(k), 100), 1);
    const column = (key, title, unit, cell, more) =>
        ({key, title, unit, cell, value: k => k[key], ...more});
    const figure = (key, title, unit, digits) =>
        column(key, title, unit, k => number(k[key], digits));
    const carbon = k => (k.gco2 == null ? '' : boundMark(k.kwh, k.kwh_unknown)) + number(k.gco2, 1);
    const weights = {value: greatestWeight, cls: 'l'};
    const columns = [
        column('number', '#', '', k => numberCell(k, mark)),
        column(
            'start_s', 'Started', 'UTC',
            k => timeElement(timeOf(k.start_s), timestamp(timeOf(k.start_s)))),
        column('mode', 'Mode', '', roundMode, {cls: 'l'}),
        column('weight', 'Sites and weights', 'by tokens', weightsCell, weights),
        column('tokens', 'Tokens', unit, k => number(k.tokens * scale, 1)),
        figure('duration_s', 'Duration', REAL_SECONDS, 1),
        column('train', 'Training', '% of duration', share, {value: trainingShare}),
        figure('merge_s', 'Merge', REAL_SECONDS, 2),
        column('bytes', 'Moved', gigabytes(), k => number(scaled(k.bytes, 1e-9), 2)),
        column('mpi_bytes', 'By MPI', 'MB', k => number(scaled(k.mpi_bytes, 1e-6), 2)),
        column('store_bytes', 'From store', 'MB', k => number(scaled(k.store_bytes, 1e-6), 2)),
        figure('delta_norm', 'Δ norm', 'per √token', 3),
        figure('loss', 'Loss', 'last 100 rows', 3),
        figure('kwh', 'Energy', markedUnit('kWh', 'energy'), 2),
        column('gco2', 'CO₂', markedUnit('g', 'co2'), carbon),
    ];
    const isOptional = key => ['bytes', 'mpi_bytes', 'store_bytes', 'delta_norm'].includes(key);
    const isKnown = key => data.rounds.some(k => k[key] != null);
    return columns.filter(c => !isOptional(c.key) || isKnown(c.key));
}

// A heading sorts the table; clicking it again reverses the order.
function roundsTable(columns) {
    const shown = {column: columns[0], ascending: true, most: 500}, list = h('tbody');
    const headings = columns.map(column => roundHeading(column, () => {
                                     shown.ascending =
                                         shown.column === column ? !shown.ascending : true;
                                     shown.column = column;
                                     show();
                                 }));
    const show = () => {
        fillRounds(list, columns, shown, show);
        columns.forEach((c, i) => showOrder(headings[i], c === shown.column, shown.ascending));
    };
    show();
    const region = {role: 'region', 'aria-label': 'Rounds, scrollable'};
    return h(
        'div', {class: 'scroll tall', tabindex: 0, ...region},
        h('table', {class: 't'}, caption('Rounds, sortable'), h('thead', {}, h('tr', {}, headings)),
          list));
}

function fillRounds(list, columns, shown, show) {
    const count = data.rounds.length;
    const cell = k => c => h('td', {class: c.cls || null}, c.cell(k));
    const row = k => h('tr', {title: k.note || null}, columns.map(cell(k)));
    list.replaceChildren(...sortedRounds(shown).slice(0, shown.most).map(row));
    if (count <= shown.most) return;
    const onclick = () => {
        shown.most = Infinity;
        show();
    };
    const button = h('button', {class: 'btn', onclick}, 'Show all ' + number(count));
    list.append(h('tr', {}, h('td', {class: 'l', colspan: columns.length}, button)));
}

// The arrow is on the side where it does not move the title.
function roundHeading(column, sort) {
    const arrow = h('span', {class: 'a', 'aria-hidden': 'true'});
    const space = column.key === 'number' && h('span', {style: 'display:inline-block;width:.75em'});
    const title = column.cls ? [column.title, arrow] : [arrow, column.title, space];
    const button = h('button', {onclick: sort}, title);
    return h('th', {scope: 'col', class: column.cls}, button, unitLine(column.unit));
}

function showOrder(heading, sorts, ascending) {
    if (sorts) heading.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    else heading.removeAttribute('aria-sort');
    const arrow = ascending ? '▲' : '▼';
    heading.querySelector('.a').textContent = sorts ? arrow : '';
}

// Rounds without the value come last in both orders.
function sortedRounds({column, ascending}) {
    const compare = (a, b) => {
        const x = column.value(a), y = column.value(b);
        if ((x == null) !== (y == null)) return x == null ? 1 : -1;
        const order = x < y ? -1 : x > y ? 1 : a.number - b.number;
        return ascending ? order : -order;
    };
    return data.rounds.slice().sort(compare);
}

function roundNotes(noted, mark) {
    const entry = (k, i) => {
        const text = ' round ' + k.number + ': ' + k.note;
        return [i ? '; ' : '', h('sup', {class: 'fn'}, mark(k)), text];
    };
    return note(noted.map(entry), '.');
}

function totalsNote() {
    const {rounds, missing} = data;
    const total = key => rounds.reduce((t, k) => t + (k[key] || 0), 0);
    const someKnown = key => rounds.some(k => k[key] != null);
    const allKnown = key => rounds.every(k => k[key] != null);
    const totals = [
        tokenCount(total('tokens'), 3) + ' tokens',
        someKnown('bytes') && number(total('bytes') / 1e9, 1) + ' GB moved',
        someKnown('mpi_bytes') && number(total('mpi_bytes') / 1e6, 1) + ' MB read by MPI',
        someKnown('store_bytes') &&
            number(total('store_bytes') / 1e6, 1) + ' MB read from the store',
        someKnown('merge_s') && number(total('merge_s'), 1) + ' ' + REAL_SECONDS + ' merging',
        number(total('kwh'), 2) + ' kWh',
        allKnown('gco2') &&
            boundMark(total('kwh'), total('kwh_unknown')) + number(total('gco2'), 1) + ' g',
    ];
    const reasons = [
        missing.bytes && 'Bytes: ' + missing.bytes + '.',
        missing.delta_norm && 'Δ norm: ' + missing.delta_norm + '.',
    ];
    const sum = `${number(rounds.length)} rounds: ${totals.filter(Boolean).join(', ')}.`;
    return note(keepUnits(sum + ' ' + reasons.filter(Boolean).join(' ')));
}
