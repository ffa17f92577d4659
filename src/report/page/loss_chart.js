// SPDX-License-Identifier: Apache-2.0
// The chart of loss: single steps and smoothed curves, ticks at commits, and a strip of differences from the first baseline.

const PERPLEXITY_TICKS = [10, 12, 15, 20, 30, 40, 60, 100, 300, 1000, 3000, 10000, 30000, 100000];

// `shown`: {x: tokens | steps | time, y: loss | ppl, range: detail | full}, read at each drawing.
function lossChart(where, shown) {
    const alt = `Training loss of this run and ${D.loss.curves.length - 1} baselines; final values in the table beside.`;
    return chart(where, 410, alt, gd => lossFigure(gd, shown), true);
}

// Colour and line of a curve; scenarios other than the published ones take the colours that are left.
function curveStyle(id) {
    const known = {
        run: {color: '--ink', width: 2.2, dash: 'solid'},
        one: {color: '--muted', width: 1.6, dash: '7px,3px'},
        two: {color: '--muted', width: 1.6, dash: '1.5px,2.5px'}
    };
    const place = D.loss.curves.findIndex(q => q.id === id);
    return known[id] || {color: ['--s4', '--s5', '--s6', '--s7'][place % 4], width: 1.6, dash: '4px,2px,1px,2px'};
}

function lossFigure(gd, shown) {
    const f = lossFrame(shown);
    f.layout.xaxis = lossXAxis(f, gd);
    f.layout.yaxis = lossYAxis(f, shown.range);
    addSingleSteps(f);
    addCurves(f);
    addCommitTicks(f);
    if (f.strip) addDifferences(f);
    addAxisTitles(f);
    return {data: f.data, layout: f.layout};
}

// The empty figure, and what its parts share: `slim` for a narrow page, `byTime` and `bySteps` for the horizontal axis (else by tokens),
// `perStep` units of it, `perplexity` for the vertical axis, `strip` where differences are drawn, `x` from a curve to its places.
function lossFrame(shown) {
    const slim = narrow(), byTime = shown.x === 'time', bySteps = shown.x === 'steps';
    const perStep = bySteps ? 1 : D.loss.tokens_per_step * tokenScale;
    return {
        slim,
        byTime,
        bySteps,
        perStep,
        perplexity: shown.y === 'ppl',
        strip: !byTime && D.loss.difference && D.loss.difference.curves.length,
        x: q => byTime ? q.t.map(ms) : q.step.map(v => v * perStep),
        data: [],
        layout: layout({
            margin: {l: slim ? 36 : 48, r: slim ? 6 : 10, t: 8, b: byTime ? 40 : 44},
            hovermode: byTime ? false : 'x',
            shapes: [],
            annotations: []
        })
    };
}

function lossXAxis(f, gd) {
    if (f.byTime) return timeAxis({anchor: 'y2', nticks: fit(gd, 58)});
    const last = Math.max(...D.loss.curves.map(q => q.step[q.step.length - 1])) * f.perStep;
    const fewTicks = f.bySteps ? 5 : 6;
    return axis({
        range: [0, last * 1.01],
        fixedrange: false,
        ticks: 'outside',
        ticklen: 4,
        ticksuffix: '',
        nticks: f.slim ? fewTicks : 13,
        anchor: f.strip ? 'y3' : 'y2',
        tickformat: f.bySteps ? ',d' : '',
        hoverformat: f.bySteps ? ',d' : '.2f'
    });
}

// Where the curves begin, as a share of the plot's height.
const curvesBottom = f => f.strip ? .31 : .06;

function lossYAxis(f, range) {
    const curves = D.loss.curves;
    const lowest = Math.min(...curves.map(q => q.loss[q.loss.length - 1])), highest = Math.max(...curves.map(q => q.loss[0]));
    const nats = range === 'detail' ? [lowest - .45, lowest + 1.5] : [lowest - .6, highest * 1.03];
    const shared = {domain: [curvesBottom(f), 1], nticks: 7};
    if (!f.perplexity) return axis({...shared, range: nats, type: 'linear', hoverformat: '.3f'});
    return axis({
        ...shared,
        range: nats.map(v => Math.log10(Math.exp(v))),
        type: 'log',
        tickvals: PERPLEXITY_TICKS,
        ticktext: PERPLEXITY_TICKS.map(v => N(v)),
        hoverformat: '.2f'
    });
}

