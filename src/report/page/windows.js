// SPDX-License-Identifier: Apache-2.0
// The tables of windows and of decisions.
import {data, hasEnded, REAL_SECONDS, siteById, siteLabel, windowEnd} from './data.js';
import {h, note, siteDot, timeElement} from './elements.js';
import {boundMark, number, timeOf, timestamp} from './format.js';
import {table} from './panel.js';
import {markedUnit} from './provenance.js';

export const windowTables = () => [windowTable(), decisionTable()];

const at = s => timeElement(timeOf(s), timestamp(timeOf(s)));
const lastDelay = w => w.closing_s[w.closing_s.length - 1];
// Open at the end of the record, although a delay has begun.
const isDelayed = w => w.close_s == null && lastDelay(w);

function windowTable() {
    const {windows} = data;
    if (!windows.length)
        return h('p', {class: 'empty'}, 'No window has opened: no decision to open is recorded.');
    const explanation = '* The window was still open when the record ended: ' +
        'its delay was running, or intensity had fallen below the threshold again.';
    const options = {id: 'windows', wrap: windows.length > 12 ? 'tall' : ''};
    return [
        table('Windows', windowColumns(), windows, options),
        windows.some(isDelayed) && note(explanation),
    ];
}

function windowColumns() {
    const kwh = () => markedUnit('kWh', 'energy'), grams = () => markedUnit('g', 'co2');
    const closingBegan = w =>
        lastDelay(w) ? h('span', {}, at(lastDelay(w)[0]), isDelayed(w) ? ' *' : '') : '–';
    const closed = w => w.close_s != null ? at(w.close_s) :
        hasEnded                          ? 'run ended first' :
                                            'still open';
    const mark = w => w.gco2 == null ? '' : boundMark(w.kwh, w.kwh_unknown);
    return [
        ['Window', '', w => [siteDot(siteById[w.site]), siteLabel(w.site)], 'l'],
        ['Opened', 'UTC', w => at(w.open_s)],
        ['Closing began', 'UTC', closingBegan],
        ['Closed', 'UTC', closed],
        ['Open for', 'h', w => number((windowEnd(w) - w.open_s) / 3600, 2)],
        ['To first step', REAL_SECONDS, w => number(w.startup_s, 1)],
        ['Steps', '', w => number(w.steps)],
        ['Energy', kwh(), w => number(w.kwh, 2)],
        ['above threshold', kwh(), w => number(w.kwh_outside, 2)],
        ['CO₂', grams(), w => mark(w) + number(w.gco2, 1)],
        ['above threshold', grams(), w => mark(w) + number(w.gco2_outside, 1)],
    ];
}

function decisionTable() {
    if (!data.decisions.length) return null;
    const columns = [
        ['Site', '', d => [siteById[d.site] && siteDot(siteById[d.site]), siteLabel(d.site)], 'l'],
        ['Decided', 'UTC', d => at(d.t)],
        ['Elapsed', 's', d => number(d.t)],
        ['Intensity', 'g/kWh', d => d.intensity == null ? 'no signal' : number(d.intensity)],
        ['From', '', d => d.from, 'l'],
        ['To', '', d => d.to, 'l'],
        ['Reason', '', d => d.reason, 'l'],
    ];
    return h(
        'details', {}, h('summary', {}, 'Decisions (' + number(data.decisions.length) + ')'),
        table('Decisions', columns, data.decisions, {id: 'decisions', wrap: 'tall'}));
}
