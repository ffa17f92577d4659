panel(
    'rounds', 6, 'Rounds', 'Who contributed what to each commit, and what did it cost?',
    !(D.rounds || []).length ? 'No round has ended yet: the first one ends when a lone site commits or two sites merge.' : null,
    (body, ctl) => {
        const trained = k =>
            k.duration_s > 0 && k.sites.some(q => q.train_s != null) ? Math.max(...k.sites.map(q => q.train_s || 0)) / k.duration_s : null;
        const noted = D.rounds.filter(k => k.note), mark = k => k.note ? 'abcdefghijklmnopqrstuvwxyz'[noted.indexOf(k) % 26] : '';
        const small = TOK[1] === 'G' ? [1e-6, 'M'] : [1e-3, 'k'];
        const number = k => [N(k.number), h('sup', {class: 'fn', style: 'display:inline-block;width:.9em;text-align:left'}, mark(k))];
        const weights = k => h(
            'span', {title: k.sites.map(q => label(q.site) + ' ' + N(q.weight * 100, 1) + ' %, ' + N(q.steps) + ' steps').join('; ')},
            h('span', {class: 'wbar'}, k.sites.map(q => h('i', {style: `width:${q.weight * 100}%;background:${cvar(site[q.site])}`}))),
            h('span', {class: 'vh'}, k.sites.map(q => label(q.site)).join(', ')), ' ',
            h('span', {style: 'display:inline-block;min-width:6.2em;margin-left:8px'}, k.sites.map(q => N(q.weight * 100, 1)).join(' : ')));
        const gigabytes =
            D.missing.bytes ? ['GB ', h('span', {class: 'est', title: D.missing.bytes, 'aria-label': 'computed'}, '○')] : 'GB';
        // [key, title, unit, value to sort by, cell, class]
        const cols = [
            ['number', '#', '', k => k.number, number], ['start_s', 'Began', 'UTC', k => k.start_s, k => stamp(ms(k.start_s))],
            ['mode', 'Mode', '', k => k.mode, k => k.mode, 'l'],
            ['weight', 'Sites and weights', 'by tokens', k => Math.max(0, ...k.sites.map(q => q.weight)), weights, 'l'],
            ['tokens', 'Tokens', small[1], k => k.tokens, k => N(k.tokens * small[0], 1)],
            ['duration_s', 'Duration', REAL, k => k.duration_s, k => N(k.duration_s, 1)],
            ['train', 'Training', '% of duration', trained, k => N(times(trained(k), 100), 1)],
            ['merge_s', 'Merge', REAL, k => k.merge_s, k => N(k.merge_s, 2)],
            ['bytes', 'Moved', gigabytes, k => k.bytes, k => N(times(k.bytes, 1e-9), 2)],
            ['delta_norm', 'Δ norm', 'per √token', k => k.delta_norm, k => N(k.delta_norm, 3)],
            ['loss', 'Loss', 'last 100 rows', k => k.loss, k => N(k.loss, 3)],
            ['kwh', 'Energy', est('kWh', 'energy'), k => k.kwh, k => N(k.kwh, 2)],
            ['gco2', 'CO₂', est('g', 'co2'), k => k.gco2, k => N(k.gco2, 1)]
        ].filter(c => (c[0] !== 'bytes' && c[0] !== 'delta_norm') || D.rounds.some(k => k[c[0]] != null));
        let key = 'number', up = true, most = 500;
        const tb = h('tbody'), ths = {};
        const fill = () => {
            const c = cols.find(c => c[0] === key);
            tb.replaceChildren(...D.rounds.slice()
                                   .sort((a, b) => {
                                       const x = c[3](a), y = c[3](b);
                                       return (x == null) - (y == null) || (x < y ? -1 : x > y ? 1 : a.number - b.number) * (up ? 1 : -1)
                                   })
                                   .slice(0, most)
                                   .map(k => h('tr', {title: k.note || null}, cols.map(c => h('td', {class: c[5] || null}, c[4](k))))));
            if (D.rounds.length > most)
                tb.append(
                    h('tr', {},
                      h('td', {class: 'l', colspan: cols.length},
                        h('button', {
                            class: 'btn',
                            onclick: () => {
                                most = 1e9;
                                fill()
                            }
                        },
                          'Show all ' + N(D.rounds.length)))));
            for (const k in ths) {
                const on = k === key;
                on ? ths[k].setAttribute('aria-sort', up ? 'ascending' : 'descending') : ths[k].removeAttribute('aria-sort');
                ths[k].querySelector('.a').textContent = on ? (up ? '▲' : '▼') : ''
            }
        };
        const T = f => D.rounds.reduce((t, k) => t + (f(k) || 0), 0);
        const sortBy = c => () => {
            if (key === c[0]) up = !up;
            else [key, up] = [c[0], true];
            fill();
        };
        const arrow = () => h('span', {class: 'a', 'aria-hidden': 'true'});
        const heading = c => ths[c[0]] =
            h('th', {scope: 'col', class: c[5]},
              h('button', {onclick: sortBy(c)},
                c[5] ? [c[1], arrow()] : [arrow(), c[1], c[0] === 'number' && h('span', {style: 'display:inline-block;width:.75em'})]),
              h('span', {class: 'u'}, c[2] || '\u00a0'));
        body.append(h(
            'div', {class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': 'Rounds, scrollable'},
            h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Rounds, sortable'), h('thead', {}, h('tr', {}, cols.map(heading))), tb)));
        fill();
        if (noted.length)
            body.append(
                h('p', {class: 'note'},
                  noted.map((k, i) => [i ? '; ' : '', h('sup', {class: 'fn'}, mark(k)), ' round ' + k.number + ': ' + k.note]), '.'));
        const words = [
            tokens(T(k => k.tokens), 3) + ' tokens', D.rounds.some(k => k.bytes != null) && N(T(k => k.bytes) / 1e9, 1) + ' GB moved',
            D.rounds.some(k => k.merge_s != null) && N(T(k => k.merge_s), 1) + ' ' + REAL + ' merging', N(T(k => k.kwh), 2) + ' kWh',
            D.rounds.every(k => k.gco2 != null) && N(T(k => k.gco2), 1) + ' g'
        ].filter(Boolean);
        const unknown =
            [D.missing.bytes && 'Bytes: ' + D.missing.bytes + '.', D.missing.delta_norm && 'Δ norm: ' + D.missing.delta_norm + '.'];
        body.append(h('p', {class: 'note'}, nb(`${N(D.rounds.length)} rounds: ${words.join(', ')}. ${unknown.filter(Boolean).join(' ')}`)));
    });
