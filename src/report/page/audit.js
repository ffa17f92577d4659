// SPDX-License-Identifier: Apache-2.0
// Panel: what an auditor needs, and the statement about power for the summary.
import {data} from './data.js';
import {h} from './elements.js';
import {keepUnits} from './format.js';
import {addPanel} from './panel.js';

const lines = (data.audit || {}).lines || [];

export function addAudit() {
    const entry =
        ({key, title, text}) => [h('dt', {}, title), h('dd', {'data-audit': key}, keepUnits(text))];
    addPanel({
        id: 'audit',
        number: '',
        title: 'For auditors',
        link: 'Audit',
        question: 'What do these figures count, and what are they not?',
        why: null,
        build: body => body.append(h(
            'div', {class: 'facts'}, h('div', {class: 'fact wide'}, h('dl', {}, lines.map(entry)))))
    });
}

// Whose power the bill counts, a line for each group of sites.
export function powerLines() {
    const power = lines.filter(line => line.key === 'power');
    return power.map(({title, text}) => h('p', {class: 'kind'}, keepUnits(`${title}: ${text}`)));
}