function addSingleSteps(f) {
    for (const s of sites) {
        const q = D.loss.raw[s.id];
        if (!q || !q.step.length) continue;
        f.data.push({
            type: 'scatter',
            mode: 'markers',
            x: f.x(q),
            y: f.perplexity ? q.loss.map(Math.exp) : q.loss,
            marker: {size: 2.6, color: rgba(siteColorNow(s), .3), line: {width: 0}},
            hoverinfo: 'skip'
        });
    }
}

// This run is the first curve, and drawn last.
function addCurves(f) {
    for (const q of D.loss.curves.slice().reverse()) {
        const {color, width, dash} = curveStyle(q.id);
        f.data.push({
            type: 'scatter',
            mode: 'lines',
            name: q.label,
            x: f.x(q),
            y: f.perplexity ? q.ppl : q.loss,
            line: {color: css(color), width, dash},
            hovertemplate: '%{y}<extra>' + esc(q.label) + '</extra>'
        });
    }
}

function addCommitTicks(f) {
    const bottom = curvesBottom(f);
    f.layout.yaxis2 = axis({domain: [bottom - .045, bottom - .012], range: [0, 1], showticklabels: false, showgrid: false});
    const merged = D.rounds.filter(k => k.merged_s != null), color = css('--mid');
    f.data.push({
        type: 'scatter',
        mode: 'markers',
        yaxis: 'y2',
        x: merged.map(k => f.byTime ? ms(k.merged_s) : k.last_step * f.perStep),
        y: merged.map(() => .5),
        marker: {symbol: 'line-ns-open', size: 8, color, line: {width: 1, color}},
        hoverinfo: 'skip'
    });
}

// The strip: differences in loss from the first baseline, with their standard errors.
function addDifferences(f) {
    const curves = D.loss.difference.curves;
    f.layout.yaxis3 = differenceAxis(curves);
    f.layout.shapes.push(horizontalLine(0, 'y3', {color: css('--muted'), width: 1.6, dash: '7px,3px'}));
    for (const q of curves.slice().reverse()) f.data.push(differenceTrace(f, q));
    f.layout.annotations.push(chartText(
        'difference in loss from one site, always on',
        {x: .004, y: .2, yanchor: 'bottom', xanchor: 'left', yshift: -3, font: {size: 11.5}}));
}

// The first two buckets hold the steep beginning: they may leave the strip.
function differenceAxis(curves) {
    const greatest = Math.max(.06, ...curves.flatMap(q => q.d.slice(2).map(Math.abs))) * 1.05;
    const end = Math.min(greatest, .14), tick = greatest > .1 ? .1 : .05;
    const ticks = [-tick, 0, tick];
    return axis({domain: [0, .2], range: [-end, end], tickvals: ticks, ticktext: ticks.map(v => S(v, 2))});
}

function differenceTrace(f, q) {
    const mine = q.id === 'run', {color: name, dash} = curveStyle(q.id), color = css(name);
    return {
        type: 'scatter',
        mode: 'lines',
        yaxis: 'y3',
        name: q.label,
        x: f.x(q),
        y: q.d,
        line: {color, width: mine ? 1.8 : 1.3, dash},
        error_y: {type: 'data', array: q.se, thickness: .8, width: 0, color: mine ? rgba(color, .4) : 'rgba(0,0,0,0)'},
        text: q.d.map(v => S(v, 3)),
        hovertemplate: 'Δ %{text}<extra>' + (mine ? 'this run' : 'two sites') + ' − one site</extra>'
    };
}

function addAxisTitles(f) {
    const title = (text, o) => f.layout.annotations.push(chartText(text, {xanchor: 'right', yanchor: 'top', font: {size: 11.5}, ...o}));
    title(f.perplexity ? 'perplexity, log scale' : 'loss, nats per token', {x: .996, y: 1});
    if (f.byTime) f.layout.annotations.push(zone(f.slim));
    else title(f.bySteps ? 'optimizer steps' : tokenUnit + ' tokens', {x: 1, y: 0, yshift: -22});
}
