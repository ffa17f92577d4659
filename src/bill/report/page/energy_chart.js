// SPDX-License-Identifier: Apache-2.0
// The charts of cumulative energy and carbon: the sites' parts stacked, always-on as lines.
import {addChart} from './chart.js';
import {data, siteById, sites} from './data.js';
import {cssValue, rgba, siteColorNow} from './elements.js';
import * as figure from './figure.js';
import {
    escapeMarkup,
    secondsSinceZero,
    shortLabel,
    significant,
    timeOf,
    totalBoundMark
} from './format.js';
import {visibleRange} from './time_range.js';

// What a chart shows. The series `key` is in thousandths of the chart's unit.
export const ENERGY = {
    key: 'wh',
    name: 'energy'
};
export const CARBON = {
    key: 'g',
    name: 'CO2'
};

// `shown`: {alwaysOn}, read at each drawing.
export function addEnergyChart(where, quantity, shown) {
    const alt = 'Cumulative ' + quantity.name + ' by site; totals in the table below.';
    const draw = gd => energyFigure(gd, quantity, shown);
    return addChart({where, height: 250, alt, figure: draw, time: true});
}

function energyFigure(gd, quantity, shown) {
    const f = emptyFigure(gd, quantity);
    const parts = addSiteStack(f);
    const total = parts.reduce((t, part) => t + part.value, 0);
    const lines = shown.alwaysOn ? addAlwaysOn(f) : [];
    const greatest = Math.max(total, ...lines.map(line => line.last)) || 1;
    f.layout.yaxis = figure.axis({range: [0, greatest * 1.08], nticks: 5});
    if (quantity === CARBON) shadeClosingDelays(f);
    if (!f.narrow) addAlwaysOnLabels(f, lines, greatest);
    f.layout.shapes.push(figure.verticalLine(f.end, {color: cssValue('--rule'), width: 1}));
    addTotal(f, total);
    if (!shown.alwaysOn) addPartLabels(f, parts, total);
    if (f.unknown.length) addUnknown(f);
    f.layout.annotations.push(figure.zoneLabel(f.narrow));
    return {data: f.data, layout: f.layout};
}

// The figure without content, and what its parts share: the end of the record, and the `unknown`
// sites, which have no series.
function emptyFigure(gd, quantity) {
    const narrow = figure.isNarrow();
    const margin = {l: narrow ? 36 : 50, r: narrow ? 44 : 120, t: 8, b: 40};
    const unknown = sites.filter(s => !data.energy.cumulative.sites[s.id][quantity.key]);
    const f = {narrow, quantity, unknown, end: timeOf(data.run.end_s), data: []};
    f.layout = figure.layout({margin, hovermode: false});
    f.layout.xaxis = figure.timeAxis({nticks: figure.ticksThatFit(gd, 156)});
    return f;
}

// Returns each site's part: {site, from, value}.
function addSiteStack(f) {
    const {sites: series, step_s: step} = data.energy.cumulative;
    const {length} = series[sites[0].id].wh;
    const x = Array.from({length}, (_, i) => timeOf(Math.min(i * step, data.run.end_s)));
    const parts = [];
    let from = 0;
    for (const s of sites.filter(s => !f.unknown.includes(s))) {
        const y = series[s.id][f.quantity.key].map(v => v / 1000), value = y[y.length - 1];
        const color = siteColorNow(s);
        f.data.push({
            mode: 'lines',
            stackgroup: 'a',
            x,
            y,
            line: {width: value > 0 ? 1.2 : 0, color},
            fillcolor: rgba(color, .42),
            hoverinfo: 'skip'
        });
        parts.push({site: s, from, value});
        from += value;
    }
    return parts;
}

// One line per region, or a single one where all regions are equal: always-on draws what its site
// does, and emits as its region does. Returns each line: {text, last, atRight}.
function addAlwaysOn(f) {
    const {[f.quantity.key]: series, start_s: start} = data.energy.cumulative.always_on;
    const regions = Object.keys(series).filter(region => series[region]);
    const different = new Set(regions.map(region => start[region] + ': ' + series[region]));
    if (f.quantity === ENERGY && different.size === 1)
        return [addAlwaysOnLine(f, regions[0], 'always on', cssValue('--muted'))];
    return regions.map(region => {
        const s = sites.find(s => s.region === region);
        const name = region.length > 10 ? region.slice(0, 9) + '…' : region;
        const color = s ? siteColorNow(s) : cssValue('--muted');
        return addAlwaysOnLine(f, region, escapeMarkup(name), color);
    });
}

function addAlwaysOnLine(f, region, text, color) {
    const {[f.quantity.key]: series, start_s: starts, step_s: step} =
        data.energy.cumulative.always_on;
    const start = starts[region], y = series[region].map(v => v / 1000);
    const x = y.map((_, i) => timeOf(start + i * step));
    const line = {color, width: 1.5, dash: '6px,3px'};
    f.data.push({mode: 'lines', x, y, line, hoverinfo: 'skip'});
    const shown = Math.round((secondsSinceZero(visibleRange()[1]) - start) / step);
    const atRight = y[Math.max(0, Math.min(y.length - 1, shown))];
    return {text, last: y[y.length - 1], atRight};
}

// To the right of the lines, from the lowest up, so that none covers another.
function addAlwaysOnLabels(f, lines, greatest) {
    const spacing = greatest * 1.08 * 13 / 200;
    let y = -1e9;
    for (const line of lines.slice().sort((p, q) => p.atRight - q.atRight)) {
        y = Math.max(line.atRight, y + spacing);
        const place = {yref: 'y', x: 1, y, xanchor: 'left', xshift: 4, font: {size: 11}};
        f.layout.annotations.push(figure.chartText(line.text, place));
    }
}

function shadeClosingDelays(f) {
    for (const w of data.windows) {
        const color = rgba(siteColorNow(siteById[w.site]), .22);
        for (const [from, to] of w.closing_s)
            f.layout.shapes.push(figure.verticalBand(timeOf(from), timeOf(to), color));
    }
}

// A text at the end of the record, at height `y` of the stack.
function addAtEnd(f, y, text, options) {
    const place = {xref: 'x', yref: 'y', x: f.end, y, xanchor: 'left', xshift: 5};
    f.layout.annotations.push(figure.chartText(text, {...place, ...options}));
}

// Blank if a site's part is unknown.
function addTotal(f, total) {
    const mark = f.quantity.key === 'g' ? totalBoundMark() : '';
    const text = f.unknown.length ? '' : mark + significant(total);
    const font = {size: 12, color: cssValue('--ink')};
    addAtEnd(f, total, '<b>' + text + '</b>', {yanchor: 'middle', font});
}

function addPartLabels(f, parts, total) {
    for (const {site, from, value} of parts) {
        if (!(total > 0 && value / total > .07)) continue;
        const text = significant(value) + (f.narrow ? '' : ' ' + shortLabel(site));
        addAtEnd(f, from + value / 2, text, {font: {size: 11}});
    }
}

function addUnknown(f) {
    const text = 'unknown: ' + f.unknown.map(shortLabel).join(', ');
    const place = {x: .02, xanchor: 'left', y: .98, yanchor: 'top', font: {size: 12}};
    f.layout.annotations.push(figure.chartText(text, place));
}
