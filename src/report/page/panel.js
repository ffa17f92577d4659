// SPDX-License-Identifier: Apache-2.0
// The page's sections and its plain tables.
import {caption, h, main, nav, unitLine} from './elements.js';

// Adds a section and its link in the top bar. `why` is the reason if the section has no data, else
// null; then `build(body, controls)` fills the section. `link`: text of the link, if not `title`.
export function addPanel({id, number, title, link, question, why, build}) {
    const body = h('div'), controls = h('div', {class: 'ctl'});
    const heading = h('h2', {id: id + '-h'}, number && h('span', {class: 'n'}, number), title);
    const header = h('header', {}, heading, h('p', {class: 'q'}, question), controls);
    main.append(h('section', {class: 'panel', id, 'aria-labelledby': id + '-h'}, header, body));
    nav.append(h('a', {href: '#' + id}, link || title));
    if (why) body.append(h('p', {class: 'empty'}, why));
    else buildOrExplain(body, () => build(body, controls));
}

// One broken panel must not take the others with it.
function buildOrExplain(body, build) {
    try {
        build();
    } catch (e) {
        console.error(e);
        const message = `Cannot draw this panel from the data (${e.message}). ` +
            'The data is in the page source, in the element curtail-data.';
        body.replaceChildren(h('p', {class: 'empty'}, message));
    }
}

// A table of columns [title, unit, cell(row), class] and rows.
// `options`: id, cls, wrap (class of the scrolling box), rowClass(row).
export function table(title, columns, rows, options = {}) {
    const {id, cls, wrap, rowClass} = options;
    const heading = ([title, unit, , cls]) =>
        h('th', {scope: 'col', class: cls}, title, unitLine(unit));
    const cell = row => ([, , content, cls]) => h('td', {class: cls}, content(row));
    const line = row => h('tr', {class: rowClass && rowClass(row)}, columns.map(cell(row)));
    const head = h('thead', {}, h('tr', {}, columns.map(heading)));
    const box = {
        class: 'scroll ' + (wrap || ''),
        tabindex: wrap ? 0 : null,
        style: 'margin-top:10px'
    };
    return h(
        'div', box,
        h('table', {class: 't ' + (cls || ''), id}, caption(title), head,
          h('tbody', {}, rows.map(line))));
}
