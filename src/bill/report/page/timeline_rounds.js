// SPDX-License-Identifier: Apache-2.0
// Rounds and commits in the timeline's chart.
import {data, REAL_SECONDS, roundMode, siteLabel} from './data.js';
import {rgba} from './elements.js';
import {chartText, packSpans, spanBars, verticalLine} from './figure.js';
import {
    clockTime,
    escapeMarkup,
    hourMinute,
    number,
    significant,
    timeOf,
    tokenCount
} from './format.js';

export function addRoundBars(f) {
    if (data.rounds.length) {
        addBarTrace(f);
        addCommitMarks(f);
    } else {
        const place = {yref: 'y domain', x: 0, y: .5, xanchor: 'left'};
        f.layout.annotations.push(chartText('no round yet', place));
    }
}

function addBarTrace(f) {
    const spans = packSpans(data.rounds, k => k.start_s, k => k.end_s, 1.5 / f.pixels);
    f.data.push(spanBars(spans, 'y', {
        marker: {color: spans.map(span => barColor(f, span)), line: {width: 0}},
        text: spans.map(span => barText(f, span)),
        textposition: 'inside',
        insidetextanchor: 'middle',
        textangle: 0,
        constraintext: 'none',
        insidetextfont: {size: 10, color: f.mid},
        hovertemplate: spans.map(barHover)
    }));
}

function barColor(f, {q: k, n}) {
    if (k.mode !== 'joint') return rgba(f.mid, .09);
    return rgba(f.mid, n > 1 || k.number % 2 ? .34 : .24);
}

// The round's number, or every fifth, where it fits.
function barText(f, {x, y, q: k, n}) {
    const width = (y - x) * f.pixels;
    const fits = width > (k.number > 9 ? 15 : 8) || (width > 3.4 && k.number % 5 === 0);
    return n === 1 && fits ? String(k.number) : '';
}

function barHover({x, y, q: k, last, n}) {
    const time = `${hourMinute(x)}–${hourMinute(y)} UTC`;
    if (n > 1) {
        const title = `<b>Rounds ${k.number}–${last.number}</b>, ${time}`;
        return `${title}<br>zoom in to separate them<extra></extra>`;
    }
    const took = `${tokenCount(k.tokens, 3)} tokens in ${number(k.duration_s, 1)} ${REAL_SECONDS}`;
    const merge = k.merge_s == null ? 'no merge recorded' :
                                      `merged in ${number(k.merge_s, 2)} ${REAL_SECONDS}`;
    const weight = part =>
        escapeMarkup(siteLabel(part.site)) + ' ' + significant(part.weight * 100) + ' %';
    const weights = k.sites.map(weight).join('<br>');
    return `<b>Round ${k.number}</b> ${roundMode(k)}, ${time}<br>${took}, ${merge}<br>` +
        `${weights}<extra></extra>`;
}

function addCommitMarks(f) {
    const merged = data.rounds.filter(k => k.merged_s != null);
    const marks = packSpans(merged, k => k.merged_s, k => k.merged_s, 3 / f.pixels);
    f.data.push({
        mode: 'markers',
        x: marks.map(m => m.x),
        y: marks.map(() => 1),
        cliponaxis: false,
        yaxis: 'y',
        marker: {symbol: 'diamond', size: 6, color: f.ink, line: {width: 1, color: f.bg}},
        hovertemplate: marks.map(commitHover)
    });
}

function commitHover({x, q: k, n}) {
    if (n > 1) return `<b>${n} commits</b> from ${clockTime(x)} UTC<extra></extra>`;
    const took = k.merge_s == null ? '' : ', ' + number(k.merge_s, 2) + ' ' + REAL_SECONDS;
    return `<b>Commit of round ${k.number}</b> ${clockTime(x)} UTC${took}<extra></extra>`;
}

// Joint commits cross all lanes, from `top` down, unless they are too many to tell apart.
export function addCommitLines(f, top) {
    const [from, to] = f.range;
    const joint = data.rounds.filter(k => k.mode === 'joint' && k.merged_s);
    const times = joint.map(k => timeOf(k.merged_s)).filter(t => t >= from && t <= to);
    if (times.length > 150) return;
    const line = {color: rgba(f.mid, .09), width: 1}, place = {y1: top, layer: 'below'};
    for (const t of times) f.layout.shapes.push(verticalLine(t, line, place));
}
