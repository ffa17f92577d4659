// SPDX-License-Identifier: Apache-2.0
// Panel: training loss of this run and of its baselines.
import {data, sites} from './data.js';
import {
    add,
    byId,
    caption,
    h,
    lineSample,
    note,
    segmentedControl,
    siteColor,
    unitLine
} from './elements.js';
import {keepUnits, number, signed} from './format.js';
import {addLossChart, curveStyle} from './loss_chart.js';
import {addPanel} from './panel.js';
import {sourceMark} from './provenance.js';

export function addLoss() {
    addPanel({
        id: 'loss',
        number: 2,
        title: 'Loss',
        question: 'How did the loss fall, by tokens and by time?',
        why: whyNoLoss(),
        build: buildLoss
    });
}

function buildLoss(body, controls) {
    const shown = {x: 'tokens', y: 'loss', range: 'detail'};
    const left = h('div', {}, legend()), right = h('div');
    const chart = addLossChart(left, shown);
    controls.append(...switches(shown, chart));
    body.append(h('div', {class: 'side'}, left, right));
    add(right, finalValues(), differenceNote(), heldOutNote(), smoothingNote(), stripNote());
}

function whyNoLoss() {
    const hasCurves = data.loss && data.loss.curves && data.loss.curves.length;
    return hasCurves ? null : 'No training step has been logged yet.';
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

function finalValues() {
    const final = data.loss.final || [];
    if (!final.length) return null;
    const heading = (title, unit, cls, mark) =>
        h('th', {class: cls, scope: 'col'}, title, mark, unitLine(unit));
    const row = q =>
        h('tr', {class: q.id === 'run' ? 'me' : null},
          h('td', {class: 'l'}, q.label.replace(', always on', '')),
          h('td', {}, number(q.best_ppl, 2)),
          h('td', {}, number(q.tail_loss, 3) + ' ± ' + number(q.tail_se, 3)));
    const headings = [
        heading('At the end', '', 'l'),
        heading('Training perplexity', 'lowest smoothed', null, sourceMark('ppl')),
        heading('Loss', 'last ' + number(data.loss.tail_steps) + ' steps'),
    ];
    return h(
        'table', {class: 't tight'}, caption('Final values'), h('thead', {}, h('tr', {}, headings)),
        h('tbody', {}, final.map(row)));
}

// Compares the tail losses of this run and its baselines with twice the standard error.
function differenceNote() {
    const final = data.loss.final || [];
    const run = final.find(q => q.id === 'run'), one = final.find(q => q.id === 'one');
    if (!run || !one) return null;
    const toOne = difference(run, one);
    const others = final.filter(q => q !== run && q !== one).map(q => {
        const to = difference(run, q);
        return `Against ${q.label}: ${to.size}, ${to.verdict}.`;
    });
    const first =
        `Against one site, always on, the loss differs by ${toOne.size}: ${toOne.verdict}.`;
    const limits = 'Each is one run with one seed: the standard error covers the steps of a run, ' +
        'not the spread between runs.';
    return note(keepUnits([first, ...others, limits].join(' ')));
}

function difference(run, baseline) {
    const value = run.tail_loss - baseline.tail_loss;
    const error = Math.hypot(run.tail_se, baseline.tail_se);
    const side = value < 0 ? 'lower' : 'higher';
    const verdict = Math.abs(value) < 2 * error ? 'less than twice its standard error' :
                                                  side + ' by more than twice its standard error';
    return {size: `${signed(value, 4)} ± ${number(error, 4)}`, verdict};
}

function heldOutNote() {
    const held = data.headline && data.headline.held_out;
    if (!held) return null;
    const entropy = held.unigram_entropy, newer = held.newer_commit;
    const model = newer == null ? '' : ` (the model is at commit ${number(newer)})`;
    const side = held.loss <= entropy ? 'below' : 'above';
    const distance = number(Math.abs(entropy - held.loss), 3);
    return note(keepUnits(
        `Held-out loss of commit ${number(held.commit)}${model}: ${number(held.loss, 3)} nats ` +
        `per token over ${number(held.tokens)} tokens, ${distance} ${side} their unigram ` +
        `entropy of ${number(entropy, 3)}.`));
}

function smoothingNote() {
    const evaluated = data.headline && data.headline.held_out;
    const heldOut = evaluated ? '' : ' No held-out loss was evaluated.';
    return note('Curves: ' + data.loss.smoothing + '; training loss.' + heldOut);
}

function stripNote() {
    const strip = data.loss.difference;
    const text = strip ? `Lower strip: mean of ${strip.bucket_steps} steps minus the baseline's; ` +
            'bars show ± 1 standard error.' :
                         '';
    return h('p', {class: 'note', id: 'dnote'}, text);
}
