// SPDX-License-Identifier: Apache-2.0
// Panel: energy and carbon by site, state and time.
import {commonValue, data, POWERED_GROUPS, sites, sumOrNull, whyCarbonUnknown} from './data.js';
import {
    add,
    byId,
    caption,
    h,
    lineSample,
    note,
    segmentedControl,
    siteDot,
    siteSwatch
} from './elements.js';
import {addEnergyChart, CARBON, ENERGY} from './energy_chart.js';
import {boundMark, keepUnits, number, percent} from './format.js';
import {addPanel} from './panel.js';
import {markedUnit, sourceMark} from './provenance.js';
import {readout} from './readout.js';

export function addEnergy() {
    addPanel({
        id: 'energy',
        number: 4,
        title: 'Where energy and carbon went',
        link: 'Energy',
        question: 'Which site, which state, which hours?',
        why: data.energy ? null : 'No site has held devices yet, so no energy was drawn.',
        build: buildEnergy
    });
}

function buildEnergy(body, controls) {
    const left = h('div', {}, h('h3', {}, 'Cumulative energy, kWh'));
    const right = h('div', {}, h('h3', {}, 'Cumulative CO₂, kg'));
    const shown = {alwaysOn: false};
    body.append(legend(), readout(), h('div', {class: 'two'}, left, right));
    const charts = [addEnergyChart(left, ENERGY, shown), addEnergyChart(right, CARBON, shown)];
    if (data.energy.cumulative.always_on) controls.append(alwaysOnSwitch(shown, charts));
    add(body, energyTable(), energyNote(), zeroNote());
}

function alwaysOnSwitch(shown, charts) {
    const options = [['run', 'This run'], ['cmp', 'With always-on']];
    return segmentedControl('emode', 'Curves', options, 'run', value => {
        shown.alwaysOn = value === 'cmp';
        byId('aoleg').hidden = !shown.alwaysOn;
        charts.forEach(c => c.draw());
    });
}

function legend() {
    const line = lineSample('border-color:var(--muted);border-top-style:dashed');
    const alwaysOn = h('li', {id: 'aoleg', hidden: true}, line, 'one site, always on');
    const entry = s => h('li', {}, siteSwatch(s), s.label);
    return h('ul', {class: 'legend'}, sites.map(entry), alwaysOn);
}

const totalOf = (bySite, ids) => sumOrNull(ids.map(id => bySite[id]));
const allSites = () => sites.map(s => s.id);

// Energy and carbon by site and state. Columns that are 0 in every row are left out.
function energyTable() {
    const {kwh, window_kwh: windowKwh, unknown_kwh: unknownKwh} = data.energy;
    const columns = {
        states: POWERED_GROUPS.filter(state => sites.some(s => kwh[s.id][state] > 0)),
        windows: !!windowKwh,
        unknown: Object.values(unknownKwh || {}).some(value => value > 0)
    };
    const rows = sites.map(s => energyRow(columns, [siteDot(s), s.label], [s.id]));
    const total = energyRow(columns, 'All sites', allSites());
    return h(
        'div', {class: 'scroll', style: 'margin-top:8px'},
        h('table', {class: 't'}, caption('Energy and CO2 by site and state'), energyHead(columns),
          h('tbody', {}, rows), h('tfoot', {}, total)));
}

const GROUP_STYLE = 'text-align:left;border-bottom:0';

function energyHead({states, windows, unknown}) {
    const group = (colspan, title, key) => {
        const unit = markedUnit(title, key);
        return h('th', {colspan, scope: 'colgroup', style: GROUP_STYLE}, unit, sourceMark(key));
    };
    const heading = title => h('th', {scope: 'col'}, title);
    const ofStates = () => states.map(state => heading(state[0].toUpperCase() + state.slice(1)));
    return h(
        'thead', {},
        h('tr', {}, h('th', {class: 'l', rowspan: 2, scope: 'col'}, 'Site'),
          group(states.length + 2 + windows + unknown, 'Energy, kWh', 'energy'),
          group(states.length + 3, 'CO₂, g', 'co2')),
        h('tr', {}, ofStates(), ['Total', 'Curtailed'].map(heading),
          windows && heading('In windows'), unknown && heading('Unknown'), ofStates(),
          ['Total', 'Above', 'g/kWh'].map(heading)));
}

