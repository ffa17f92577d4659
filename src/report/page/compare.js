panel(
    'compare', 5, 'Comparison with baselines', 'What would the same work have cost elsewhere, or without waiting?',
    !D.comparison.length ? 'Nothing to compare yet: no work is committed.' : null, (body) => {
        const max = Math.max(...D.comparison.map(c => c.kg_range ? c.kg_range[1] : c.kg || 0)) || 1;
        const known = c => c.kwh - (c.unknown_kwh || 0);
        // A scenario whose regions are not known has a range; f formats one value.
        const either = (range, value, f) => range ? f(range[0]) + '–' + f(range[1]) : f(value);
        const fill = (width, color) => h('i', {style: `width:${width / max * 100}%;background:${color}`});
        const faint = p => `color-mix(in srgb,var(--faint) ${p}%,var(--bg))`;
        const bar = c =>
            h('span', {class: 'hbx', style: 'width:110px'},
              c.split        ? sites.map(s => c.split[s.id] > 0 && fill(c.split[s.id], cvar(s))) :
                  c.kg_range ? [fill(c.kg_range[0], faint(60)), fill(c.kg_range[1] - c.kg_range[0], faint(28))] :
                               fill(c.kg, `color-mix(in srgb,${regionColor(c.region)} 38%,var(--bg))`));
        const mine = c => c.id === 'run';
        const mark = c => c.kg == null && !c.kg_range ? '' : least(c.kwh, c.unknown_kwh);
        const perWork = c => kg => N(c.tokens > 0 && kg != null ? kg * 1e3 / (c.tokens * TOK[0]) : null, 0);
        const share = x => N(times(x, 100), 1);
        body.append(table(
            'This run and counterfactuals',
            [
                ['Scenario', '', c => c.label, 'l'],
                ['Sites', '', c => c.sites],
                ['Wall time', 'h', c => N(c.wall_s / 3600, 2)],
                ['Step', REAL, c => N(c.s_step, 3)],
                ['Energy', est('kWh', 'energy'), c => N(c.kwh, 2)],
                ['Curtailed', '%', c => either(c.share_range, c.share, x => N(times(x, 100), 1))],
                ['Intensity', 'mean g/kWh', c => either(c.kg_range, c.kg, kg => N(known(c) > 0 && kg != null ? kg * 1000 / known(c) : null, mine(c) ? 1 : 0))],
                ['CO₂', est('kg', 'co2'), c => mark(c) + either(c.kg_range, c.kg, kg => N(kg, mine(c) ? 3 : 2))],
                ['', '0–' + N(max, max < 10 ? 2 : 0) + ' kg', bar, 'l'],
                ['This run', '% of it', c => mine(c) ? '100' : either(c.ratio_range, c.ratio, share)],
                ['CO₂', 'g per ' + TOK[1] + ' tokens', c => either(c.kg_range, c.kg, perWork(c))],
                ['Tokens', TOK[1], c => N(c.tokens * TOK[0], 2)],
                ['Perplexity', 'best smoothed', c => N(c.ppl, 2)],
                ['Loss', D.loss ? 'last ' + N(D.loss.tail_steps) + ' steps' : '', c => c.tail ? N(c.tail[0], 3) + ' ± ' + N(c.tail[1], 3) : '–']
            ],
            D.comparison, {cls: 'tight', rowClass: c => mine(c) ? 'me' : null}));
        const notes = [];
        if (D.missing.carbon) notes.push('CO₂ is not known: ' + D.missing.carbon + '.');
        if (D.missing.always_on) notes.push('No always-on scenario: ' + D.missing.always_on + '.');
        if (D.missing.ratio) notes.push('No share of always-on: ' + D.missing.ratio + '.');
        if (D.missing.comparison) notes.push(D.missing.comparison);
        if (D.loss) notes.push('A step is ' + N(D.loss.tokens_per_step) + ' tokens.');
        body.append(h('p', {class: 'note'}, nb(notes.join(' '))));
    });
