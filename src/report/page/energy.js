panel(
    'energy', 4, 'Where energy and carbon went', 'Which site, which state, which hours?',
    !D.energy ? 'No site has held devices yet, so nothing was drawn.' : null, (body, ctl) => {
        const E = D.energy, C = E.cumulative, st = {m: 'run'};
        let a, b;
        if (C.always_on)
            ctl.append(seg('emode', [['run', 'This run'], ['cmp', 'With always-on']], 'run', v => {
                st.m = v;
                $('aoleg').hidden = v === 'run';
                a.draw();
                b.draw()
            }));
        body.append(
            h('ul', {class: 'legend'}, sites.map(s => h('li', {}, h('span', {class: 'sw', style: 'background:' + cvar(s)}), s.label)),
              h('li', {id: 'aoleg', hidden: true}, h('span', {class: 'ln', style: 'border-color:var(--muted);border-top-style:dashed'}),
                'one site, always on')),
            readout());
        const L = h('div'), R = h('div');
        body.append(h('div', {class: 'two'}, L, R));
        L.append(h('h3', {}, 'Cumulative energy, kWh'));
        R.append(h('h3', {}, 'Cumulative CO₂, kg'));
        const mk = (where, key, div) =>
            chart(where, 250, 'Cumulative ' + (key === 'wh' ? 'energy' : 'CO2') + ' by site; totals in the table below.', gd => {
                const nw = narrow(), data = [],
                      lay =
                          layout({margin: {l: nw ? 36 : 50, r: nw ? 6 : 108, t: 8, b: 40}, hovermode: false, shapes: [], annotations: []}),
                      n = C.sites[sites[0].id].wh.length, x = Array.from({length: n}, (_, i) => ms(Math.min(i * C.step_s, D.run.end_s)));
                let acc = 0, tops = [];
                lay.xaxis = timeAxis({nticks: fit(gd, 156)});
                const blind = sites.filter(s => !C.sites[s.id][key]);
                for (const s of sites) {
                    if (blind.includes(s)) continue;
                    const y = C.sites[s.id][key].map(v => v / div), f = y[y.length - 1];
                    data.push({
                        type: 'scatter',
                        mode: 'lines',
                        stackgroup: 'a',
                        x,
                        y,
                        line: {width: y[y.length - 1] > 0 ? 1.2 : 0, color: col(s)},
                        fillcolor: rgba(col(s), .42),
                        hoverinfo: 'skip'
                    });
                    tops.push([acc + f / 2, acc + f, f, s]);
                    acc += f
                }
                let m = acc;
                const tags = [];
                if (st.m === 'cmp') {
                    const q = C.always_on, X = q.wh.map((_, i) => ms(i * q.step_s)), add = (y, t, cc) => {
                        y = y.map(v => v / div);
                        m = Math.max(m, y[y.length - 1]);
                        data.push(
                            {type: 'scatter', mode: 'lines', x: X, y, line: {color: cc, width: 1.5, dash: '6px,3px'}, hoverinfo: 'skip'});
                        if (!nw)
                            tags.push([
                                y[Math.max(0, Math.min(y.length - 1, Math.round(((view.range || fullRange())[1] - T0) / 1000 / q.step_s)))],
                                t
                            ])
                    };
                    if (key === 'wh') add(q.wh, 'always on', css('--muted'));
                    else
                        for (const k in q.g) {
                            if (!q.g[k]) continue;
                            const s = sites.find(s => s.region === k);
                            add(q.g[k], esc(k.length > 10 ? k.slice(0, 9) + '…' : k), s ? col(s) : css('--muted'))
                        }
                }
                m = m || 1;
                lay.yaxis = axis({range: [0, m * 1.08], nticks: 5});
                if (key === 'g')
                    for (const w of D.windows)
                        for (const q of w.closing_s)
                            lay.shapes.push({
                                type: 'rect',
                                xref: 'x',
                                yref: 'paper',
                                x0: ms(q[0]),
                                x1: ms(q[1]),
                                y0: 0,
                                y1: 1,
                                fillcolor: rgba(col(site[w.site]), .22),
                                line: {width: 0},
                                layer: 'below'
                            });
                tags.sort((p, q) => p[0] - q[0]);
                let lastY = -1e9;
                for (const [v, t] of tags) {
                    const gap = m * 1.08 * 13 / 200, y0 = Math.max(v, lastY + gap);
                    lastY = y0;
                    lay.annotations.push(
                        {xref: 'paper', yref: 'y', x: 1, y: y0, xanchor: 'left', xshift: 4, text: t, showarrow: false, font: {size: 11}})
                }
                const yend = ms(D.run.end_s);
                lay.shapes.push(
                    {type: 'line', xref: 'x', yref: 'paper', x0: yend, x1: yend, y0: 0, y1: 1, line: {color: css('--rule'), width: 1}});
                lay.annotations.push({
                    xref: 'x',
                    yref: 'y',
                    x: yend,
                    y: acc,
                    xanchor: 'left',
                    yanchor: 'middle',
                    xshift: 5,
                    text: '<b>' + (blind.length ? '' : N(acc, key === 'wh' ? 2 : 3)) + '</b>',
                    showarrow: false,
                    font: {size: 12, color: css('--ink')}
                });
                if (st.m === 'run')
                    for (const [mid_, top_, f, s] of tops)
                        if (acc > 0 && f / acc > .07)
                            lay.annotations.push({
                                xref: 'x',
                                yref: 'y',
                                x: yend,
                                y: mid_,
                                xanchor: 'left',
                                xshift: 5,
                                text: N(f, key === 'wh' ? 2 : 3) + (nw ? '' : ' ' + short(s)),
                                showarrow: false,
                                font: {size: 11}
                            });
                if (blind.length)
                    lay.annotations.push({
                        xref: 'paper',
                        yref: 'paper',
                        x: .02,
                        xanchor: 'left',
                        y: .98,
                        yanchor: 'top',
                        text: 'not known: ' + blind.map(short).join(', '),
                        showarrow: false,
                        font: {size: 12}
                    });
                lay.annotations.push(zone(nw));
                return { data, layout: lay }
            }, true);
        a = mk(L, 'wh', 1000);
        b = mk(R, 'g', 1000);
        const K =
                  [
                      ['training', 'Training'], ['starting', 'Starting'], ['exchange', 'Exchange'], ['draining', 'Draining'], ['idle', 'Idle']
                  ].filter(([k]) => sites.some(s => E.kwh[s.id][k] > 0)),
              UN = sum2({a: E.unknown_kwh || {}}, () => true), WK = E.window_kwh,
              z = (x, d) => h('td', {class: x ? null : 'z'}, x == null ? '–' : x ? N(x, d) : '0');
        const allG = sumOrNull(sites.map(s => E.total_g[s.id]));
        const line = (name, ids) => {
            const of = o => sumOrNull(ids.map(i => o[i])), s = (o, k) => sumOrNull(ids.map(i => o[i][k])), tk = of(E.total_kwh),
                  tg = of(E.total_g), ins = of(E.inside_kwh), og = of(E.outside_g), wk = WK && of(WK), uk = of(E.unknown_kwh || {});
            return h(
                'tr', {}, h('td', {class: 'l'}, name), K.map(([k]) => z(s(E.kwh, k), k === 'training' ? 2 : 3)),
                h('td', {}, h('b', {}, N(tk, 2))), h('td', {}, pct(tk > 0 && ins != null ? ins / tk : null)),
                WK && h('td', {}, pct(tk > 0 ? wk / tk : null)), UN > 0 && z(uk, 2), K.map(([k]) => z(s(E.g, k), 1)),
                h('td', {}, h('b', {}, tg == null ? '' : least(tk, uk), N(tg, 1))), z(og, 1), h('td', {}, N(tk > uk && tg != null ? tg / (tk - uk) : null, 1)))
        };
        body.append(h(
            'div', {class: 'scroll', style: 'margin-top:8px'},
            h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Energy and CO2 by site and state'),
              h('thead', {},
                h('tr', {}, h('th', {class: 'l', rowspan: 2, scope: 'col'}, 'Site'),
                  h('th',
                    {colspan: K.length + 2 + (WK ? 1 : 0) + (UN > 0 ? 1 : 0), scope: 'colgroup', style: 'text-align:left;border-bottom:0'},
                    est('Energy, kWh', 'energy'), fn('energy')),
                  h('th', {colspan: K.length + 3, scope: 'colgroup', style: 'text-align:left;border-bottom:0'}, est('CO₂, g', 'co2'),
                    fn('co2'))),
                h('tr', {}, K.map(([, t]) => h('th', {scope: 'col'}, t)), h('th', {scope: 'col'}, 'Total'),
                  h('th', {scope: 'col'}, 'Curtailed'), WK && h('th', {scope: 'col'}, 'In windows'),
                  UN > 0 && h('th', {scope: 'col'}, 'Unknown'), K.map(([, t]) => h('th', {scope: 'col'}, t)),
                  h('th', {scope: 'col'}, 'Total'), h('th', {scope: 'col'}, 'Above'), h('th', {scope: 'col'}, 'g/kWh'))),
              h('tbody', {}, sites.map(s => line([dot(s), s.label], [s.id]))), h('tfoot', {}, line('All sites', sites.map(s => s.id))))));
        body.append(h(
            'p', {class: 'note'},
            nb(`Bands in the CO₂ chart are closing delays: the site still trains although intensity is above ${
                common('close_above', 'its threshold', 'g/kWh')}. “Curtailed” is the share of energy drawn below the threshold` +
               (allG == null ? '. CO₂ is not known: ' + carbonUnknown() + '.' :
                               `, “above” all CO₂ from energy drawn at or above it: ${N(sumOrNull(sites.map(s => E.outside_g[s.id])), 1)} of ${
                                   N(allG, 1)} g.`))));
        const zero = sites.filter(s => E.total_kwh[s.id] > 0 && E.total_g[s.id] === 0 && !((E.unknown_kwh || {})[s.id] > 0));
        if (zero.length)
            body.append(
                h('p', {class: 'note'},
                  zero.map(s => s.label).join(', ') +
                      ': 0 g is the signal\'s own value, 0 gCO₂/kWh at every sample while the site drew power; it is not missing data.'));
    });
