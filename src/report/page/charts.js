const view = {
    range: null
},
      queue = [];
let busy = false;  // charts are drawn after the page, one at a time
const fullRange = () => [ms(0), ms(Math.max(D.run.trace_end_s || 0, D.run.end_s || 0))];
const narrow = () => main.clientWidth < 680;
const font = () => ({family: css('--sans'), size: 12, color: css('--muted')});
const axis = o => Object.assign(
    {
        gridcolor: css('--grid'),
        linecolor: css('--rule'),
        tickcolor: css('--rule'),
        zeroline: false,
        fixedrange: true,
        ticks: '',
        tickfont: {size: 11.5}
    },
    o);
const timeAxis = o => axis(Object.assign(
    {
        type: 'date',
        range: (view.range || fullRange()).slice(),
        fixedrange: false,
        tickformat: '%H:%M\n%-d %b',
        ticks: 'outside',
        ticklen: 4,
        tickangle: 0
    },
    o));
const fit = (gd, l) => Math.max(3, Math.floor((gd.clientWidth - l) / 86));
// at most one bar per pixel: neighbours closer than a pixel are drawn, and counted, as one; zooming in separates them
function pack(xs, a, b, gap) {
    const r = view.range || fullRange(), out = [];
    for (const q of xs) {
        const x = ms(a(q)), y = ms(b(q));
        if (y < r[0] || x > r[1]) continue;
        const l = out[out.length - 1];
        if (l && x - l.y < gap && (x - l.x < gap || y - x < gap)) {
            l.y = Math.max(l.y, y);
            l.last = q;
            l.n++
        } else out.push({x, y, q, last: q, n: 1})
    }
    return out
}
const layout = o => Object.assign(
    {
        paper_bgcolor: 'rgba(0,0,0,0)',
        plot_bgcolor: 'rgba(0,0,0,0)',
        font: font(),
        showlegend: false,
        dragmode: 'zoom',
        hoverlabel: {
            bgcolor: css('--raise'),
            bordercolor: css('--rule'),
            font: {family: css('--sans'), size: 12, color: css('--ink')},
            align: 'left'
        }
    },
    o);
// Shapes and texts in plotly's words; `o` overrides.
const band = (x0, x1, fillcolor, o) =>
    Object.assign({type: 'rect', xref: 'x', yref: 'paper', x0, x1, y0: 0, y1: 1, fillcolor, line: {width: 0}, layer: 'below'}, o);
const verticalLine = (x, line, o) => Object.assign({type: 'line', xref: 'x', yref: 'paper', x0: x, x1: x, y0: 0, y1: 1, line}, o);
const horizontalLine = (y, yref, line, o) => Object.assign({type: 'line', xref: 'paper', yref, x0: 0, x1: 1, y0: y, y1: y, line}, o);
const chartText = (text, o) => Object.assign({xref: 'paper', yref: 'paper', text, showarrow: false}, o);
const zone = slim => chartText(
    'UTC',
    Object.assign(
        {y: 0, yanchor: 'top', font: {size: 11.5}},
        slim ? {x: 1, xanchor: 'right', yshift: -19} : {x: 0, xanchor: 'right', xshift: -18, yshift: -4}));
