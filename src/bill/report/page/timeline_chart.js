// SPDX-License-Identifier: Apache-2.0
// The timeline's chart: a bar of rounds, and for each site a lane (intensity) above a ribbon
// (states).
import {addChart} from './chart.js';
import {
    data,
    hasEnded,
    POWERED_GROUPS,
    signalSeries,
    sites,
    STATES,
    thresholdsOf,
    windowEnd,
} from './data.js';
import {blend, cssValue, rgba, siteColorNow} from './elements.js';
import * as figure from './figure.js';
import {
    clockTime,
    counted,
    duration,
    escapeMarkup,
    hourMinute,
    number,
    shortLabel,
    timeOf
} from './format.js';
import {fullRange, visibleRange} from './time_range.js';
import {addCommitLines, addRoundBars} from './timeline_rounds.js';

// In pixels.
const HEIGHT = {
    top: 22,
    rounds: 20,
    gap: 20,
    lane: 78,
    space: 3,
    ribbon: 13,
    bottom: 40
};
const SITE_HEIGHT = HEIGHT.gap + HEIGHT.lane + HEIGHT.space + HEIGHT.ribbon;
const innerHeight = () => HEIGHT.rounds + sites.length * SITE_HEIGHT;

export function addTimelineChart(where) {
    const height = HEIGHT.top + innerHeight() + HEIGHT.bottom;
    const alt = `Timeline of ${counted(sites.length, 'site')} in UTC: carbon intensity, windows ` +
        `and states; ${counted(data.windows.length, 'window')} and ` +
        `${counted(data.rounds.length, 'round')}. ` +
        'The table below lists the windows.';
    addChart({where, height, alt, figure: timelineFigure, time: true});
}

function timelineFigure(gd) {
    const f = emptyFigure(gd);
    addRoundBars(f);
    if (!f.narrow) addRowTitles(f);
    sites.forEach((s, i) => addSite(f, s, i));
    addCommitLines(f, 1 - HEIGHT.rounds / innerHeight());
    if (hasEnded) addEnd(f);
    f.layout.annotations.push(figure.zoneLabel(f.narrow));
    return {data: f.data, layout: f.layout};
}

// The figure without content, and what its parts share: colours, the visible range, the end of the
// record, pixels per millisecond.
function emptyFigure(gd) {
    const narrow = figure.isNarrow(), range = visibleRange(), margins = narrow ? 40 : 182;
    const pixels = (gd.clientWidth - margins) / (range[1] - range[0]);
    const colors = {ink: cssValue('--ink'), mid: cssValue('--mid'), bg: cssValue('--bg')};
    const f = {narrow, range, pixels, end: timeOf(data.run.end_s), ...colors};
    const axes = 1 + 2 * sites.length;
    f.data = Array.from({length: axes}, (_, i) => axisKeeper(i));
    f.layout = figure.layout({
        margin: {l: narrow ? 34 : 168, r: narrow ? 6 : 14, t: HEIGHT.top, b: HEIGHT.bottom},
        hovermode: 'closest',
        barmode: 'overlay',
        bargap: 0
    });
    f.layout.xaxis =
        figure.timeAxis({anchor: 'y' + axes, nticks: figure.ticksThatFit(gd, margins)});
    f.layout.yaxis = figure.bareAxis({domain: rowDomain(0, HEIGHT.rounds)});
    return f;
}

// Plotly drops an axis without a trace. This empty trace keeps a lane in its place.
function axisKeeper(i) {
    const yaxis = i ? 'y' + (i + 1) : 'y';
    return {x: [timeOf(0)], y: [null], yaxis, hoverinfo: 'skip'};
}

// The domain of an axis that begins `y` pixels below the top of the plot.
function rowDomain(y, height) {
    const inner = innerHeight();
    return [1 - (y + height) / inner, 1 - y / inner];
}

function addRowTitles(f) {
    const unit = {x: 0, xanchor: 'right', xshift: -3, y: 1, yanchor: 'bottom', font: {size: 10.5}};
    const rounds = {x: 0, xshift: -10, xanchor: 'right', y: .5, font: {size: 12.5, color: f.ink}};
    f.layout.annotations.push(
        figure.chartText('gCO₂/kWh', {yref: 'y2 domain', ...unit}),
        figure.chartText('Rounds', {yref: 'y domain', ...rounds}));
}

