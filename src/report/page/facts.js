// SPDX-License-Identifier: Apache-2.0
// Panels: what ran, and notes on the data.
import {data} from './data.js';
import {h} from './elements.js';
import {keepUnits} from './format.js';
import {addPanel} from './panel.js';

export function addFacts() {
    addPanel({
        id: 'facts',
        number: 8,
        title: 'Run facts',
        link: 'Facts',
        question: 'What exactly ran, so that it can be repeated?',
        why: data.facts.length ? null : 'No facts about the run are recorded.',
        build: (body, controls) => {
            const onclick = e => copy(e.currentTarget, factsAsJson());
            controls.append(h('button', {class: 'btn', onclick}, 'Copy all as JSON'));
            body.append(h('div', {class: 'facts'}, data.facts.map(factGroup)));
        }
    });
}

export function addNotes() {
    if (!data.notes.length) return;
    const entry = ([title, text]) => h('li', {}, h('b', {}, title + '. '), keepUnits(text));
    addPanel({
        id: 'notes',
        number: '',
        title: 'Notes on this data',
        link: 'Notes',
        question: 'What should you know before quoting these figures?',
        why: null,
        build: body => body.append(h('ol', {class: 'notes'}, data.notes.map(entry)))
    });
}

function factsAsJson() {
    const groups = data.facts.map(f => [f.title, Object.fromEntries(f.rows)]);
    return JSON.stringify(Object.fromEntries(groups), null, 2);
}

function factGroup({title, rows, wide}) {
    const line = ([name, value]) => name + ': ' + (value == null ? 'not recorded' : value);
    const onclick = e => copy(e.currentTarget, rows.map(line).join('\n'));
    const button = h('button', {class: 'cp', 'aria-label': 'Copy ' + title, onclick}, 'copy');
    const missing = () => h('span', {class: 'nr'}, 'not recorded');
    const fact =
        ([name,
          value]) => [h('dt', {}, name), h('dd', {}, value == null ? missing() : keepUnits(value))];
    return h(
        'div', {class: 'fact' + (wide ? ' wide' : '')}, h('h3', {}, title, button),
        h('dl', {}, rows.map(fact)));
}

// The button confirms for a second.
function copy(button, text) {
    const confirm = () => {
        const before = button.textContent;
        button.textContent = 'copied';
        setTimeout(() => {
            button.textContent = before;
        }, 1200);
    };
    const copySelected = () => {
        copyBySelection(text);
        confirm();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(confirm, copySelected);
    else copySelected();
}

// A browser may refuse the clipboard to a page opened from a file.
function copyBySelection(text) {
    const area = h('textarea', {style: 'position:fixed;opacity:0'});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
}
