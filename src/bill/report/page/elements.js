// SPDX-License-Identifier: Apache-2.0
// Makes the page's elements and knows its colours.
import {number} from './format.js';

export const byId = id => document.getElementById(id);
export const root = document.documentElement, main = byId('main'), nav = byId('nav');
export const darkSystem = matchMedia('(prefers-color-scheme: dark)');

// The places of a panel for its charts, which is missing if the panel has no data, and for
// controls.
export const chartsOf = id => document.querySelector(`#${id} .charts`);
export const controlsOf = id => document.querySelector(`#${id} .ctl`);

// An element with attributes (on...: event listeners) and children, which may be nested arrays.
// Attributes and children that are null or false are skipped.
export function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value == null || value === false) continue;
        if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value === true ? '' : value);
    }
    add(element, ...children);
    return element;
}

export function add(element, ...children) {
    element.append(...children.flat(9).filter(child => child != null && child !== false));
}

// The value of a style sheet variable in the current theme.
export function cssValue(name) {
    const value = getComputedStyle(root).getPropertyValue(name).trim();
    const [, light, dark] = value.match(/^light-dark\((.+),(.+)\)$/) || [, value, value];
    const theme = root.dataset.theme || (darkSystem.matches ? 'dark' : 'light');
    return (theme === 'dark' ? dark : light).trim();
}

export function rgba(hex, opacity) {
    const n = parseInt(hex.slice(1), 16);
    return `rgba(${n >> 16},${n >> 8 & 255},${n & 255},${opacity})`;
}

// `color` over `background` with opacity `share`.
export function blend(color, background, share) {
    const channels = text => {
        if (text[0] === '#') return [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
        return text.match(/\d+/g).map(Number);
    };
    const below = channels(background);
    const mixed = channels(color).map((v, i) => Math.round(v * share + below[i] * (1 - share)));
    return 'rgb(' + mixed.join(',') + ')';
}

// For elements, which follow the theme.
export const siteColor = s => `var(--s${s.color % 8})`;
// For charts, which are drawn again when the theme changes.
export const siteColorNow = s => cssValue('--s' + s.color % 8);
export const siteDot = s =>
    h('span', {class: 'dot', style: 'background:' + siteColor(s), 'aria-hidden': 'true'});
export const siteSwatch = s => h('span', {class: 'sw', style: 'background:' + siteColor(s)});
export const stateSwatch = group => h('span', {class: 'sw st-' + group, style: '--c:var(--mid)'});
export const lineSample = style => h('span', {class: 'ln', style});

// A point in time `t` (as in Date) that is shown as `text`.
export const timeElement = (t, text) =>
    h('time', {datetime: new Date(t).toISOString().replace('.000Z', 'Z')}, text);

// A button group with a name in the page and a `title` for screen readers: one of `options` [value,
// text] is selected.
export function segmentedControl(name, title, options, current, onChange) {
    const radio = value => {
        const checked = value === current, onchange = () => onChange(value);
        return h('input', {type: 'radio', name, id: name + value, value, checked, onchange});
    };
    const buttons =
        options.map(([value, text]) => [radio(value), h('label', {'for': name + value}, text)]);
    return h('fieldset', {class: 'seg'}, h('legend', {class: 'vh'}, title), buttons);
}

// Fills the body of a table with the elements of at most `shown.most` rows, and with a button that
// shows all.
export function fillTable(list, rows, elementOf, shown, show) {
    list.replaceChildren(...rows.slice(0, shown.most).map(elementOf));
    if (rows.length <= shown.most) return;
    const onclick = () => {
        shown.most = Infinity;
        show();
    };
    const button = h('button', {class: 'btn', onclick}, 'Show all ' + number(rows.length));
    list.append(h('tr', {}, h('td', {class: 'l', colspan: 99}, button)));
}
