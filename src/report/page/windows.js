// SPDX-License-Identifier: Apache-2.0
// The windows and the decisions as tables.

// A window that is still open lasts to the end of the record.
const windowEnd = w => w.close_s == null ? D.run.end_s : w.close_s;

function windowTables() { return [windowTable(), decisionTable()]; }

function windowTable() {
    if (!D.windows.length) return h('p', {class: 'empty'}, 'No window has opened: no decision to open is recorded.');
    const kwh = () => markedUnit('kWh', 'energy'), grams = () => markedUnit('g', 'co2');
    const lastDelay = w => w.closing_s[w.closing_s.length - 1];
    const delayed = w => w.close_s == null && lastDelay(w);
    const columns = [
        ['Window', '', w => [dot(site[w.site]), label(w.site)], 'l'],
        ['Opened', 'UTC', w => stamp(ms(w.open_s))],
        ['Closing began', 'UTC', w => lastDelay(w) ? stamp(ms(lastDelay(w)[0])) + (delayed(w) ? ' *' : '') : '–'],
        ['Closed', 'UTC', w => w.close_s == null ? 'run ended first' : stamp(ms(w.close_s))],
        ['Open for', 'h', w => N((windowEnd(w) - w.open_s) / 3600, 2)],
        ['To first step', REAL, w => N(w.startup_s, 1)],
        ['Steps', '', w => N(w.steps)],
        ['Energy', kwh(), w => N(w.kwh, 2)],
        ['above threshold', kwh(), w => N(w.kwh_outside, 2)],
        ['CO₂', grams(), w => N(w.gco2, 1)],
        ['above threshold', grams(), w => N(w.gco2_outside, 1)],
    ];
    const note = '* The window had not closed when the record ends: the delay was running, or intensity fell below the threshold again.';
    return [
        table('Windows', columns, D.windows, {id: 'windows', wrap: D.windows.length > 12 ? 'tall' : ''}),
        D.windows.some(delayed) && h('p', {class: 'note'}, note),
    ];
}

function decisionTable() {
    if (!D.decisions.length) return null;
    const columns = [
        ['Site', '', d => [site[d.site] && dot(site[d.site]), label(d.site)], 'l'],
        ['Decided', 'UTC', d => stamp(ms(d.t))],
        ['Elapsed', 's', d => N(d.t)],
        ['Intensity', 'g/kWh', d => d.intensity == null ? 'no signal' : N(d.intensity)],
        ['From', '', d => d.from, 'l'],
        ['To', '', d => d.to, 'l'],
        ['Reason', '', d => d.reason, 'l'],
    ];
    return h(
        'details', {}, h('summary', {}, 'Decisions (' + N(D.decisions.length) + ')'),
        table('Decisions', columns, D.decisions, {id: 'decisions', wrap: 'tall'}));
}
