// SPDX-License-Identifier: Apache-2.0
// Panel: training loss of this run and of its baselines.
import {data, sites} from './data.js';
import {
    byId,
    chartsOf,
    controlsOf,
    h,
    lineSample,
    segmentedControl,
    siteColor
} from './elements.js';
import {addLossChart, curveStyle} from './loss_chart.js';

export function addLoss() {
    const place = chartsOf('loss');
    if (!place) return;
    const shown = {x: 'tokens', y: 'loss', range: 'detail'};
    place.append(legend());
    const chart = addLossChart(place, shown);
    controlsOf('loss').append(...switches(shown, chart));
}

// Controls that change `shown` and draw the chart again.
function switches(shown, chart) {
    const change = key => value => {
        shown[key] = value;
        chart.draw();
        const strip = byId('dnote');
        if (strip) strip.hidden = shown.x === 'time';
    };
    const xs = [['tokens', 'Tokens'], ['steps', 'Steps'], ['time', 'Wall time']];
    const ys = [['loss', 'Loss'], ['ppl', 'Perplexity']];
    const ranges = [['detail', 'Detail'], ['full', 'Full range']];
    return [
        segmentedControl('losx', 'Horizontal axis', xs, 'tokens', change('x')),
        segmentedControl('losy', 'Vertical axis', ys, 'loss', change('y')),
        segmentedControl('losr', 'Range of the vertical axis', ranges, 'detail', change('range'))
    ];
}

function legend() {
    const curve = q => {
        const dash = {run: 'solid', one: 'dashed', two: 'dotted'}[q.id] || 'dashed';
        const color = `border-color:var(${curveStyle(q.id).color})`;
        const width = q.id === 'run' ? 2.5 : 2;
        const style = `${color};border-top-style:${dash};border-top-width:${width}px`;
        return h('li', {}, lineSample(style), q.label);
    };
    const steps = (s, i) => {
        const style = 'border-radius:50%;margin:0;background:' + siteColor(s);
        const heading = i ? null : h('b', {}, 'Single steps:');
        return h('li', {}, heading, h('span', {class: 'dot', style}), s.label);
    };
    const ticks = h('li', {}, h('b', {}, 'Ticks:'), 'commits');
    const shade = h('span', {class: 'sw', style: 'background:var(--s0);opacity:.2'});
    const joint = data.rounds.some(k => k.mode === 'joint') && h('li', {}, shade, 'joint rounds');
    const evaluated = data.headline && data.headline.held_out;
    const heldOut = evaluated && h('li', {}, h('span', {'aria-hidden': 'true'}, '◆'), 'held-out');
    return h(
        'ul', {class: 'legend'}, data.loss.curves.map(curve), sites.map(steps), ticks, joint,
        heldOut);
}
