// SPDX-License-Identifier: Apache-2.0
// Buttons that copy the facts about the run.
import {data} from './data.js';
import {controlsOf, h} from './elements.js';

export function addCopyButtons() {
    if (!data.facts.length) return;
    const onclick = e => copy(e.currentTarget, factsAsJson());
    controlsOf('facts').append(h('button', {class: 'btn', onclick}, 'Copy all as JSON'));
    document.querySelectorAll('#facts h3').forEach((heading, i) => {
        const {title, rows} = data.facts[i];
        const line = ([name, value]) => name + ': ' + (value == null ? 'not recorded' : value);
        const onclick = e => copy(e.currentTarget, rows.map(line).join('\n'));
        heading.append(h('button', {class: 'cp', 'aria-label': 'Copy ' + title, onclick}, 'copy'));
    });
}

function factsAsJson() {
    const groups = data.facts.map(f => [f.title, Object.fromEntries(f.rows)]);
    return JSON.stringify(Object.fromEntries(groups), null, 2);
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
