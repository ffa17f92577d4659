// SPDX-License-Identifier: Apache-2.0
// The box "now" of a run that is not complete: how far it is, how fast, and what it took so far.
import {clockFactor, REAL_SECONDS} from './data.js';
import {h} from './elements.js';
import {duration, number, percent, roundTokenCount} from './format.js';

// `now` is the document's entry of this name.
export function nowBox(now) {
    const target = roundTokenCount(now.target_tokens) + (now.is_budget ? ' budget' : ' tokens');
    const epochs =
        now.epochs == null ? '–' : number(now.epochs, 2) + ' of at most ' + now.most_epochs;
    const bound = now.co2_is_whole || now.gco2 == null ? '' : '≥ ';
    const left = 'Training left' + (clockFactor === 1 ? '' : ', real time');
    const isWhole = now.measured_s == null || now.measured_s >= 3600;
    const measured =
        isWhole ? 'Last hour of training' : `Last ${duration(now.measured_s)} of training`;
    const entries = [
        ['Done', `${percent(now.share)} of ${target}`],
        ['Epochs of the data', epochs],
        [measured, `${number(now.tokens_per_s)} tokens/${REAL_SECONDS}`],
        [left, now.training_left == null ? '–' : now.training_left],
        [
            'Energy so far',
            (now.energy_is_whole === false ? '≥ ' : '') + number(now.kwh, 2) + ' kWh'
        ],
        ['CO₂ so far', now.gco2 == null ? 'unknown' : bound + number(now.gco2) + ' g'],
    ];
    return h(
        'dl', {class: 'now', id: 'now', 'aria-label': 'The run now'},
        entries.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}
