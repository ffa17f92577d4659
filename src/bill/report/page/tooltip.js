// SPDX-License-Identifier: Apache-2.0
// The tooltip with the source of a figure.
import {byId, h} from './elements.js';

// Shows an entry of the list of sources while its letter is hovered or focused. A click opens the
// list.
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
    const [, title, kind, ...text] = byId('prov-' + letter.dataset.prov).cloneNode(true).childNodes;
    tip.replaceChildren(title, ' ', kind, h('br'), ...text);
    tip.style.display = 'block';
    const box = letter.getBoundingClientRect(), width = Math.min(380, innerWidth - 24);
    const rightmost = scrollX + innerWidth - width - 12;
    tip.style.width = width + 'px';
    tip.style.left = Math.max(12, Math.min(box.left + scrollX - 20, rightmost)) + 'px';
    tip.style.top = box.bottom + scrollY + 8 + 'px';
}
