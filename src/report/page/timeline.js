panel(
    'timeline', 1, 'Timeline', 'When was power clean, and what did each site do?',
    !sites.length  ? 'No site is configured for this run.' :
        !D.signals && !D.windows.length ? 'No window has opened, and no signal is known: ' + carbonUnknown() + '.' :
                     null,
    (body, ctl) => {
        add(ctl, h('span', {class: 'note', id: 'zoomed', style: 'margin:0', 'aria-live': 'polite'}),
            h('button', {class: 'btn', id: 'zoomout', hidden: true, onclick: () => zoom(null)}, 'Reset zoom'),
            h('span', {class: 'note', style: 'margin:0'}, 'Zoom to'),
            h('button', {class: 'btn', onclick: () => zoom([ms(0), ms(D.run.end_s)])}, 'run'),
            D.windows.length > 8 ?
                h('select', {
                    class: 'btn',
                    'aria-label': 'Zoom to a window',
                    onchange: e => {
                        const w = D.windows[e.target.value];
                        if (w) {
                            const b = w.close_s || D.run.end_s, p = (b - w.open_s) * .04 + 300;
                            zoom([ms(w.open_s - p), ms(b + p)])
                        }
                    }
                },
                  h('option', {value: ''}, 'window …'),
                  D.windows.map((w, i) => h('option', {value: i}, day(ms(w.open_s)) + ' ' + hm(ms(w.open_s)) + ' ' + label(w.site)))) :
                D.windows.length ?
                D.windows.map(
                    w =>
                        h('button', {
                            class: 'btn',
                            onclick: () => {
                                const b = w.close_s || D.run.end_s, p = (b - w.open_s) * .04 + 300;
                                zoom([ms(w.open_s - p), ms(b + p)])
                            },
                            title: 'Zoom to the window of ' + label(w.site) + ' opened ' + hm(ms(w.open_s)),
                            'aria-label': 'Zoom to the window of ' + label(w.site) + ' opened ' + hm(ms(w.open_s))
                        },
                          h('span', {class: 'dot', style: 'margin-right:5px;background:' + cvar(site[w.site])}), hm(ms(w.open_s)))) :
                null);
        const c0 = '--c:var(--mid)';
        const sw = (st, t) => h('li', {}, h('span', {class: 'sw', style: st}), t),
              mix = p => 'height:14px;background:color-mix(in srgb,var(--mid) ' + p + '%,var(--bg))';
        body.append(
            h('ul', {class: 'legend'},
              h('li', {}, h('b', {}, 'Trace:'), h('span', {class: 'ln', style: 'border-color:var(--mid);border-top-width:1.5px'}),
                'intensity'),
              h('li', {}, h('span', {class: 'ln', style: 'border-color:var(--mid);border-top:1.5px dashed'}),
                'threshold ' + common('open_below', 'of the site', 'g/kWh')),
              sw(mix(14), 'window open'), sw(mix(38), 'closing (' + common('close_delay_s', 'each site\'s', 'min', 1 / 60) + ' delay)'),
              h('li', {}, h('b', {}, 'Rounds:'), h('span', {class: 'sw', style: mix(9) + ';box-shadow:inset 0 0 0 1px var(--rule)'}),
                'solo'),
              sw(mix(34), 'joint'), h('li', {}, h('span', {'aria-hidden': 'true'}, '◆'), 'commit')),
            h('ul', {class: 'legend'},
              STATES.filter(s => s[0] !== 'closed')
                  .map(([k, t], i) => h('li', {}, i ? null : h('b', {}, 'Ribbon:'), h('span', {class: 'sw st-' + k, style: c0}), t))),
            readout());
        const lane = 78, rib = 13, gap = 20, rd = 20, top = 22, bot = 40, n = sites.length, H = top + rd + n * (gap + lane + 3 + rib) + bot,
              inner = H - top - bot;
        chart(
            body, H,
            `Timeline of ${n} sites in UTC: carbon intensity, windows and states; ${D.windows.length} windows and ${
                D.rounds.length} rounds. The table below lists the windows.`,
            gd => {
                const nw = narrow(), data = [], lay = layout({
                                                    margin: {l: nw ? 34 : 168, r: nw ? 6 : 14, t: top, b: bot},
                                                    hovermode: 'closest',
                                                    barmode: 'overlay',
                                                    bargap: 0,
                                                    shapes: [],
                                                    annotations: []
                                                }),
                      end = ms(D.run.end_s),
                      Y = Math.max(
                              150, ...sites.map(s => (SERIES[s.region] || {v: []}).v.reduce((m, v) => Math.max(m, v || 0), s.open_below))) *
                    1.06;
                lay.xaxis = timeAxis({anchor: 'y' + (1 + 2 * n), nticks: fit(gd, nw ? 40 : 182)});
                let y = 0;
                const dom = (p, hh) => [1 - (p + hh) / inner, 1 - p / inner];
                lay.yaxis = axis({domain: dom(0, rd), range: [0, 1], showticklabels: false, showgrid: false});
                // An axis without a trace would be left out: lanes stay where they are also when nothing has happened.
                for (let i = 1; i <= 1 + 2 * n; ++i)
                    data.push({type: 'scatter', x: [ms(0)], y: [null], yaxis: i === 1 ? 'y' : 'y' + i, hoverinfo: 'skip'});
                const ink = css('--ink'), mid = css('--mid'), bg = css('--bg'), rounds = D.rounds;
                const bars = (xs, ya, o) => Object.assign(
                    {
                        type: 'bar',
                        orientation: 'h',
                        base: xs.map(q => ms(q[0])),
                        x: xs.map(q => (q[1] - q[0]) * 1000),
                        y: xs.map(() => .5),
                        width: 1,
                        yaxis: ya,
                        xaxis: 'x'
                    },
                    o);
                const vr = view.range || fullRange(), px = (gdw() - (nw ? 40 : 182)) / (vr[1] - vr[0]),
                      bar = (xs, ya, o) => bars(xs.map(g => [(g.x - T0) / 1000, (g.y - T0) / 1000]), ya, o);
                if (rounds.length) {
                    const g = pack(rounds, k => k.start_s, k => k.end_s, 1.5 / px);
                    data.push(bar(g, 'y', {
                        marker: {
                            color: g.map(({q: k, n}) => rgba(mid, k.mode === 'joint' ? (n > 1 || k.number % 2 ? .34 : .24) : .09)),
                            line: {width: 0}
                        },
                        text: g.map(({x, y, q: k, n}) => {
                            const w = (y - x) * px;
                            return n === 1 && (w > (k.number > 9 ? 15 : 8) || (w > 3.4 && k.number % 5 === 0)) ? String(k.number) : ''
                        }),
                        textposition: 'inside',
                        insidetextanchor: 'middle',
                        textangle: 0,
                        constraintext: 'none',
                        insidetextfont: {size: 10, color: mid},
                        hovertemplate: g.map(
                            ({x, y, q: k, last, n}) => n > 1 ?
                                `<b>Rounds ${k.number}–${last.number}</b>, ${hm(x)}–${
                                    hm(y)} UTC<br>zoom in to separate them<extra></extra>` :
                                `<b>Round ${k.number}</b> ${k.mode}, ${hm(x)}–${hm(y)} UTC<br>${tokens(k.tokens, 3)} tokens in ${
                                    N(k.duration_s, 1)} ${REAL}, ${
                                    k.merge_s == null ? 'no merge recorded' : 'merged in ' + N(k.merge_s, 2) + ' ' + REAL}<br>${
                                    k.sites.map(q => esc(label(q.site)) + ' ' + N(q.weight * 100, 1) + ' %').join('<br>')}<extra></extra>`)
                    }));
                    const mg = pack(rounds.filter(k => k.merged_s != null), k => k.merged_s, k => k.merged_s, 3 / px);
                    data.push({
                        type: 'scatter',
                        mode: 'markers',
                        x: mg.map(g => g.x),
                        y: mg.map(() => 1),
                        cliponaxis: false,
                        yaxis: 'y',
                        marker: {symbol: 'diamond', size: 6, color: ink, line: {width: 1, color: bg}},
                        hovertemplate: mg.map(
                            ({x, q: k, n}) => n > 1 ? `<b>${n} commits</b> from ${hms(x)} UTC<extra></extra>` :
                                                      `<b>Commit of round ${k.number}</b> ${hms(x)} UTC${
                                                          k.merge_s == null ? '' : ', ' + N(k.merge_s, 2) + ' ' + REAL}<extra></extra>`)
                    });
                } else
                    lay.annotations.push(
                        {xref: 'paper', yref: 'y domain', x: 0, y: .5, xanchor: 'left', text: 'no round yet', showarrow: false});
                if (!nw)
                    lay.annotations.push(
                        {
                            xref: 'paper',
                            yref: 'y2 domain',
                            x: 0,
                            xanchor: 'right',
                            xshift: -3,
                            y: 1,
                            yanchor: 'bottom',
                            text: 'gCO₂/kWh',
                            showarrow: false,
                            font: {size: 10.5}
                        },
                        {
                            xref: 'paper',
                            yref: 'y domain',
                            x: 0,
                            xshift: -10,
                            xanchor: 'right',
                            y: .5,
                            text: 'Rounds',
                            showarrow: false,
                            font: {size: 12.5, color: ink}
                        });
                y = rd;
                sites.forEach((s, i) => {
                    const c = col(s), a = 2 + 2 * i, b = a + 1, ya = 'y' + a, yb = 'y' + b;
                    y += gap;
                    lay['yaxis' + a] = axis({
                        domain: dom(y, lane),
                        range: [0, Y],
                        tickvals: [100, 500, 900].filter(v => v < Y).concat(s.open_below !== 100 ? [s.open_below] : []),
                        tickfont: {size: 10.5}
                    });
                    lay.shapes.push(
                        {
                            type: 'line',
                            xref: 'paper',
                            x0: 0,
                            x1: 1,
                            yref: ya,
                            y0: 0,
                            y1: 0,
                            line: {color: css('--rule'), width: 1},
                            layer: 'below'
                        },
                        {
                            type: 'line',
                            xref: 'paper',
                            x0: 0,
                            x1: 1,
                            yref: ya,
                            y0: s.open_below,
                            y1: s.open_below,
                            line: {color: mid, width: 1, dash: '3px,3px'}
                        });
                    for (const w of D.windows.filter(w => w.site === s.id)) {
                        const e = w.close_s || D.run.end_s, R = (x0, x1, al) => lay.shapes.push({
                            type: 'rect',
                            xref: 'x',
                            yref: ya + ' domain',
                            x0: ms(x0),
                            x1: ms(x1),
                            y0: 0,
                            y1: 1,
                            fillcolor: rgba(c, al),
                            line: {width: 0},
                            layer: 'below'
                        });
                        R(w.open_s, e, .13);
                        for (const q of w.closing_s) R(q[0], q[1], .3)
                    }
                    const v = SERIES[s.region];
                    if (v)
                        data.push({
                            type: 'scatter',
                            mode: 'lines',
                            x: v.t.map(ms),
                            y: v.v,
                            yaxis: ya,
                            line: {color: c, width: 1.6},
                            hoverinfo: 'skip',
                            connectgaps: false
                        });
                    else
                        lay.annotations.push({
                            xref: 'paper',
                            yref: ya + ' domain',
                            x: .5,
                            y: .5,
                            text: 'no signal for ' + esc(s.region.length > 24 ? s.region.slice(0, 23) + '…' : s.region),
                            showarrow: false
                        });
                    y += lane + 3;
                    lay['yaxis' + b] = axis({domain: dom(y, rib), range: [0, 1], showticklabels: false, showgrid: false});
                    lay.shapes.push({
                        type: 'rect',
                        xref: 'x',
                        x0: ms(0),
                        x1: end,
                        yref: yb + ' domain',
                        y0: .36,
                        y1: .64,
                        fillcolor: css('--rule'),
                        line: {width: 0},
                        layer: 'below'
                    });
                    const pat = {training: null, starting: ['/', 3.5, .4], exchange: null, draining: ['|', 3.5, .4], idle: null};
                    for (const g in pat) {
                        const st = pack((D.states[s.id] || []).filter(q => GROUP[q[0]] === g), q => q[1], q => q[2], 1 / px);
                        if (!st.length) continue;
                        data.push(bar(st, yb, {
                            marker: Object.assign(
                                {
                                    color: g === 'training' ? c :
                                        g === 'exchange'    ? blend(c, bg, .36) :
                                                              bg,
                                    line: {width: g === 'idle' ? 1.2 : 0, color: c}
                                },
                                pat[g] ? {
                                    color: c,
                                    pattern: {
                                        shape: pat[g][0],
                                        fgcolor: c,
                                        bgcolor: bg,
                                        size: pat[g][1],
                                        solidity: pat[g][2],
                                        fillmode: 'replace'
                                    }
                                } :
                                         {}),
                            hovertemplate: st.map(
                                ({x, y, q, n}) => `<b>${short(s)}</b> ${n > 1 ? g + ', ' + n + ' intervals' : DETAIL[q[0]]}<br>${hms(x)}–${
                                    hms(y)} UTC, ${dur((y - x) / 1000)}<extra></extra>`)
                        }))
                    }
                    y += rib;
                    const wn = D.windows.filter(w => w.site === s.id);
                    lay.annotations.push(
                        nw ? {
                            xref: 'paper',
                            yref: ya + ' domain',
                            x: 0,
                            y: 1,
                            xanchor: 'left',
                            yanchor: 'bottom',
                            text: `<span style="color:${c}">■</span> <b>${short(s)}</b>${i ? '' : ', gCO₂/kWh'}`,
                            showarrow: false,
                            font: {size: 11.5, color: ink},
                            yshift: -2
                        } :
                             {
                                 xref: 'paper',
                                 yref: ya + ' domain',
                                 x: 0,
                                 xshift: -168,
                                 y: .96,
                                 xanchor: 'left',
                                 yanchor: 'top',
                                 align: 'left',
                                 text: `<span style="color:${c}">■</span> <b>${short(s)}</b><br><span style="font-size:11.5px">${
                                     esc(s.devices)}<br>${wn.length} window${wn.length === 1 ? '' : 's'}, ${
                                     N(wn.reduce((t, w) => t + (w.close_s || D.run.end_s) - w.open_s, 0) / 3600, 2)} h</span>`,
                                 showarrow: false,
                                 font: {size: 12.5, color: ink}
                             });
                });
                const jm = joint.filter(k => k.merged_s && ms(k.merged_s) >= vr[0] && ms(k.merged_s) <= vr[1]);
                if (jm.length <= 150)
                    for (const k of jm)
                        lay.shapes.push({
                            type: 'line',
                            xref: 'x',
                            yref: 'paper',
                            x0: ms(k.merged_s),
                            x1: ms(k.merged_s),
                            y0: 0,
                            y1: 1 - rd / inner,
                            line: {color: rgba(mid, .09), width: 1},
                            layer: 'below'
                        });
                if (finished) {
                    lay.shapes.push(
                        {
                            type: 'rect',
                            xref: 'x',
                            yref: 'paper',
                            x0: end,
                            x1: fullRange()[1],
                            y0: 0,
                            y1: 1,
                            fillcolor: rgba(bg, .62),
                            line: {width: 0},
                            layer: 'above'
                        },
                        {type: 'line', xref: 'x', yref: 'paper', x0: end, x1: end, y0: 0, y1: 1, line: {color: mid, width: 1}});
                    lay.annotations.push({
                        xref: 'x',
                        yref: 'paper',
                        x: end,
                        y: 1,
                        yanchor: 'bottom',
                        xanchor: (r => nw || (end - r[0]) / (r[1] - r[0]) > .88 ? 'right' : 'left')(view.range || fullRange()),
                        text: 'run ends ' + hm(end),
                        showarrow: false,
                        font: {size: 11.5, color: mid},
                        yshift: 3
                    })
                }
                lay.annotations.push(zone(nw));
                return {data, layout: lay};
                function gdw() { return body.clientWidth }
            },
            true);
        windowTables(body)
    });
function blend(a, b, t) {
    const f = x => {
        if (x[0] === '#') return [1, 3, 5].map(i => parseInt(x.slice(i, i + 2), 16));
        return x.match(/\d+/g).map(Number)
    };
    const p = f(a), q = f(b);
    return 'rgb(' + p.map((v, i) => Math.round(v * t + q[i] * (1 - t))).join(',') + ')'
}
