// SPDX-License-Identifier: Apache-2.0
// The chart of the timeline: a bar of rounds, and for each site a lane of intensity above a ribbon of states.

// Heights in pixels, from the top.
const TIMELINE = {
    top: 22,
    rounds: 20,
    gap: 20,
    lane: 78,
    space: 3,
    ribbon: 13,
    bottom: 40
};
const timelineSiteHeight = TIMELINE.gap + TIMELINE.lane + TIMELINE.space + TIMELINE.ribbon;
const timelineInnerHeight = () => TIMELINE.rounds + sites.length * timelineSiteHeight;

function timelineChart(body) {
    const height = TIMELINE.top + timelineInnerHeight() + TIMELINE.bottom;
    const alt = `Timeline of ${sites.length} sites in UTC: carbon intensity, windows and states; ${D.windows.length} windows and ${
        D.rounds.length} rounds. The table below lists the windows.`;
    chart(body, height, alt, timelineFigure, true);
}

function timelineFigure(gd) {
    const f = timelineFrame(gd);
    if (D.rounds.length) {
        addRoundBars(f);
        addCommitMarks(f);
    } else f.layout.annotations.push(chartText('no round yet', {yref: 'y domain', x: 0, y: .5, xanchor: 'left'}));
    if (!f.slim) addRowTitles(f);
    sites.forEach((s, i) => {
        const lane = addLane(f, s, i);
        shadeWindows(f, s, lane);
        addSignal(f, s, lane);
        addRibbon(f, s, i);
        f.layout.annotations.push(f.slim ? slimSiteLabel(f, s, i, lane) : siteLabel(f, s, lane));
    });
    addCommitLines(f);
    if (finished) addEnd(f);
    f.layout.annotations.push(zone(f.slim));
    return {data: f.data, layout: f.layout};
}

// The empty figure, and what its parts share: `slim` for a narrow page, colours, the range and end of time, pixels per millisecond.
function timelineFrame(gd) {
    const slim = narrow(), range = visibleRange(), beside = slim ? 40 : 182;
    const lay = layout({
        margin: {l: slim ? 34 : 168, r: slim ? 6 : 14, t: TIMELINE.top, b: TIMELINE.bottom},
        hovermode: 'closest',
        barmode: 'overlay',
        bargap: 0,
        shapes: [],
        annotations: []
    });
    const axes = 1 + 2 * sites.length;
    lay.xaxis = timeAxis({anchor: 'y' + axes, nticks: fit(gd, beside)});
    lay.yaxis = axis({domain: timelineRow(0, TIMELINE.rounds), range: [0, 1], showticklabels: false, showgrid: false});
    // An axis without a trace would be left out: lanes stay where they are also when nothing has happened.
    const anchors =
        Array.from({length: axes}, (_, i) => ({type: 'scatter', x: [ms(0)], y: [null], yaxis: i ? 'y' + (i + 1) : 'y', hoverinfo: 'skip'}));
    return {
        slim,
        range,
        pixels: (gd.clientWidth - beside) / (range[1] - range[0]),
        end: ms(D.run.end_s),
        ink: css('--ink'),
        mid: css('--mid'),
        bg: css('--bg'),
        data: anchors,
        layout: lay
    };
}

// The domain of an axis that begins `y` pixels below the top of the plot.
function timelineRow(y, height) {
    const inner = timelineInnerHeight();
    return [1 - (y + height) / inner, 1 - y / inner];
}

// Bars along time, one for each entry of pack().
const timeBars = (spans, yaxis, o) => Object.assign(
    {
        type: 'bar',
        orientation: 'h',
        base: spans.map(s => s.x),
        x: spans.map(s => s.y - s.x),
        y: spans.map(() => .5),
        width: 1,
        yaxis,
        xaxis: 'x'
    },
    o);

function addRoundBars(f) {
    const spans = pack(D.rounds, k => k.start_s, k => k.end_s, 1.5 / f.pixels);
    const color = ({q: k, n}) => {
        if (k.mode !== 'joint') return rgba(f.mid, .09);
        return rgba(f.mid, n > 1 || k.number % 2 ? .34 : .24);
    };
    const number = ({x, y, q: k, n}) => {
        const width = (y - x) * f.pixels;
        const fits = width > (k.number > 9 ? 15 : 8) || (width > 3.4 && k.number % 5 === 0);
        return n === 1 && fits ? String(k.number) : '';
    };
    f.data.push(timeBars(spans, 'y', {
        marker: {color: spans.map(color), line: {width: 0}},
        text: spans.map(number),
        textposition: 'inside',
        insidetextanchor: 'middle',
        textangle: 0,
        constraintext: 'none',
        insidetextfont: {size: 10, color: f.mid},
        hovertemplate: spans.map(roundHover)
    }));
}