function addSite(f, s, i) {
    const lane = addLane(f, s, i);
    shadeWindows(f, s, lane);
    addSignal(f, s, lane);
    addRibbon(f, s, i);
    f.layout.annotations.push(f.narrow ? narrowSiteLabel(f, s, i, lane) : siteLabel(f, s, lane));
}

// Returns the name of the new axis, for traces.
function addLane(f, s, i) {
    const axisNumber = 2 + 2 * i, lane = 'y' + axisNumber;
    const greatest = greatestIntensity();
    const tickvals = [100, 500, 900].filter(v => v < greatest);
    const thresholds = thresholdsOf(s);
    tickvals.push(...new Set(thresholds.map(t => t.value).filter(v => !tickvals.includes(v))));
    const domain = rowDomain(HEIGHT.rounds + i * SITE_HEIGHT + HEIGHT.gap, HEIGHT.lane);
    f.layout['yaxis' + axisNumber] =
        figure.axis({domain, range: [0, greatest], tickvals, tickfont: {size: 10.5}});
    f.layout.shapes.push(
        figure.horizontalLine(0, lane, {color: cssValue('--rule'), width: 1}, {layer: 'below'}),
        ...thresholds.map((t, i) => thresholdLine(f, lane, t, thresholds[i + 1])));
    return lane;
}

// One that has changed reaches to the next one.
function thresholdLine(f, lane, threshold, next) {
    const style = {color: f.mid, width: 1, dash: '3px,3px'};
    const [from, to] = fullRange();
    const span = {
        xref: 'x',
        x0: threshold.from_s ? timeOf(threshold.from_s) : from,
        x1: next ? timeOf(next.from_s) : to
    };
    return figure.horizontalLine(
        threshold.value, lane, style, next || threshold.from_s ? span : {});
}

// All lanes have one scale.
function greatestIntensity() {
    const values = s => (signalSeries[s.region] || {}).v || [];
    const greatest = s => Math.max(...thresholdsOf(s).map(t => t.value));
    const ofSite = s => values(s).reduce((m, v) => Math.max(m, v || 0), greatest(s));
    return Math.max(150, ...sites.map(ofSite)) * 1.06;
}

function shadeWindows(f, s, lane) {
    const shade = (from, to, opacity) => {
        const color = rgba(siteColorNow(s), opacity);
        const place = {yref: lane + ' domain'};
        f.layout.shapes.push(figure.verticalBand(timeOf(from), timeOf(to), color, place));
    };
    for (const w of data.windows.filter(w => w.site === s.id)) {
        shade(w.open_s, windowEnd(w), .13);
        for (const [from, to] of w.closing_s) shade(from, to, .3);
    }
}

function addSignal(f, s, lane) {
    const series = signalSeries[s.region];
    if (!series) {
        const region = s.region.length > 24 ? s.region.slice(0, 23) + '…' : s.region;
        const text = 'no signal for ' + escapeMarkup(region);
        f.layout.annotations.push(figure.chartText(text, {yref: lane + ' domain', x: .5, y: .5}));
        return;
    }
    f.data.push({
        mode: 'lines',
        ...signalLine(series),
        yaxis: lane,
        line: {color: siteColorNow(s), width: 1.6},
        hoverinfo: 'skip',
        connectgaps: false
    });
}

// Steps, with a gap where no sample holds. Where intensity is interpolated, `u` is missing. Where
// samples are left out, the line connects the others.
function signalLine({t, v, u, left_out: leftOut}) {
    if (!u) return {x: t.map(timeOf), y: v};
    const x = [], y = [];
    t.forEach((from, i) => {
        const next = t[i + 1] ?? u[i], until = leftOut ? next : u[i];
        x.push(timeOf(from), timeOf(until));
        y.push(v[i], v[i]);
        if (until < next) {
            x.push(timeOf(until));
            y.push(null);
        }
    });
    return {x, y};
}