// A row for the sum of the sites `ids`. An unknown part makes its sum a dash.
function energyRow(columns, name, ids) {
    const energy = energyCells(columns, ids), carbon = carbonCells(columns, ids);
    return h('tr', {}, h('td', {class: 'l'}, name), energy, carbon);
}

const cell = (...content) => h('td', {}, ...content);
// A zero is faint.
const valueCell = (x, digits, mark = '') =>
    h('td', {class: x || mark ? null : 'z'},
      x == null ? '–' :
          x     ? mark + number(x, digits) :
                  mark + '0');
const stateTotal = (bySite, ids, state) => sumOrNull(ids.map(id => bySite[id][state]));

function energyCells({states, windows, unknown}, ids) {
    const E = data.energy;
    const kwh = totalOf(E.total_kwh, ids), unknownKwh = totalOf(E.unknown_kwh || {}, ids);
    const share = (part, of) => percent(of > 0 && part != null ? part / of : null);
    const digits = state => state === 'training' ? 2 : 3;
    return [
        states.map(state => valueCell(stateTotal(E.kwh, ids, state), digits(state))),
        cell(h('b', {}, number(kwh, 2))),
        cell(share(totalOf(E.inside_kwh, ids), kwh - unknownKwh)),
        windows && cell(share(totalOf(E.window_kwh, ids), kwh)),
        unknown && valueCell(unknownKwh, 2),
    ];
}

function carbonCells({states}, ids) {
    const E = data.energy;
    const kwh = totalOf(E.total_kwh, ids), unknownKwh = totalOf(E.unknown_kwh || {}, ids);
    const grams = totalOf(E.total_g, ids);
    const knownKwh = kwh - unknownKwh;
    const intensity = kwh > unknownKwh && grams != null ? grams / knownKwh : null;
    const mark = grams == null ? '' : boundMark(kwh, unknownKwh);
    return [
        states.map(state => valueCell(stateTotal(E.g, ids, state), 1, mark)),
        cell(h('b', {}, mark, number(grams, 1))),
        valueCell(totalOf(E.outside_g, ids), 1, mark),
        cell(number(intensity, 1)),
    ];
}

function energyNote() {
    const E = data.energy;
    const threshold = commonValue('close_above', 'its threshold', 'g/kWh');
    const bands = 'Bands in the CO₂ chart are close delays: ' +
        `the site still trains although intensity is above ${threshold}.`;
    const curtailed = '“Curtailed” is the share of energy drawn below the threshold, ' +
        'out of all energy of known intensity.';
    const grams = totalOf(E.total_g, allSites()), above = totalOf(E.outside_g, allSites());
    const kwh = totalOf(E.total_kwh, allSites());
    const mark = boundMark(kwh, totalOf(E.unknown_kwh || {}, allSites()));
    const carbon = grams == null ?
        `CO₂ is unknown: ${whyCarbonUnknown()}.` :
        '“Above” is the CO₂ from energy drawn at or above the threshold: ' +
            `${mark}${number(above, 1)} of ${mark}${number(grams, 1)} g.`;
    return note(keepUnits([bands, curtailed, carbon].join(' ')));
}

// Explains sites whose carbon could look as if it were missing.
function zeroNote() {
    const {total_kwh: kwh, total_g: grams, unknown_kwh: unknown} = data.energy;
    const isZero = s => kwh[s.id] > 0 && grams[s.id] === 0 && !((unknown || {})[s.id] > 0);
    const zero = sites.filter(isZero);
    if (!zero.length) return null;
    return note(
        zero.map(s => s.label).join(', ') + ': 0 g is not missing data. ' +
        'The signal was 0 gCO₂/kWh at every sample while the site drew power.');
}