function roundHover({x, y, q: k, last, n}) {
    const span = `${hm(x)}–${hm(y)} UTC`;
    if (n > 1) return `<b>Rounds ${k.number}–${last.number}</b>, ${span}<br>zoom in to separate them<extra></extra>`;
    const merge = k.merge_s == null ? 'no merge recorded' : 'merged in ' + N(k.merge_s, 2) + ' ' + REAL;
    const weights = k.sites.map(part => esc(label(part.site)) + ' ' + N(part.weight * 100, 1) + ' %');
    return `<b>Round ${k.number}</b> ${k.mode}, ${span}<br>${tokens(k.tokens, 3)} tokens in ${N(k.duration_s, 1)} ${REAL}, ${merge}<br>${
        weights.join('<br>')}<extra></extra>`;
}

function addCommitMarks(f) {
    const merged = D.rounds.filter(k => k.merged_s != null);
    const marks = pack(merged, k => k.merged_s, k => k.merged_s, 3 / f.pixels);
    const hover = ({x, q: k, n}) => {
        if (n > 1) return `<b>${n} commits</b> from ${hms(x)} UTC<extra></extra>`;
        const took = k.merge_s == null ? '' : ', ' + N(k.merge_s, 2) + ' ' + REAL;
        return `<b>Commit of round ${k.number}</b> ${hms(x)} UTC${took}<extra></extra>`;
    };
    f.data.push({
        type: 'scatter',
        mode: 'markers',
        x: marks.map(m => m.x),
        y: marks.map(() => 1),
        cliponaxis: false,
        yaxis: 'y',
        marker: {symbol: 'diamond', size: 6, color: f.ink, line: {width: 1, color: f.bg}},
        hovertemplate: marks.map(hover)
    });
}

function addRowTitles(f) {
    f.layout.annotations.push(
        chartText('gCO₂/kWh', {yref: 'y2 domain', x: 0, xanchor: 'right', xshift: -3, y: 1, yanchor: 'bottom', font: {size: 10.5}}),
        chartText('Rounds', {yref: 'y domain', x: 0, xshift: -10, xanchor: 'right', y: .5, font: {size: 12.5, color: f.ink}}));
}

// Answers the name of the new axis, as traces call it.
function addLane(f, s, i) {
    const number = 2 + 2 * i, lane = 'y' + number;
    const greatest = greatestIntensity();
    const ticks = [100, 500, 900].filter(v => v < greatest);
    if (s.open_below !== 100) ticks.push(s.open_below);
    f.layout['yaxis' + number] = axis({
        domain: timelineRow(TIMELINE.rounds + i * timelineSiteHeight + TIMELINE.gap, TIMELINE.lane),
        range: [0, greatest],
        tickvals: ticks,
        tickfont: {size: 10.5}
    });
    f.layout.shapes.push(
        horizontalLine(0, lane, {color: css('--rule'), width: 1}, {layer: 'below'}),
        horizontalLine(s.open_below, lane, {color: f.mid, width: 1, dash: '3px,3px'}));
    return lane;
}

// One scale for all lanes.
function greatestIntensity() {
    const ofSite = s => ((SERIES[s.region] || {}).v || []).reduce((m, v) => Math.max(m, v || 0), s.open_below);
    return Math.max(150, ...sites.map(ofSite)) * 1.06;
}

function shadeWindows(f, s, lane) {
    const shade = (from, to, opacity) =>
        f.layout.shapes.push(band(ms(from), ms(to), rgba(siteColorNow(s), opacity), {yref: lane + ' domain'}));
    for (const w of D.windows.filter(w => w.site === s.id)) {
        shade(w.open_s, windowEnd(w), .13);
        for (const [from, to] of w.closing_s) shade(from, to, .3);
    }
}

function addSignal(f, s, lane) {
    const series = SERIES[s.region];
    if (!series) {
        const region = s.region.length > 24 ? s.region.slice(0, 23) + '…' : s.region;
        f.layout.annotations.push(chartText('no signal for ' + esc(region), {yref: lane + ' domain', x: .5, y: .5}));
        return;
    }
    f.data.push({
        type: 'scatter',
        mode: 'lines',
        x: series.t.map(ms),
        y: series.v,
        yaxis: lane,
        line: {color: siteColorNow(s), width: 1.6},
        hoverinfo: 'skip',
        connectgaps: false
    });
}

