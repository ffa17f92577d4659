// SPDX-License-Identifier: Apache-2.0
// The chart of loss: single steps and smoothed curves, ticks at commits, and a strip with the
// differences from the first baseline.
import {addChart} from './chart.js';
import {data, sites} from './data.js';
import {cssValue, rgba, siteColorNow} from './elements.js';
import * as figure from './figure.js';
import {escapeMarkup, number, signed, timeOf, tokenScale, tokenUnit} from './format.js';

const PERPLEXITY_TICKS = [10, 12, 15, 20, 30, 40, 60, 100, 300, 1000, 3000, 10000, 30000, 100000];

// `shown`: {x: tokens | steps | time, y: loss | ppl, range: detail | full}, read at each drawing.
export function addLossChart(where, shown) {
    const baselines = data.loss.curves.length - 1;
    const alt = `Training loss of this run and ${baselines} baselines; ` +
        'the table next to it lists the final values.';
    return addChart({where, height: 410, alt, figure: gd => lossFigure(gd, shown), time: true});
}

const CURVE_STYLES = {
    run: {color: '--ink', width: 2.2, dash: 'solid'},
    one: {color: '--muted', width: 1.6, dash: '7px,3px'},
    two: {color: '--muted', width: 1.6, dash: '1.5px,2.5px'}
};

// Scenarios other than the published ones take the remaining colours.
export function curveStyle(id) {
    const place = data.loss.curves.findIndex(q => q.id === id);
    const color = ['--s4', '--s5', '--s6', '--s7'][place % 4];
    return CURVE_STYLES[id] || {color, width: 1.6, dash: '4px,2px,1px,2px'};
}

function lossFigure(gd, shown) {
    const f = emptyFigure(shown);
    f.layout.xaxis = xAxis(f, gd);
    f.layout.yaxis = yAxis(f, shown.range);
    if (!f.byTime) shadeJointRounds(f);
    addSingleSteps(f);
    addCurves(f);
    addFollowed(f);
    addHeldOut(f);
    addCommitTicks(f);
    if (f.strip) addDifferences(f);
    addAxisTitles(f);
    return {data: f.data, layout: f.layout};
}

// The figure without content, and what its parts share: the horizontal axis (`byTime`, `bySteps`,
// else by tokens; `perStep` units per step; `x` gives a curve's positions), whether the vertical
// one shows `perplexity`, and whether a `strip` of differences is drawn.
function emptyFigure(shown) {
    const narrow = figure.isNarrow(), byTime = shown.x === 'time', bySteps = shown.x === 'steps';
    const perStep = bySteps ? 1 : data.loss.tokens_per_step * tokenScale;
    const difference = data.loss.difference;
    return {
        narrow,
        byTime,
        bySteps,
        perStep,
        perplexity: shown.y === 'ppl',
        strip: !byTime && difference && difference.curves.length,
        x: q => byTime ? q.t.map(timeOf) : q.step.map(v => v * perStep),
        data: [],
        layout: figure.layout({
            margin: {l: narrow ? 36 : 48, r: narrow ? 6 : 10, t: 8, b: byTime ? 40 : 44},
            hovermode: byTime ? false : 'x'
        })
    };
}

function xAxis(f, gd) {
    if (f.byTime) return figure.timeAxis({anchor: 'y2', nticks: figure.ticksThatFit(gd, 58)});
    const last = Math.max(...data.loss.curves.map(q => q.step[q.step.length - 1])) * f.perStep;
    const fewTicks = f.bySteps ? 5 : 6;
    return figure.axis({
        range: [0, last * 1.01],
        fixedrange: false,
        ticks: 'outside',
        ticklen: 4,
        ticksuffix: '',
        nticks: f.narrow ? fewTicks : 13,
        anchor: f.strip ? 'y3' : 'y2',
        tickformat: f.bySteps ? ',d' : '',
        hoverformat: f.bySteps ? ',d' : '.2f'
    });
}

// Where the curves begin, as a share of the plot's height.
const curvesBottom = f => f.strip ? .31 : .06;

function yAxis(f, range) {
    const curves = data.loss.curves;
    const lowest = Math.min(...curves.map(q => q.loss[q.loss.length - 1]));
    const highest = Math.max(...curves.map(q => q.loss[0]));
    const nats = range === 'detail' ? [lowest - .45, lowest + 1.5] : [lowest - .6, highest * 1.03];
    const shared = {domain: [curvesBottom(f), 1], nticks: 7};
    if (!f.perplexity)
        return figure.axis({...shared, range: nats, type: 'linear', hoverformat: '.3f'});
    return figure.axis({
        ...shared,
        range: nats.map(v => Math.log10(Math.exp(v))),
        type: 'log',
        tickvals: PERPLEXITY_TICKS,
        ticktext: PERPLEXITY_TICKS.map(v => number(v)),
        hoverformat: '.2f'
    });
}

function addSingleSteps(f) {
    for (const s of sites) {
        const q = data.loss.raw[s.id];
        if (!q || !q.step.length) continue;
        f.data.push({
            mode: 'markers',
            x: f.x(q),
            y: f.perplexity ? q.loss.map(Math.exp) : q.loss,
            marker: {size: 2.6, color: rgba(siteColorNow(s), .3), line: {width: 0}},
            hoverinfo: 'skip'
        });
    }
}

