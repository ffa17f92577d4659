// SPDX-License-Identifier: Apache-2.0
// Zoom, which all time charts share.
import {drawnTimeCharts} from './chart.js';
import {byId, h} from './elements.js';
import {dayHourMinute, duration} from './format.js';
import {fullRange, setZoomedRange, zoomedRange} from './time_range.js';

let drawing = false;  // zoom() draws the charts, and they report that as a zoom

// Draws all time charts for the range; null shows everything. Ranges under a minute are ignored.
export function zoom(range) {
    if (range && range[1] - range[0] < 60000) return;
    setZoomedRange(range);
    keepInAddress();
    drawing = true;
    Promise.all(drawnTimeCharts().map(c => c.draw())).then(() => {
        drawing = false;
    });
    updateZoomStatus();
}

// To twice the width, around `t`.
export function zoomOut(t, width) {
    const [first, last] = fullRange();
    const from = Math.max(first, t - width), to = Math.min(last, t + width);
    zoom(from <= first && to >= last ? null : [from, to]);
}

// The visible range and the way back, for the head of the timeline.
export function zoomStatus() {
    const text = {class: 'note', id: 'zoomed', style: 'margin:0', 'aria-live': 'polite'};
    const button = {class: 'btn', id: 'zoomout', hidden: true, onclick: () => zoom(null)};
    return [h('span', text), h('button', button, 'Reset zoom')];
}

function updateZoomStatus() {
    const text = byId('zoomed');
    if (!text) return;
    const range = zoomedRange();
    text.textContent = range ?
        range.map(dayHourMinute).join('–') + ' UTC, ' + duration((range[1] - range[0]) / 1000) :
        '';
    byId('zoomout').hidden = !range;
}

// A drag in one chart zooms all of them; a double click resets.
export function followZoom(chart) {
    chart.gd.on('plotly_relayout', change => {
        if (drawing || !chart.isTime()) return;
        const from = change['xaxis.range[0]'], to = change['xaxis.range[1]'];
        if (from != null) zoom([timeOfAxisValue(from), timeOfAxisValue(to)]);
    });
    chart.gd.on('plotly_doubleclick', () => {
        if (chart.isTime()) zoom(null);
        else chart.draw();
    });
}

// Plotly gives milliseconds, or UTC as text without a zone.
function timeOfAxisValue(value) {
    if (typeof value === 'number') return value;
    return Date.parse(String(value).replace(' ', 'T') + (/Z$/.test(value) ? '' : 'Z'));
}

// The range in the page's address, such as #t=2026-01-11T17:00:00Z/2026-01-11T18:00:00Z, or
// #loss&t=... if a panel is selected too.
const PART = /&?\bt=([^&/]+)\/([^&]+)/;
const utc = t => new Date(t).toISOString().replace(/\.\d+/, '');

function keepInAddress() {
    const rest = location.hash.slice(1).replace(PART, ''), range = zoomedRange();
    const part = range ? 't=' + range.map(utc).join('/') : '';
    const hash = [rest, part].filter(Boolean).join('&');
    history.replaceState(null, '', location.pathname + location.search + (hash && '#' + hash));
}

// Some programs encode the address. Without a zone, a time is UTC too.
function readableHash() {
    try {
        return decodeURIComponent(location.hash);
    } catch (e) {
        return location.hash;
    }
}
const hasZone = text => /(Z|[+-]\d\d:\d\d)$/.test(text);
const utcTime = text => Date.parse(/T/.test(text) && !hasZone(text) ? text + 'Z' : text);

// The range in the address, if it shows a part of the record; else null.
function rangeInAddress() {
    const found = readableHash().match(PART);
    if (!found) return null;
    const [first, last] = fullRange();
    const [from, to] = found.slice(1).map(utcTime);
    if (!(to - from >= 60000 && from < last && to > first)) return null;
    return to - from < last - first ? [from, to] : null;
}

// Restores the range of a link. A link to a panel keeps the range.
export function followAddress() {
    setZoomedRange(rangeInAddress());
    updateZoomStatus();
    const panel = byId(location.hash.slice(1).split('&')[0]);
    if (panel && zoomedRange()) panel.scrollIntoView();
    addEventListener('hashchange', () => {
        if (PART.test(readableHash())) zoom(rangeInAddress());
        else keepInAddress();
    });
}

export function resetZoomOnEscape() {
    document.addEventListener('keydown', e => {
        const isField = e.target.matches && e.target.matches('input, select');
        if (e.key === 'Escape' && !isField && zoomedRange()) zoom(null);
    });
}
