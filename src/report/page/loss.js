// SPDX-License-Identifier: Apache-2.0
panel('loss', 2, 'Loss', 'What was learned, by tokens and by the clock?', whyNoLoss(), (body, ctl) => {
    const shown = {x: 'tokens', y: 'loss', range: 'detail'};
    const left = h('div'), right = h('div');
    left.append(lossLegend());
    const c = lossChart(left, shown);
    ctl.append(...lossSwitches(shown, c));
    body.append(h('div', {class: 'side'}, left, right));
    add(right, finalValues(), differenceNote(), heldOutNote(), smoothingNote(), stripNote());
});

function whyNoLoss() { return D.loss && D.loss.curves && D.loss.curves.length ? null : 'No training step has been logged yet.'; }

// Switches that change `shown` and draw the chart again.
function lossSwitches(shown, c) {
    const change = key => value => {
        shown[key] = value;
        c.draw();
        const strip = $('dnote');
        if (strip) strip.hidden = shown.x === 'time';
    };
    return [
        seg('losx', [['tokens', 'Tokens'], ['steps', 'Steps'], ['time', 'Wall time']], 'tokens', change('x')),
        seg('losy', [['loss', 'Loss'], ['ppl', 'Perplexity']], 'loss', change('y')),
        seg('losr', [['detail', 'Detail'], ['full', 'Full range']], 'detail', change('range'))
    ];
}

function lossLegend() {
    const curve = q => {
        const dash = {run: 'solid', one: 'dashed', two: 'dotted'}[q.id] || 'dashed';
        const width = q.id === 'run' ? 2.5 : 2;
        const style = `border-color:var(${curveStyle(q.id).color});border-top-style:${dash};border-top-width:${width}px`;
        return h('li', {}, h('span', {class: 'ln', style}), q.label);
    };
    const steps = (s, i) =>
        h('li', {}, i ? null : h('b', {}, 'Single steps:'),
          h('span', {class: 'dot', style: 'border-radius:50%;margin:0;background:' + siteColor(s)}), s.label);
    return h('ul', {class: 'legend'}, D.loss.curves.map(curve), sites.map(steps), h('li', {}, h('b', {}, 'Ticks:'), 'commits'));
}

function finalValues() {
    const final = D.loss.final || [];
    if (!final.length) return null;
    const heading = (title, unit, note) => h('th', {scope: 'col'}, title, note, h('span', {class: 'u'}, unit));
    const row = q =>
        h('tr', {class: q.id === 'run' ? 'me' : null}, h('td', {class: 'l'}, q.label.replace(', always on', '')),
          h('td', {}, N(q.best_ppl, 2)), h('td', {}, N(q.tail_loss, 3) + ' ± ' + N(q.tail_se, 3)));
    return h(
        'table', {class: 't'}, h('caption', {class: 'vh'}, 'Final values'),
        h('thead', {},
          h('tr', {}, h('th', {class: 'l', scope: 'col'}, 'At the end', h('span', {class: 'u'}, '\u00a0')),
            heading('Perplexity', 'best smoothed', sourceMark('ppl')), heading('Loss', 'last ' + N(D.loss.tail_steps) + ' steps'))),
        h('tbody', {}, final.map(row)));
}

// The difference of the tail losses of this run and its baselines, against two standard errors of it.
function differenceNote() {
    const final = D.loss.final || [];
    const run = final.find(q => q.id === 'run'), one = final.find(q => q.id === 'one');
    if (!run || !one) return null;
    const compared = q => {
        const difference = run.tail_loss - q.tail_loss, error = Math.hypot(run.tail_se, q.tail_se);
        const better = difference < 0 ? 'better' : 'worse';
        return {
            size: `${S(difference, 4)} ± ${N(error, 4)}`,
            verdict: Math.abs(difference) < 2 * error ? 'no difference beyond noise' : better
        };
    };
    const toOne = compared(one);
    const others = final.filter(q => q !== run && q !== one).map(q => {
        const to = compared(q);
        return `Against ${q.label}: ${to.size}, ${to.verdict}.`;
    });
    return h(
        'p', {class: 'note'},
        unbroken(`Against one site, always on, the loss differs by ${toOne.size}: ${toOne.verdict}. ${others.join(' ')}`));
}

function heldOutNote() {
    const held = D.headline && D.headline.held_out;
    if (!held) return null;
    const newer = held.newer_commit == null ? '' : ` (the model is at commit ${N(held.newer_commit)})`;
    const side = held.loss <= held.unigram_entropy ? 'below' : 'above';
    const distance = N(Math.abs(held.unigram_entropy - held.loss), 3);
    return h(
        'p', {class: 'note'},
        unbroken(
            `Held-out loss of commit ${N(held.commit)}${newer}: ${N(held.loss, 3)} nats per token over ${N(held.tokens)} tokens, ` +
            `${distance} ${side} their unigram entropy of ${N(held.unigram_entropy, 3)}.`));
}

function smoothingNote() {
    const heldOut = D.headline && D.headline.held_out ? '' : ' No held-out loss was evaluated.';
    return h('p', {class: 'note'}, 'Curves: ' + D.loss.smoothing + '; training loss.' + heldOut);
}

function stripNote() {
    const strip = D.loss.difference;
    const text = strip ? `Lower strip: mean of ${strip.bucket_steps} steps less the baseline's, bars ± 1 standard error.` : '';
    return h('p', {class: 'note', id: 'dnote'}, text);
}
