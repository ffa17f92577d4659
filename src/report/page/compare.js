// SPDX-License-Identifier: Apache-2.0
// Panel: this run next to its baselines and counterfactuals.
import {data, jointRateMark, jointRateNote, REAL_SECONDS, scaled, sites} from './data.js';
import {h, note, regionColor, siteColor} from './elements.js';
import {boundMark, keepUnits, number, significant, tokenScale, tokenUnit} from './format.js';
import {addPanel, table} from './panel.js';
import {markedUnit} from './provenance.js';

export function addComparison() {
    addPanel({
        id: 'compare',
        number: 5,
        title: 'Comparison with baselines',
        link: 'Comparison',
        question: 'What would the same work have cost elsewhere, or without waiting?',
        why: data.comparison.length ? null : 'Nothing to compare yet: no work is committed.',
        build: body => {
            const options = {cls: 'tight', rowClass: c => isRun(c) ? 'me' : null};
            const title = 'This run and counterfactuals';
            body.append(
                table(title, scenarioColumns(), data.comparison, options),
                note(keepUnits(comparisonNotes())));
        }
    });
}

const isRun = c => c.id === 'run';
// A scenario whose regions are unknown has ranges.
const valueOrRange = (range, value, text) =>
    range ? text(range[0]) + '–' + text(range[1]) : text(value);
const inPercent = share => number(scaled(share, 100), 1);

// The figures of this run have one more digit.
function meanIntensity(c) {
    const known = c.kwh - (c.unknown_kwh || 0), digits = isRun(c) ? 1 : 0;
    const text = kg => number(known > 0 && kg != null ? kg * 1000 / known : null, digits);
    return valueOrRange(c.kg_range, c.kg, text);
}

const carbonMark = c => c.kg != null || c.kg_range ? boundMark(c.kwh, c.unknown_kwh) : '';

function carbon(c) {
    return carbonMark(c) + valueOrRange(c.kg_range, c.kg, kg => number(kg, isRun(c) ? 3 : 2));
}

function carbonPerTokens(c) {
    const perMillion = kg => kg * 1e9 / c.tokens;
    const text = kg => c.tokens > 0 && kg != null ? significant(perMillion(kg)) : '–';
    return carbonMark(c) + valueOrRange(c.kg_range, c.kg, text);
}

const shareOf = c =>
    isRun(c) && c.ratio != null ? '100' : valueOrRange(c.ratio_range, c.ratio, inPercent);
const tailLoss = c => c.tail ? number(c.tail[0], 3) + ' ± ' + number(c.tail[1], 3) : '–';

function scenarioColumns() {
    const greatestKg = c => c.kg_range ? c.kg_range[1] : c.kg || 0;
    const greatest = Math.max(...data.comparison.map(greatestKg)) || 1;
    const scale = '0–' + number(greatest, greatest < 10 ? 2 : 0) + ' kg';
    const lastSteps = data.loss ? 'last ' + number(data.loss.tail_steps) + ' steps' : '';
    return [
        ['Scenario', '', c => c.label + jointRateMark(c), 'l'],
        ['Sites', '', c => c.sites],
        ['Wall time', 'h', c => number(scaled(c.wall_s, 1 / 3600), 2)],
        ['Step', REAL_SECONDS, c => number(c.s_step, 3)],
        ['Energy', markedUnit('kWh', 'energy'), c => number(c.kwh, 2)],
        ['Curtailed', '%', c => valueOrRange(c.share_range, c.share, inPercent)],
        ['Intensity', 'mean g/kWh', meanIntensity],
        ['CO₂', markedUnit('kg', 'co2'), carbon],
        ['', scale, c => scenarioBar(c, greatest), 'l'],
        ['This run', '% of scenario', shareOf],
        ['CO₂', 'g per M tokens', carbonPerTokens],
        ['Tokens', tokenUnit, c => number(c.tokens * tokenScale, 2)],
        perplexityColumn(),
        ['Loss', lastSteps, tailLoss],
    ];
}

// Held-out perplexity if the run was evaluated. Training perplexity is the least value of a noisy
// average, which is lower than what the model has learned.
function perplexityColumn() {
    if (data.comparison.some(c => c.held_out_ppl != null))
        return ['Held-out perplexity', 'of unseen text', c => number(c.held_out_ppl, 2)];
    return ['Training perplexity', 'lowest smoothed', c => number(c.ppl, 2)];
}

const fainter = (color, percent) => `color-mix(in srgb,${color} ${percent}%,var(--bg))`;

// Carbon by site where it is known, else one bar, paler above the lower end of a range.
function scenarioBar(c, greatest) {
    const part = (kg, color) =>
        h('i', {style: `width:${kg / greatest * 100}%;background:${color}`});
    const parts = () => {
        if (c.split) return sites.map(s => c.split[s.id] > 0 && part(c.split[s.id], siteColor(s)));
        if (!c.kg_range) return part(c.kg ?? 0, fainter(regionColor(c.region), 38));
        const [from, to] = c.kg_range, color = 'var(--faint)';
        return [part(from, fainter(color, 60)), part(to - from, fainter(color, 28))];
    };
    return h('span', {class: 'hbx', style: 'width:110px'}, parts());
}

function comparisonNotes() {
    const missing = data.missing;
    const notes = [
        missing.carbon && 'CO₂ is unknown: ' + missing.carbon + '.',
        missing.always_on && 'No always-on scenario: ' + missing.always_on + '.',
        missing.ratio && 'No percentage of always-on: ' + missing.ratio + '.',
        missing.comparison,
        jointRateNote(),
        data.loss && 'One step is ' + number(data.loss.tokens_per_step) + ' tokens.',
    ];
    return notes.filter(Boolean).join(' ');
}