function addRibbon(f, s, i) {
    const number = 3 + 2 * i, ribbon = 'y' + number;
    f.layout['yaxis' + number] = axis({
        domain: timelineRow(TIMELINE.rounds + (i + 1) * timelineSiteHeight - TIMELINE.ribbon, TIMELINE.ribbon),
        range: [0, 1],
        showticklabels: false,
        showgrid: false
    });
    f.layout.shapes.push(band(ms(0), f.end, css('--rule'), {yref: ribbon + ' domain', y0: .36, y1: .64}));
    const states = D.states[s.id] || [];
    for (const group of ['training', 'starting', 'exchange', 'draining', 'idle']) {
        const spans = pack(states.filter(([kind]) => GROUP[kind] === group), q => q[1], q => q[2], 1 / f.pixels);
        if (!spans.length) continue;
        const hover = ({x, y, q: [kind], n}) => {
            const what = n > 1 ? group + ', ' + n + ' intervals' : DETAIL[kind];
            return `<b>${short(s)}</b> ${what}<br>${hms(x)}–${hms(y)} UTC, ${duration((y - x) / 1000)}<extra></extra>`;
        };
        f.data.push(timeBars(spans, ribbon, {marker: stateMarker(f, group, siteColorNow(s)), hovertemplate: spans.map(hover)}));
    }
}

// How a group of states is filled: as in the legend (style.css, .st-*).
function stateMarker(f, group, color) {
    const hatched = shape =>
        ({color, line: {width: 0, color}, pattern: {shape, fgcolor: color, bgcolor: f.bg, size: 3.5, solidity: .4, fillmode: 'replace'}});
    switch (group) {
        case 'training':
            return {color, line: {width: 0, color}};
        case 'starting':
            return hatched('/');
        case 'draining':
            return hatched('|');
        case 'exchange':
            return {color: blend(color, f.bg, .36), line: {width: 0, color}};
        default:
            return {color: f.bg, line: {width: 1.2, color}};
    }
}

function siteLabel(f, s, lane) {
    const own = D.windows.filter(w => w.site === s.id);
    const hours = own.reduce((t, w) => t + windowEnd(w) - w.open_s, 0) / 3600;
    const windows = `${own.length} window${own.length === 1 ? '' : 's'}, ${N(hours, 2)} h`;
    const more = `<span style="font-size:11.5px">${esc(s.devices)}<br>${windows}</span>`;
    return chartText(`<span style="color:${siteColorNow(s)}">■</span> <b>${short(s)}</b><br>${more}`, {
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

function slimSiteLabel(f, s, i, lane) {
    return chartText(
        `<span style="color:${siteColorNow(s)}">■</span> <b>${short(s)}</b>${i ? '' : ', gCO₂/kWh'}`,
        {yref: lane + ' domain', x: 0, y: 1, xanchor: 'left', yanchor: 'bottom', font: {size: 11.5, color: f.ink}, yshift: -2});
}

// Joint commits go through all lanes, unless they are too many to tell apart.
function addCommitLines(f) {
    const [from, to] = f.range;
    const moments = D.rounds.filter(k => k.mode === 'joint' && k.merged_s).map(k => ms(k.merged_s)).filter(t => t >= from && t <= to);
    if (moments.length > 150) return;
    const below = 1 - TIMELINE.rounds / timelineInnerHeight();
    for (const t of moments) f.layout.shapes.push(verticalLine(t, {color: rgba(f.mid, .09), width: 1}, {y1: below, layer: 'below'}));
}

function addEnd(f) {
    const [from, to] = f.range;
    const atRight = f.slim || (f.end - from) / (to - from) > .88;
    f.layout.shapes.push(band(f.end, fullRange()[1], rgba(f.bg, .62), {layer: 'above'}), verticalLine(f.end, {color: f.mid, width: 1}));
    f.layout.annotations.push(chartText(
        'run ends ' + hm(f.end),
        {xref: 'x', x: f.end, y: 1, yanchor: 'bottom', xanchor: atRight ? 'right' : 'left', font: {size: 11.5, color: f.mid}, yshift: 3}));
}

// `a` with share `t`, over `b`.
function blend(a, b, t) {
    const parts = color => {
        if (color[0] === '#') return [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16));
        return color.match(/\d+/g).map(Number);
    };
    const over = parts(b);
    return 'rgb(' + parts(a).map((v, i) => Math.round(v * t + over[i] * (1 - t))).join(',') + ')';
}
