// SPDX-License-Identifier: Apache-2.0
// Tables as CSV files and figures as images, and the hint that a table goes on at the right.
import {charts} from './chart.js';
import {data} from './data.js';
import {add, cssValue, h, main} from './elements.js';
import {Plotly} from './plotly.js';

// Names in files: the run's, and what is saved.
const fileName =
    (what, type) => [data.run.name || 'run', what].join('-').replace(/[^\w.-]+/g, '-') + '.' + type;

function save(url, name) {
    const link = h('a', {href: url, download: name, hidden: true});
    document.body.append(link);
    link.click();
    link.remove();
}

// Above each table: a button for its CSV file, and the hint.
export function addTableTools() {
    for (const table of main.querySelectorAll('table.t')) {
        const box = table.closest('.scroll'), title = table.caption.textContent;
        const onclick = () => saveTable(table, title);
        const label = {title: 'Save the rows shown as a CSV file', 'aria-label': title + ' as CSV'};
        const hint = h('span', {class: 'more', hidden: true}, 'scroll for more columns →');
        const button = h('button', {class: 'cp csv', onclick, ...label}, 'CSV');
        box.before(h('div', {class: 'tools'}, hint, button));
        showHint(box, hint);
    }
}

function showHint(box, hint) {
    const update = () => {
        hint.hidden = box.scrollLeft + box.clientWidth >= box.scrollWidth - 2;
        hint.parentElement.classList.toggle('wide', box.scrollWidth > box.clientWidth + 2);
    };
    box.addEventListener('scroll', update, {passive: true});
    const details = box.closest('details');
    if (details) details.addEventListener('toggle', update);
    if (window.ResizeObserver) new ResizeObserver(update).observe(box);
    update();
}

function saveTable(table, title) {
    const all = table.querySelector('tbody td[colspan] button');  // 'Show all'
    if (all) all.click();
    const lines = [headings(table), ...rows(table)].map(cells => cells.map(quoted).join(','));
    const file = new Blob([lines.join('\r\n') + '\r\n'], {type: 'text/csv;charset=utf-8'});
    const url = URL.createObjectURL(file);
    save(url, fileName(title.toLowerCase(), 'csv'));
    setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// RFC 4180.
const quoted = text => /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;

// The text of a cell without marks. A heading over several columns precedes each of theirs.
function textOf(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll('sup, .a, .est, [aria-hidden]').forEach(mark => mark.remove());
    copy.querySelectorAll('time').forEach(time => time.replaceWith(time.dateTime));
    copy.querySelectorAll('.u').forEach(unit => {
        const text = unit.textContent.trim();
        unit.replaceWith(text ? ` (${text})` : '');
    });
    return copy.textContent.replace(/[\s\u00a0]+/g, ' ').trim();
}

function headings(table) {
    const grid = Array.from(table.tHead.rows, () => []);
    [...table.tHead.rows].forEach((row, r) => {
        let at = 0;
        for (const cell of row.cells) {
            while (grid[r][at] != null) at++;
            for (let i = 0; i < cell.colSpan; i++, at++) {
                grid[r][at] = textOf(cell);
                for (let below = r + 1; below < r + cell.rowSpan; below++) grid[below][at] = '';
            }
        }
    });
    return grid[0].map((_, i) => grid.map(row => row[i]).filter(Boolean).join(' '));
}

function rows(table) {
    const lines = [...table.tBodies, table.tFoot].filter(Boolean).flatMap(part => [...part.rows]);
    return lines.map(row => [...row.cells].map(cell => plain(textOf(cell))));
}

// Numbers without grouping and with an ASCII minus, also after the mark of a lower bound; an
// unknown value is an empty field.
function plain(text) {
    if (text === '–') return '';
    if (!/^(≥ )?[+−]?[\d,]+(\.\d+)?$/.test(text)) return text;
    return text.replace(/[,+]/g, '').replace('−', '-');
}

// Below each chart: buttons for its image, as it is drawn at the moment.
export function addChartTools() {
    for (const chart of charts) {
        const button = type => {
            const onclick = () => saveChart(chart, type);
            const title = `Save this figure as ${type.toUpperCase()}`;
            return h('button', {class: 'cp ' + type, onclick, title}, type.toUpperCase());
        };
        const tools = h('div', {class: 'tools'});
        add(tools, button('svg'), button('png'));
        chart.gd.after(tools);
    }
}

async function saveChart({gd}, format) {
    const {clientWidth: width, clientHeight: height} = gd;
    const layout = {...gd.layout, paper_bgcolor: cssValue('--bg')};
    const scale = format === 'png' ? 2 : 1;
    const image = await Plotly.toImage({data: gd.data, layout}, {format, width, height, scale});
    const panel = gd.closest('section').id, which = charts.filter(c => c.gd.closest('#' + panel));
    const number = which.length > 1 ? '-' + (which.findIndex(c => c.gd === gd) + 1) : '';
    save(image, fileName(panel + number, format));
}
