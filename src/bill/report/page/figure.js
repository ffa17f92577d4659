// SPDX-License-Identifier: Apache-2.0
// The parts of Plotly figures: axes, layout, shapes and texts in the page's style.
import {cssValue, main} from './elements.js';
import {timeOf} from './format.js';
import {visibleRange} from './time_range.js';

export const isNarrow = () => main.clientWidth < 680;

const baseFont = () => ({family: cssValue('--sans'), size: 12, color: cssValue('--muted')});

export const axis = options => ({
    gridcolor: cssValue('--grid'),
    linecolor: cssValue('--rule'),
    tickcolor: cssValue('--rule'),
    zeroline: false,
    fixedrange: true,
    ticks: '',
    tickfont: {size: 11.5},
    ...options
});

export const timeAxis = options => axis({
    type: 'date',
    range: visibleRange().slice(),
    fixedrange: false,
    tickformat: '%H:%M\n%-d %b',
    ticks: 'outside',
    ticklen: 4,
    tickangle: 0,
    ...options
});

// An axis without ticks, for rows of bars and marks.
export const bareAxis = options =>
    axis({range: [0, 1], showticklabels: false, showgrid: false, ...options});

// How many time ticks fit into a chart whose margins take `margins` pixels.
export const ticksThatFit = (gd, margins) =>
    Math.max(3, Math.floor((gd.clientWidth - margins) / 86));

export const layout = options => ({
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: baseFont(),
    showlegend: false,
    dragmode: 'zoom',
    hoverlabel: {
        bgcolor: cssValue('--raise'),
        bordercolor: cssValue('--rule'),
        font: {family: cssValue('--sans'), size: 12, color: cssValue('--ink')},
        align: 'left'
    },
    shapes: [],
    annotations: [],
    ...options
});

export const verticalBand = (x0, x1, fillcolor, options) => ({
    type: 'rect',
    xref: 'x',
    yref: 'paper',
    x0,
    x1,
    y0: 0,
    y1: 1,
    fillcolor,
    line: {width: 0},
    layer: 'below',
    ...options
});
export const verticalLine = (x, line, options) =>
    ({type: 'line', xref: 'x', yref: 'paper', x0: x, x1: x, y0: 0, y1: 1, line, ...options});
export const horizontalLine = (y, yref, line, options) =>
    ({type: 'line', xref: 'paper', yref, x0: 0, x1: 1, y0: y, y1: y, line, ...options});
export const chartText = (text, options) =>
    ({xref: 'paper', yref: 'paper', text, showarrow: false, ...options});
export function zoneLabel(narrow) {
    const place = narrow ? {x: 1, xanchor: 'right', yshift: -19} :
                           {x: 0, xanchor: 'right', xshift: -18, yshift: -4};
    return chartText('UTC', {y: 0, yanchor: 'top', font: {size: 11.5}, ...place});
}

// Spans {x, y, q, last, n} of the visible rows, at most one per `gap` milliseconds. Closer
// neighbours become one span of `n` rows, from row `q` to row `last`; zooming in separates them.
// `start` and `end` give a row's times in seconds on the signal's clock.
export function packSpans(rows, start, end, gap) {
    const [from, to] = visibleRange(), spans = [];
    for (const q of rows) {
        const x = timeOf(start(q)), y = timeOf(end(q));
        if (y < from || x > to) continue;
        const before = spans[spans.length - 1];
        if (before && x - before.y < gap && (x - before.x < gap || y - x < gap)) {
            before.y = Math.max(before.y, y);
            before.last = q;
            before.n++;
        } else spans.push({x, y, q, last: q, n: 1});
    }
    return spans;
}

// Horizontal bars, one per span.
export const spanBars = (spans, yaxis, options) => ({
    type: 'bar',
    orientation: 'h',
    base: spans.map(s => s.x),
    x: spans.map(s => s.y - s.x),
    y: spans.map(() => .5),
    width: 1,
    yaxis,
    xaxis: 'x',
    ...options
});
