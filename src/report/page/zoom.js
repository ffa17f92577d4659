// SPDX-License-Identifier: Apache-2.0
// Zoom, which all time charts share.
import {drawnTimeCharts} from './chart.js';
import {byId, h} from './elements.js';
import {duration, hourMinute} from './format.js';
import {fullRange, setZoomedRange, zoomedRange} from './time_range.js';

let drawing = false;  // zoom() draws the charts, and they report that as a zoom

// Draws all time charts for the range; null shows everything. Ranges under a minute are ignored.
export function zoom(range) {
    if (range && range[1] - range[0] < 60000) return;
    setZoomedRange(range);
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
    text.textContent = range ? hourMinute(range[0]) + '–' + hourMinute(range[1]) + ' UTC, ' +
            duration((range[1] - range[0]) / 1000) :
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

export function resetZoomOnEscape() {
    document.addEventListener('keydown', e => {
        if (e.key === 'Escape' && zoomedRange()) zoom(null);
    });
}
