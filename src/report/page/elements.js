// SPDX-License-Identifier: Apache-2.0
// The page's elements: how one is made, colours, marks of provenance, panels and tables.

const $ = id => document.getElementById(id), root = document.documentElement, main = $('main'), nav = $('nav');

// An element with attributes (on...: listeners) and children, in arrays as deep as one likes; null and false are left out of both.
function h(tag, attributes, ...kids) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value == null || value === false) continue;
        if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
        else e.setAttribute(name, value === true ? '' : value);
    }
    add(e, ...kids);
    return e;
}

function add(e, ...kids) { e.append(...kids.flat(9).filter(kid => kid != null && kid !== false)); }

// What a variable of the style sheet is in the present theme.
const css = name => getComputedStyle(root).getPropertyValue(name).trim();
function rgba(hex, opacity) {
    const n = parseInt(hex.slice(1), 16);
    return `rgba(${n >> 16},${n >> 8 & 255},${n & 255},${opacity})`;
}

// A site's colour: for elements, which follow the theme, and as it is now, for charts.
const siteColor = s => `var(--s${s.color % 8})`;
const siteColorNow = s => css('--s' + s.color % 8);
function regionColor(region) {
    const s = sites.find(s => s.region === region);
    return s ? siteColor(s) : 'var(--faint)';
}
const dot = s => h('span', {class: 'dot', style: 'background:' + siteColor(s), 'aria-hidden': 'true'});

const KIND_MARKS = {
    measured: '●',
    logged: '●',
    derived: '◐',
    modelled: '○',
    estimated: '○'
};
const kindMark = p => KIND_MARKS[p.kind] || '○';
const kindTag = p => h('span', {class: 'tag'}, kindMark(p) + ' ' + p.kind);

// The letter beside a figure that leads to where it comes from.
function sourceMark(key) {
    const mark = letter(key);
    if (!mark) return null;
    return h('sup', {class: 'fn'}, h('a', {href: '#prov-' + key, 'data-prov': key, 'aria-label': 'provenance ' + mark}, mark));
}

// A unit, with ○ where the figures of `key` are modelled or estimated.
function markedUnit(unit, key) {
    const p = prov(key);
    if (!p || KIND_MARKS[p.kind] !== '○') return unit;
    return [unit, ' ', h('span', {class: 'est', title: p.kind + ': ' + p.source, 'aria-label': p.kind}, '○')];
}

function kindLine(key) {
    const p = prov(key);
    if (!p) return null;
    return h('p', {class: 'kind'}, h('i', {'aria-hidden': 'true'}, kindMark(p)), ' ', p.kind + ': ' + (p.source || 'see below'));
}

// A switch between options [value, text].
function seg(name, options, current, on) {
    const option = ([value, text]) =>
        [h('input', {type: 'radio', name, id: name + value, value, checked: value === current, onchange: () => on(value)}),
         h('label', {'for': name + value}, text),
    ];
    return h('fieldset', {class: 'seg'}, h('legend', {class: 'vh'}, name), options.map(option));
}

// Adds a section and its link in the bar at the top. `why`: why there is nothing to show, else null; `build(body, controls)` fills it.
// A panel that fails says so and leaves the others alone.
function panel(id, number, title, question, why, build) {
    const body = h('div'), controls = h('div', {class: 'ctl'});
    const heading = h('h2', {id: id + '-h'}, number && h('span', {class: 'n'}, number), title);
    const header = h('header', {}, heading, h('p', {class: 'q'}, question), controls);
    main.append(h('section', {class: 'panel', id, 'aria-labelledby': id + '-h'}, header, body));
    const inBar = {time: 'Time', energy: 'Energy', compare: 'Comparison', facts: 'Facts', notes: 'Notes'}[id];
    nav.append(h('a', {href: '#' + id}, inBar || title));
    if (why) {
        body.append(h('p', {class: 'empty'}, why));
        return;
    }
    try {
        build(body, controls);
    } catch (e) {
        console.error(e);
        const source = 'The data itself is in the page\'s source, element curtail-data.';
        body.replaceChildren(h('p', {class: 'empty'}, `This panel could not be drawn from the data: ${e.message}. ${source}`));
    }
}

// A table of columns [title, unit, cell(row), class] and rows. o: id, cls, wrap (class of the scrolling box), rowClass(row).
function table(caption, columns, rows, o = {}) {
    const heading = ([title, unit, , cls]) => h('th', {scope: 'col', class: cls}, title, h('span', {class: 'u'}, unit || '\u00a0'));
    const line = row => h('tr', {class: o.rowClass && o.rowClass(row)}, columns.map(([, , cell, cls]) => h('td', {class: cls}, cell(row))));
    return h(
        'div', {class: 'scroll ' + (o.wrap || ''), tabindex: o.wrap ? 0 : null, style: 'margin-top:10px'},
        h('table', {class: 't ' + (o.cls || ''), id: o.id}, h('caption', {class: 'vh'}, caption),
          h('thead', {}, h('tr', {}, columns.map(heading))), h('tbody', {}, rows.map(line))));
}