function addRibbon(f, s, i) {
    const axisNumber = 3 + 2 * i, ribbon = 'y' + axisNumber;
    const top = HEIGHT.rounds + (i + 1) * SITE_HEIGHT - HEIGHT.ribbon;
    f.layout['yaxis' + axisNumber] = figure.bareAxis({domain: rowDomain(top, HEIGHT.ribbon)});
    const place = {yref: ribbon + ' domain', y0: .36, y1: .64};
    f.layout.shapes.push(figure.verticalBand(timeOf(0), f.end, cssValue('--rule'), place));
    for (const group of POWERED_GROUPS) addStates(f, s, ribbon, group);
}

function addStates(f, s, ribbon, group) {
    const states = (data.states[s.id] || []).filter(([state]) => STATES[state][0] === group);
    const spans = figure.packSpans(states, q => q[1], q => q[2], 1 / f.pixels);
    if (!spans.length) return;
    const hover = ({x, y, q: [state], n}) => {
        const what = n > 1 ? group + ', ' + n + ' intervals' : STATES[state][1];
        const when = `${clockTime(x)}–${clockTime(y)} UTC, ${duration((y - x) / 1000)}`;
        return `<b>${shortLabel(s)}</b> ${what}<br>${when}<extra></extra>`;
    };
    const marker = stateMarker(f, group, siteColorNow(s));
    f.data.push(figure.spanBars(spans, ribbon, {marker, hovertemplate: spans.map(hover)}));
}

// The fill of a group of states, as in the legend (style.css, .st-*).
function stateMarker(f, group, color) {
    const plain = {color, line: {width: 0, color}};
    const pattern = {fgcolor: color, bgcolor: f.bg, size: 3.5, solidity: .4, fillmode: 'replace'};
    return {
        training: plain,
        starting: {...plain, pattern: {shape: '/', ...pattern}},
        draining: {...plain, pattern: {shape: '|', ...pattern}},
        exchange: {...plain, color: blend(color, f.bg, .36)},
        paused: {...plain, pattern: {shape: 'x', ...pattern}},
        idle: {color: f.bg, line: {width: 1.2, color}}
    }[group];
}

const coloredSquare = s => `<span style="color:${siteColorNow(s)}">■</span>`;

function siteLabel(f, s, lane) {
    const own = data.windows.filter(w => w.site === s.id);
    const hours = own.reduce((t, w) => t + windowEnd(w) - w.open_s, 0) / 3600;
    const windows = `${own.length} window${own.length === 1 ? '' : 's'}, ${number(hours, 2)} h`;
    const details = `${escapeMarkup(s.devices)}<br>${windows}`;
    const text = `${coloredSquare(s)} <b>${shortLabel(s)}</b><br>` +
        `<span style="font-size:11.5px">${details}</span>`;
    return figure.chartText(text, {
        yref: lane + ' domain',
        x: 0,
        xshift: -168,
        y: .96,
        xanchor: 'left',
        yanchor: 'top',
        align: 'left',
        font: {size: 12.5, color: f.ink}
    });
}

function narrowSiteLabel(f, s, i, lane) {
    const unit = i ? '' : ', gCO₂/kWh';
    return figure.chartText(`${coloredSquare(s)} <b>${shortLabel(s)}</b>${unit}`, {
        yref: lane + ' domain',
        x: 0,
        y: 1,
        xanchor: 'left',
        yanchor: 'bottom',
        font: {size: 11.5, color: f.ink},
        yshift: -2
    });
}

function addEnd(f) {
    const [from, to] = f.range;
    const nearRight = f.narrow || (f.end - from) / (to - from) > .88;
    f.layout.shapes.push(
        figure.verticalBand(f.end, fullRange()[1], rgba(f.bg, .62), {layer: 'above'}),
        figure.verticalLine(f.end, {color: f.mid, width: 1}));
    f.layout.annotations.push(figure.chartText('run ends ' + hourMinute(f.end), {
        xref: 'x',
        x: f.end,
        y: 1,
        yanchor: 'bottom',
        xanchor: nearRight ? 'right' : 'left',
        font: {size: 11.5, color: f.mid},
        yshift: 3
    }));
}
