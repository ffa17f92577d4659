panel(
    'loss', 2, 'Loss', 'What was learned, by tokens and by the clock?',
    !D.loss || !D.loss.curves || !D.loss.curves.length ? 'No training step has been logged yet.' : null, (body, ctl) => {
        const L = D.loss, st = {x: 'tokens', y: 'loss', r: 'detail'}, redraw = () => {
            c.draw();
            const d = $('dnote');
            if (d) d.hidden = st.x === 'time'
        };
        ctl.append(seg('losx', [['tokens', 'Tokens'], ['steps', 'Steps'], ['time', 'Wall time']], 'tokens', v => {
                       st.x = v;
                       redraw()
                   }), seg('losy', [['loss', 'Loss'], ['ppl', 'Perplexity']], 'loss', v => {
                       st.y = v;
                       redraw()
                   }), seg('losr', [['detail', 'Detail'], ['full', 'Full range']], 'detail', v => {
                       st.r = v;
                       redraw()
                   }));
        const PT = [10, 12, 15, 20, 30, 40, 60, 100, 300, 1000, 3000, 10000, 30000, 100000], sty = {
            run: {color: '--ink', width: 2.2, dash: 'solid'},
            one: {color: '--muted', width: 1.6, dash: '7px,3px'},
            two: {color: '--muted', width: 1.6, dash: '1.5px,2.5px'}
        },
              extra = ['--s4', '--s5', '--s6', '--s7'];
        L.curves.forEach((q, i) => {
            if (!sty[q.id]) sty[q.id] = { color: extra[i % 4], width: 1.6, dash: '4px,2px,1px,2px' }
        });
        const dashCss = {run: 'solid', one: 'dashed', two: 'dotted'};
        const left = h('div'), right = h('div');
        body.append(h('div', {class: 'side'}, left, right));
        left.append(
            h('ul', {class: 'legend'},
              L.curves.map(
                  q =>
                      h('li', {}, h('span', {
                            class: 'ln',
                            style: `border-color:var(${sty[q.id].color});border-top-style:${dashCss[q.id] || 'dashed'};border-top-width:${
                                q.id === 'run' ? 2.5 : 2}px`
                        }),
                        q.label)),
              sites.map(
                  (s, i) =>
                      h('li', {}, i ? null : h('b', {}, 'Single steps:'),
                        h('span', {class: 'dot', style: 'border-radius:50%;margin:0;background:' + cvar(s)}), s.label)),
              h('li', {}, h('b', {}, 'Ticks:'), 'commits')));
        const last = Math.min(...L.curves.map(q => q.loss[q.loss.length - 1])), ends = (D.rounds || []).filter(k => k.merged_s != null);
        const c = chart(
            left, 410,
            `Training ${st.y === 'ppl' ? 'perplexity' : 'loss'} of this run and ${
                L.curves.length - 1} baselines; final values in the table beside.`,
            gd => {
                const nw = narrow(), tok = st.x !== 'time', stp = st.x === 'steps', G = stp ? 1 : L.tokens_per_step * TOK[0],
                      diff = tok && L.difference && L.difference.curves.length, pp = st.y === 'ppl',
                      lay = layout({
                          margin: {l: nw ? 36 : 48, r: nw ? 6 : 10, t: 8, b: tok ? 44 : 40},
                          hovermode: tok ? 'x' : false,
                          shapes: [],
                          annotations: []
                      }),
                      data = [], X = (q) => tok ? q.step.map(v => v * G) : q.t.map(ms);
                const mx = Math.max(...L.curves.map(q => q.step[q.step.length - 1])) * G;
                lay.xaxis = tok ? axis({
                    range: [0, mx * 1.01],
                    fixedrange: false,
                    ticks: 'outside',
                    ticklen: 4,
                    ticksuffix: '',
                    nticks: nw ? (stp ? 5 : 6) : 13,
                    anchor: diff ? 'y3' : 'y2',
                    tickformat: stp ? ',d' : '',
                    hoverformat: stp ? ',d' : '.2f'
                }) :
                                  timeAxis({anchor: 'y2', nticks: fit(gd, 58)});
                const d0 = diff ? .31 : .06;
                let rg = st.r === 'detail' ? [last - .45, last + 1.5] : [last - .6, Math.max(...L.curves.map(q => q.loss[0])) * 1.03];
                lay.yaxis = axis({
                    domain: [d0, 1],
                    range: pp ? rg.map(v => Math.log10(Math.exp(v))) : rg,
                    type: pp ? 'log' : 'linear',
                    tickvals: pp ? PT : undefined,
                    ticktext: pp ? PT.map(v => N(v)) : undefined,
                    nticks: 7,
                    hoverformat: pp ? '.2f' : '.3f'
                });
                for (const s of sites) {
                    const q = L.raw[s.id];
                    if (q && q.step.length)
                        data.push({
                            type: 'scatter',
                            mode: 'markers',
                            x: X(q),
                            y: pp ? q.loss.map(Math.exp) : q.loss,
                            marker: {size: 2.6, color: rgba(col(s), .3), line: {width: 0}},
                            hoverinfo: 'skip'
                        })
                }
                for (const q of L.curves.slice().reverse()) {
                    const z = sty[q.id];
                    data.push({
                        type: 'scatter',
                        mode: 'lines',
                        name: q.label,
                        x: X(q),
                        y: pp ? q.ppl : q.loss,
                        line: {color: css(z.color), width: z.width, dash: z.dash},
                        hovertemplate: '%{y}<extra>' + esc(q.label) + '</extra>'
                    })
                }
                lay.yaxis2 = axis({domain: [d0 - .045, d0 - .012], range: [0, 1], showticklabels: false, showgrid: false});
                data.push({
                    type: 'scatter',
                    mode: 'markers',
                    yaxis: 'y2',
                    x: ends.map(k => tok ? k.last_step * G : ms(k.merged_s)),
                    y: ends.map(() => .5),
                    marker: {symbol: 'line-ns-open', size: 8, color: css('--mid'), line: {width: 1, color: css('--mid')}},
                    hoverinfo: 'skip'
                });
                if (diff) {
                    const D0 = L.difference, yr = Math.max(.06, ...D0.curves.flatMap(q => q.d.slice(2).map(Math.abs))) * 1.05,
                          yt = yr > .1 ? .1 : .05;
                    lay.yaxis3 = axis({
                        domain: [0, .2],
                        range: [-Math.min(yr, .14), Math.min(yr, .14)],
                        tickvals: [-yt, 0, yt],
                        ticktext: [-yt, 0, yt].map(v => S(v, 2))
                    });
                    lay.shapes.push({
                        type: 'line',
                        xref: 'paper',
                        x0: 0,
                        x1: 1,
                        yref: 'y3',
                        y0: 0,
                        y1: 0,
                        line: {color: css('--muted'), width: 1.6, dash: '7px,3px'}
                    });
                    for (const q of D0.curves.slice().reverse()) {
                        const z = sty[q.id], cc = css(z.color);
                        data.push({
                            type: 'scatter',
                            mode: 'lines',
                            yaxis: 'y3',
                            name: q.label,
                            x: q.step.map(v => v * G),
                            y: q.d,
                            line: {color: cc, width: q.id === 'run' ? 1.8 : 1.3, dash: z.dash === 'solid' ? 'solid' : z.dash},
                            error_y: {
                                type: 'data',
                                array: q.se,
                                thickness: .8,
                                width: 0,
                                color: q.id === 'run' ? rgba(cc, .4) : 'rgba(0,0,0,0)'
                            },
                            text: q.d.map(v => S(v, 3)),
                            hovertemplate: 'Δ %{text}<extra>' + (q.id === 'run' ? 'this run' : 'two sites') + ' − one site</extra>'
                        })
                    }
                    lay.annotations.push({
                        xref: 'paper',
                        yref: 'paper',
                        x: .004,
                        y: .2,
                        yanchor: 'bottom',
                        xanchor: 'left',
                        yshift: -3,
                        text: 'difference in loss from one site, always on',
                        showarrow: false,
                        font: {size: 11.5}
                    })
                }
                lay.annotations.push({
                    xref: 'paper',
                    yref: 'paper',
                    x: .996,
                    y: 1,
                    xanchor: 'right',
                    yanchor: 'top',
                    text: pp ? 'perplexity, log scale' : 'loss, nats per token',
                    showarrow: false,
                    font: {size: 11.5}
                });
                if (tok)
                    lay.annotations.push({
                        xref: 'paper',
                        yref: 'paper',
                        x: 1,
                        y: 0,
                        xanchor: 'right',
                        yanchor: 'top',
                        yshift: -22,
                        text: stp ? 'optimizer steps' : TOK[1] + ' tokens',
                        showarrow: false,
                        font: {size: 11.5}
                    });
                else lay.annotations.push(zone(nw));
                return { data, layout: lay }
            },
            true);
        const F = L.final || [], r0 = F.find(q => q.id === 'run'), o = F.find(q => q.id === 'one');
        if (F.length)
            right.append(
                h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Final values'),
                  h('thead', {},
                    h('tr', {}, h('th', {class: 'l', scope: 'col'}, 'At the end', h('span', {class: 'u'}, '\u00a0')),
                      h('th', {scope: 'col'}, 'Perplexity', fn('ppl'), h('span', {class: 'u'}, 'best smoothed')),
                      h('th', {scope: 'col'}, 'Loss', h('span', {class: 'u'}, 'last ' + N(L.tail_steps) + ' steps')))),
                  h('tbody', {},
                    F.map(
                        q =>
                            h('tr', {class: q.id === 'run' ? 'me' : null}, h('td', {class: 'l'}, q.label.replace(', always on', '')),
                              h('td', {}, N(q.best_ppl, 2)), h('td', {}, N(q.tail_loss, 3) + ' ± ' + N(q.tail_se, 3)))))));
        if (r0 && o) {
            const d = r0.tail_loss - o.tail_loss, e = Math.hypot(r0.tail_se, o.tail_se);
            right.append(
                h('p', {class: 'note'},
                  nb(`Against one site, always on, the loss differs by ${S(d, 4)} ± ${N(e, 4)}: ${
                         Math.abs(d) < 2 * e ? 'no difference beyond noise' :
                             d < 0           ? 'better' :
                                               'worse'}. ` +
                     F.filter(q => q.id !== 'run' && q.id !== 'one')
                         .map(q => {
                             const d = r0.tail_loss - q.tail_loss, e = Math.hypot(r0.tail_se, q.tail_se);
                             return `Against ${q.label}: ${S(d, 4)} ± ${N(e, 4)}, ${
                                 Math.abs(d) < 2 * e ? 'no difference beyond noise' :
                                     d < 0           ? 'better' :
                                                       'worse'}.`
                         })
                         .join(' '))))
        }
        const HO = D.headline && D.headline.held_out;
        if (HO)
            right.append(
                h('p', {class: 'note'},
                  nb(`Held-out loss of commit ${N(HO.commit)}${HO.newer_commit == null ? '' : ' (the model is at commit ' + N(HO.newer_commit) + ')'}: ${N(HO.loss, 3)} nats per token over ${N(HO.tokens)} tokens, ${
                      N(Math.abs(HO.unigram_entropy - HO.loss), 3)} ${HO.loss <= HO.unigram_entropy ? 'below' : 'above'} their unigram entropy of ${N(HO.unigram_entropy, 3)}.`)));
        right.append(
            h('p', {class: 'note'},
              'Curves: ' + L.smoothing + '; training loss.' +
                  (D.headline && D.headline.held_out ? '' : ' No held-out loss was evaluated.')),
            h('p', {class: 'note', id: 'dnote'},
              L.difference ? `Lower strip: mean of ${L.difference.bucket_steps} steps less the baseline's, bars ± 1 standard error.` : ''));
    });
