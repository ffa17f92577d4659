// SPDX-License-Identifier: Apache-2.0
// Sorts the table of rounds.
import {data} from './data.js';
import {fillTable, h} from './elements.js';

// The values by which columns are sorted, if they are not in the document.
const COMPUTED = {
    weight: k => Math.max(0, ...k.sites.map(part => part.weight)),
    // Null where it is unknown.
    train: k => !(k.duration_s > 0) || !k.sites.some(part => part.train_s != null) ?
        null :
        Math.max(...k.sites.map(part => part.train_s || 0)) / k.duration_s
};

// A heading sorts the table; clicking it again reverses the order.
export function addRounds() {
    const table = document.querySelector('#rounds table');
    if (!table) return;
    const list = table.tBodies[0],
          rows = [...list.rows].map((row, i) => ({row, k: data.rounds[i]}));
    const headings = [...table.tHead.rows[0].cells];
    const shown = {heading: headings[0], ascending: true, most: 500};
    const show = () => {
        fillTable(list, sorted(rows, shown), ({row}) => row, shown, show);
        for (const heading of headings) showOrder(heading, heading === shown.heading, shown);
    };
    for (const heading of headings)
        addButton(heading, () => {
            shown.ascending = shown.heading === heading ? !shown.ascending : true;
            shown.heading = heading;
            show();
        });
    show();
}

// The arrow is on the side where it does not move the title.
function addButton(heading, sort) {
    const arrow = h('span', {class: 'a', 'aria-hidden': 'true'});
    const isNumber = heading.dataset.key === 'number';
    const space = isNumber && h('span', {style: 'display:inline-block;width:.75em'});
    const title = heading.firstChild;
    const button = h('button', {onclick: sort});
    title.replaceWith(button);
    button.append(...(heading.className ? [title, arrow] : [arrow, title, space || '']));
}

function showOrder(heading, sorts, {ascending}) {
    if (sorts) heading.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    else heading.removeAttribute('aria-sort');
    heading.querySelector('.a').textContent = sorts ? (ascending ? '▲' : '▼') : '';
}

// Rounds without the value come last in both orders.
function sorted(rows, {heading, ascending}) {
    const {key} = heading.dataset, value = COMPUTED[key] || (k => k[key]);
    const compare = ({k: a}, {k: b}) => {
        const x = value(a), y = value(b);
        if ((x == null) !== (y == null)) return x == null ? 1 : -1;
        const order = x < y ? -1 : x > y ? 1 : a.number - b.number;
        return ascending ? order : -order;
    };
    return rows.slice().sort(compare);
}
