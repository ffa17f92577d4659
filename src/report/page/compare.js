// SPDX-License-Identifier: Apache-2.0
panel(
    'compare', 5, 'Comparison with baselines', 'What would the same work have cost elsewhere, or without waiting?', whyNoComparison(),
    body => {
        const isRun = c => c.id === 'run';
        const o = {cls: 'tight', rowClass: c => isRun(c) ? 'me' : null};
        body.append(
            table('This run and counterfactuals', scenarioColumns(isRun), D.comparison, o),
            h('p', {class: 'note'}, unbroken(comparisonNotes())));
    });

function whyNoComparison() { return D.comparison.length ? null : 'Nothing to compare yet: no work is committed.'; }

// This run's figures have a digit more.
function scenarioColumns(isRun) {
    const greatest = Math.max(...D.comparison.map(c => c.kg_range ? c.kg_range[1] : c.kg || 0)) || 1;
    // A scenario whose regions are not known has a range of carbon.
    const either = (range, value, text) => range ? text(range[0]) + '–' + text(range[1]) : text(value);
    const percent = share => N(times(share, 100), 1);
    const intensity = c => kg => {
        const known = c.kwh - (c.unknown_kwh || 0);
        return N(known > 0 && kg != null ? kg * 1000 / known : null, isRun(c) ? 1 : 0);
    };
    const perWork = c => kg => N(c.tokens > 0 && kg != null ? kg * 1e3 / (c.tokens * tokenScale) : null, 0);
    const mark = c => c.kg == null && !c.kg_range ? '' : least(c.kwh, c.unknown_kwh);
    return [
        ['Scenario', '', c => c.label, 'l'],
        ['Sites', '', c => c.sites],
        ['Wall time', 'h', c => N(times(c.wall_s, 1 / 3600), 2)],
        ['Step', REAL, c => N(c.s_step, 3)],
        ['Energy', markedUnit('kWh', 'energy'), c => N(c.kwh, 2)],
        ['Curtailed', '%', c => either(c.share_range, c.share, percent)],
        ['Intensity', 'mean g/kWh', c => either(c.kg_range, c.kg, intensity(c))],
        ['CO₂', markedUnit('kg', 'co2'), c => mark(c) + either(c.kg_range, c.kg, kg => N(kg, isRun(c) ? 3 : 2))],
        ['', '0–' + N(greatest, greatest < 10 ? 2 : 0) + ' kg', c => scenarioBar(c, greatest), 'l'],
        ['This run', '% of it', c => isRun(c) ? '100' : either(c.ratio_range, c.ratio, percent)],
        ['CO₂', 'g per ' + tokenUnit + ' tokens', c => either(c.kg_range, c.kg, perWork(c))],
        ['Tokens', tokenUnit, c => N(c.tokens * tokenScale, 2)],
        ['Perplexity', 'best smoothed', c => N(c.ppl, 2)],
        ['Loss', D.loss ? 'last ' + N(D.loss.tail_steps) + ' steps' : '', c => c.tail ? N(c.tail[0], 3) + ' ± ' + N(c.tail[1], 3) : '–'],
    ];
}

// Carbon by site where it is known, else one bar, pale beyond the least value of a range.
function scenarioBar(c, greatest) {
    const part = (kg, color) => h('i', {style: `width:${kg / greatest * 100}%;background:${color}`});
    const faint = (color, percent) => `color-mix(in srgb,${color} ${percent}%,var(--bg))`;
    const parts = () => {
        if (c.split) return sites.map(s => c.split[s.id] > 0 && part(c.split[s.id], siteColor(s)));
        if (!c.kg_range) return part(c.kg, faint(regionColor(c.region), 38));
        const [from, to] = c.kg_range;
        return [part(from, faint('var(--faint)', 60)), part(to - from, faint('var(--faint)', 28))];
    };
    return h('span', {class: 'hbx', style: 'width:110px'}, parts());
}

function comparisonNotes() {
    const missing = D.missing;
    const notes = [
        missing.carbon && 'CO₂ is not known: ' + missing.carbon + '.',
        missing.always_on && 'No always-on scenario: ' + missing.always_on + '.',
        missing.ratio && 'No share of always-on: ' + missing.ratio + '.',
        missing.comparison,
        D.loss && 'A step is ' + N(D.loss.tokens_per_step) + ' tokens.',
    ];
    return notes.filter(Boolean).join(' ');
}