function chart(where, height, alt, fig, time) {
    const gd = h('div', {class: 'plot', role: 'img', 'aria-label': alt, style: 'height:' + height + 'px'});
    where.append(gd);
    const c = {gd, fig, time, cross: null};
    charts.push(c);
    c.draw = () => {
        const f = fig(gd);
        f.layout.height = gd.clientHeight;
        f.layout.width = gd.clientWidth;
        return Plotly.react(gd, f.data, f.layout, {displayModeBar: false, doubleClick: false, responsive: false, showTips: false})
    };
    queue.push(() => {
        c.draw();
        if (time) c.cross = gd.appendChild(h('div', {class: 'cross'}));
        gd.on('plotly_relayout', ev => {
            if (busy || !(c.time && c.isTime())) return;
            const a = ev['xaxis.range[0]'], b = ev['xaxis.range[1]'];
            if (a != null) zoom([toMs(a), toMs(b)])
        });
        gd.on('plotly_doubleclick', () => {
            if (c.time && c.isTime()) zoom(null);
            else c.draw()
        })
    });
    c.isTime = () => gd._fullLayout && gd._fullLayout.xaxis.type === 'date';
    gd.addEventListener('mousemove', e => {
        if (!c.isTime() || !c.time) return;
        const xa = gd._fullLayout.xaxis, px = e.clientX - gd.getBoundingClientRect().left - xa._offset;
        if (px < 0 || px > xa._length) return hover(null);
        hover(xa.p2l(px))
    });
    gd.addEventListener('mouseleave', () => hover(null));
    if (time) {
        const set = o => {
            for (const k in o) gd.setAttribute(k, o[k])
        };
        set({
            role: 'slider',
            tabindex: 0,
            'aria-orientation': 'horizontal',
            'aria-valuemin': 0,
            'aria-valuemax': Math.round((fullRange()[1] - T0) / 1000),
            'aria-valuenow': 0,
            'aria-valuetext': 'arrow keys move the cursor, plus and minus zoom, Escape resets'
        });
        gd.addEventListener('keydown', e => {
            if (!c.isTime()) return;
            const r = view.range || fullRange(), w = r[1] - r[0], d = w / (e.shiftKey ? 20 : 200), k = e.key;
            let t = view.key == null ? r[0] : view.key;
            if (k === 'ArrowRight') t += d;
            else if (k === 'ArrowLeft') t -= d;
            else if (k === 'Home') t = r[0];
            else if (k === 'End') t = r[1];
            else if (k === '+' || k === '=') {
                const f = (t - r[0]) / w;
                zoom([t - f * w / 2, t + (1 - f) * w / 2])
            } else if (k === '-') {
                const F = fullRange(), a = Math.max(F[0], t - w), b = Math.min(F[1], t + w);
                zoom(a <= F[0] && b >= F[1] ? null : [a, b])
            } else return;
            e.preventDefault();
            const q = view.range || fullRange();
            view.key = t = Math.min(q[1], Math.max(q[0], t));
            hover(t);
            set({'aria-valuenow': Math.round((t - T0) / 1000), 'aria-valuetext': read((t - T0) / 1000).map(x => x.textContent).join('; ')})
        });
        gd.addEventListener('blur', () => hover(null))
    }
    return c
}
const toMs = v => typeof v === 'number' ? v : Date.parse(String(v).replace(' ', 'T') + (/Z$/.test(v) ? '' : 'Z'));
function zoom(r) {
    if (r && r[1] - r[0] < 60000) return;
    view.range = r;
    busy = true;
    Promise.all(charts.filter(c => c.time && c.isTime()).map(c => c.draw())).then(() => {busy = false});
    zoomText()
}
function zoomText() {
    const e = $('zoomed');
    if (!e) return;
    const r = view.range;
    e.textContent = r ? hm(r[0]) + '–' + hm(r[1]) + ' UTC, ' + dur((r[1] - r[0]) / 1000) : '';
    $('zoomout').hidden = !r
}
const at = (xs, x) => {
    let a = 0, b = xs.length;
    while (a < b) {
        const m = a + b >> 1;
        xs[m] <= x ? a = m + 1 : b = m
    }
    return a - 1
};
function stateAt(id, s) {
    const q = (D.states[id] || []).find(q => q[1] <= s && s < q[2]);
    return q ? DETAIL[q[0]].split(',')[0] : 'off'
}
function hover(t) {
    for (const c of charts)
        if (c.cross) {
            const f = c.gd._fullLayout;
            if (t == null || !c.isTime()) {
                c.cross.style.display = 'none';
                continue
            }
            const xa = f.xaxis, p = xa.l2p(t);
            if (p < 0 || p > xa._length) {
                c.cross.style.display = 'none';
                continue
            }
            Object.assign(c.cross.style, {display: 'block', left: xa._offset + p + 'px', top: f._size.t + 'px', height: f._size.h + 'px'})
        }
    for (const ro of document.querySelectorAll('.readout'))
        ro.replaceChildren(...(t == null ? [h('span', {}, ro.dataset.idle)] : read((t - T0) / 1000)))
}
function read(s) {
    const out = [h('span', {}, h('b', {}, hms(ms(s)) + ' UTC'), ' ' + day(ms(s)) + ', ' + dur(s) + ' in')], live = s <= D.run.end_s;
    for (const q of sites) {
        let v = null;
        if (SERIES[q.region]) {
            const {t, v: y} = SERIES[q.region], i = at(t, s);
            if (i >= 0 && t[i] === s) v = y[i];
            else if (i >= 0 && i + 1 < y.length && y[i] != null && y[i + 1] != null)
                v = y[i] + (y[i + 1] - y[i]) * (s - t[i]) / (t[i + 1] - t[i])
        }
        out.push(
            h('span', {}, dot(q), q.label + ' ', h('b', {}, v == null ? 'no signal' : N(v) + ' g'), live ? ' ' + stateAt(q.id, s) : ''))
    }
    const k = (D.rounds || []).find(k => k.start_s <= s && s < (k.merged_s || k.end_s));
    if (k) out.push(h('span', {}, 'round ', h('b', {}, k.number), ' ' + k.mode));
    const C = D.energy && D.energy.cumulative;
    if (C && live) {
        const i = Math.round(s / C.step_s);
        const e = sumOrNull(sites.map(q => C.sites[q.id].wh[i])),
              g = sumOrNull(sites.map(q => C.sites[q.id].g ? C.sites[q.id].g[i] : null));
        out.push(h('span', {}, h('b', {}, N(e / 1000, 2)), ' kWh, ', h('b', {}, gramsOrKg(g)), g == null ? ' of CO₂' : '', ' so far'))
    }
    return out
}
const IDLE = 'Point at any time chart, or focus it and use the arrow keys, for values; drag to zoom all of them; double-click to reset.';
const readout = () => h('div', {class: 'readout', 'data-idle': IDLE}, h('span', {}, IDLE));
const joint = (D.rounds || []).filter(k => k.mode === 'joint');
