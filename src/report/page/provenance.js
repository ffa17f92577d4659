// SPDX-License-Identifier: Apache-2.0
// Where each figure comes from: marks next to figures, the tooltip, and the list below the summary.
import {data} from './data.js';
import {byId, h, note} from './elements.js';
import {keepUnits} from './format.js';

const KIND_MARKS = {
    measured: '●',
    logged: '●',
    derived: '◐',
    modelled: '○',
    estimated: '○'
};
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

const entryOf = key => data.provenance.find(p => p.key === key);
// Letters follow the order of the list.
const letterOf = key => LETTERS[data.provenance.findIndex(p => p.key === key)];
const kindMark = p => KIND_MARKS[p.kind] || '○';
const kindTag = p => h('span', {class: 'tag'}, kindMark(p) + ' ' + p.kind);

// The letter that links a figure to its entry in the list.
export function sourceMark(key) {
    const letter = letterOf(key);
    if (!letter) return null;
    const link = {href: '#prov-' + key, 'data-prov': key, 'aria-label': 'provenance ' + letter};
    return h('sup', {class: 'fn'}, h('a', link, letter));
}

// A unit, marked ○ where the figures of `key` are modelled or estimated.
export function markedUnit(unit, key) {
    const p = entryOf(key);
    if (!p || KIND_MARKS[p.kind] !== '○') return unit;
    return [unit, ' ', estimateMark(p.kind + ': ' + p.source, p.kind)];
}
export const estimateMark = (title, label) =>
    h('span', {class: 'est', title, 'aria-label': label}, '○');

export function kindLine(key) {
    const p = entryOf(key);
    if (!p) return null;
    const mark = h('i', {'aria-hidden': 'true'}, kindMark(p));
    return h('p', {class: 'kind'}, mark, ' ', p.kind + ': ' + (p.source || 'see below'));
}

export function provenanceList() {
    const entry = p =>
        h('li', {id: 'prov-' + p.key}, h('span', {}, letterOf(p.key)), h('b', {}, p.title),
          kindTag(p), keepUnits(p.text));
    const letters = data.provenance.map(p => letterOf(p.key)).join(', ');
    const legend = '● measured or logged   ◐ derived from logged values   ' +
        '○ modelled or estimated; tables mark such columns with ○.';
    return h(
        'details', {id: 'provs'}, h('summary', {}, 'Where these figures come from (', letters, ')'),
        h('ol', {class: 'prov'}, data.provenance.map(entry)), note(legend));
}

// Shows an entry as a tooltip while its letter is hovered or focused. A click opens the list.
export function installSourceTooltip() {
    const tip = byId('tip');
    const letterAt = e => e.target.closest && e.target.closest('[data-prov]');
    const hide = () => {
        tip.style.display = 'none';
    };
    const follow = e => {
        const letter = letterAt(e);
        if (letter) showTooltip(tip, letter);
        else hide();
    };
    document.addEventListener('mouseover', follow);
    document.addEventListener('focusin', follow);
    document.addEventListener('keydown', e => {
        if (e.key === 'Escape') hide();
    });
    document.addEventListener('click', e => {
        if (letterAt(e)) byId('provs').open = true;
    });
}

function showTooltip(tip, letter) {
    const p = entryOf(letter.dataset.prov);
    tip.replaceChildren(h('b', {}, p.title), ' ', kindTag(p), h('br'), keepUnits(p.text));
    tip.style.display = 'block';
    const box = letter.getBoundingClientRect(), width = Math.min(380, innerWidth - 24);
    const rightmost = scrollX + innerWidth - width - 12;
    tip.style.width = width + 'px';
    tip.style.left = Math.max(12, Math.min(box.left + scrollX - 20, rightmost)) + 'px';
    tip.style.top = box.bottom + scrollY + 8 + 'px';
}