// This run is the first curve and must cover the others.
function addCurves(f) {
    for (const q of data.loss.curves.slice().reverse()) {
        const {color, width, dash} = curveStyle(q.id);
        f.data.push({
            mode: 'lines',
            name: q.label,
            x: f.x(q),
            y: f.perplexity ? q.ppl : q.loss,
            line: {color: cssValue(color), width, dash},
            hovertemplate: '%{y}<extra>' + escapeMarkup(q.label) + '</extra>'
        });
    }
}

// The parts of the axis in which several sites trained.
function shadeJointRounds(f) {
    const color = rgba(cssValue('--s0'), .09);
    let before = 0, from = null;
    const end = x => {
        if (from != null) f.layout.shapes.push(figure.verticalBand(from, x, color));
        from = null;
    };
    for (const k of data.rounds) {
        if (k.mode !== 'joint') end(before);
        else if (from == null) from = before;
        before = k.last_step * f.perStep;
    }
    end(before);
}

// The held-out losses of all commits that were evaluated while the run went on.
function addFollowed(f) {
    const points = data.held_out.filter(p => p.loss != null);
    if (!points.length) return;
    const perToken = f.perStep / data.loss.tokens_per_step;
    f.data.push({
        mode: 'lines+markers',
        name: 'held-out loss',
        x: points.map(p => f.byTime ? timeOf(p.t) : p.trained_tokens * perToken),
        y: points.map(p => f.perplexity ? Math.exp(p.loss) : p.loss),
        line: {color: cssValue('--ink'), width: 1, dash: '2px,2px'},
        marker: {symbol: 'diamond', size: 6, color: cssValue('--ink')},
        text: points.map(p => `held-out, commit ${p.commit}`),
        hovertemplate: '%{y}<extra>%{text}</extra>'
    });
}

// The held-out loss, where the evaluated commit is.
function addHeldOut(f) {
    const held = data.headline && data.headline.held_out;
    const at = held && held.trained_tokens / data.loss.tokens_per_step;
    const round = held && data.rounds.find(k => Math.abs(k.last_step - at) < .01);
    const time = round && round.merged_s;
    if (at == null || f.byTime && time == null) return;
    f.data.push({
        mode: 'markers',
        name: 'held-out loss',
        x: [f.byTime ? timeOf(time) : at * f.perStep],
        y: [f.perplexity ? Math.exp(held.loss) : held.loss],
        marker: {symbol: 'diamond', size: 10, color: cssValue('--ink')},
        hovertemplate: '%{y}<extra>held-out, commit ' + held.commit + '</extra>'
    });
}

function addCommitTicks(f) {
    const bottom = curvesBottom(f);
    f.layout.yaxis2 = figure.bareAxis({domain: [bottom - .045, bottom - .012]});
    const merged = data.rounds.filter(k => k.merged_s != null), color = cssValue('--mid');
    f.data.push({
        mode: 'markers',
        yaxis: 'y2',
        x: merged.map(k => f.byTime ? timeOf(k.merged_s) : k.last_step * f.perStep),
        y: merged.map(() => .5),
        marker: {symbol: 'line-ns-open', size: 8, color, line: {width: 1, color}},
        hoverinfo: 'skip'
    });
}

// The strip: differences in loss from the first baseline, with their standard errors.
function addDifferences(f) {
    const curves = data.loss.difference.curves;
    const zero = {color: cssValue('--muted'), width: 1.6, dash: '7px,3px'};
    f.layout.yaxis3 = differenceAxis(curves);
    f.layout.shapes.push(figure.horizontalLine(0, 'y3', zero));
    for (const q of curves.slice().reverse()) f.data.push(differenceTrace(f, q));
    f.layout.annotations.push(figure.chartText(
        'difference in loss from one site, always on',
        {x: .004, y: .2, yanchor: 'bottom', xanchor: 'left', yshift: -3, font: {size: 11.5}}));
}

// The first two buckets hold the steep start and may leave the strip.
function differenceAxis(curves) {
    const greatest = Math.max(.06, ...curves.flatMap(q => q.d.slice(2).map(Math.abs))) * 1.05;
    const end = Math.min(greatest, .14), tick = greatest > .1 ? .1 : .05;
    const tickvals = [-tick, 0, tick], ticktext = tickvals.map(v => signed(v, 2));
    return figure.axis({domain: [0, .2], range: [-end, end], tickvals, ticktext});
}

function differenceTrace(f, q) {
    const isRun = q.id === 'run', {color: name, dash} = curveStyle(q.id), color = cssValue(name);
    const barColor = isRun ? rgba(color, .4) : 'rgba(0,0,0,0)';
    return {
        mode: 'lines',
        yaxis: 'y3',
        name: q.label,
        x: f.x(q),
        y: q.d,
        line: {color, width: isRun ? 1.8 : 1.3, dash},
        error_y: {type: 'data', array: q.se, thickness: .8, width: 0, color: barColor},
        text: q.d.map(v => signed(v, 3)),
        hovertemplate: `Δ %{text}<extra>${isRun ? 'this run' : 'two sites'} − one site</extra>`
    };
}

function addAxisTitles(f) {
    const add = (text, options) => f.layout.annotations.push(
        figure.chartText(text, {xanchor: 'right', yanchor: 'top', font: {size: 11.5}, ...options}));
    add(f.perplexity ? 'perplexity, log scale' : 'loss, nats per token', {x: .996, y: 1});
    if (f.byTime) f.layout.annotations.push(figure.zoneLabel(f.narrow));
    else add(f.bySteps ? 'optimizer steps' : tokenUnit + ' tokens', {x: 1, y: 0, yshift: -22});
}
