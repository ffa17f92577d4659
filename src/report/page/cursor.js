// SPDX-License-Identifier: Apache-2.0
// What all charts of time share: the visible range and the cursor, moved by pointer, keys or buttons, and the values at the cursor.

const view = {
    range: null,  // [from, to] while zoomed in
    key: null,    // where the keyboard's cursor is
    busy: false   // charts are being drawn for a zoom, and tell of it
};
const fullRange = () => [ms(0), ms(Math.max(D.run.trace_end_s || 0, D.run.end_s || 0))];
const visibleRange = () => view.range || fullRange();
const sinceZero = t => (t - T0) / 1000;

// Draws all charts of time for the range, or for all of it if that is null. Less than a minute is no range.
function zoom(range) {
    if (range && range[1] - range[0] < 60000) return;
    view.range = range;
    view.busy = true;
    Promise.all(charts.filter(c => c.isTime()).map(c => c.draw())).then(() => {
        view.busy = false;
    });
    zoomText();
}

function zoomText() {
    const text = $('zoomed');
    if (!text) return;
    const range = view.range;
    text.textContent = range ? hm(range[0]) + '–' + hm(range[1]) + ' UTC, ' + duration((range[1] - range[0]) / 1000) : '';
    $('zoomout').hidden = !range;
}

// A range dragged in this chart is every chart's; a double click is the way back.
function followZoom(c) {
    const moment = v => typeof v === 'number' ? v : Date.parse(String(v).replace(' ', 'T') + (/Z$/.test(v) ? '' : 'Z'));
    c.gd.on('plotly_relayout', change => {
        if (view.busy || !c.isTime()) return;
        const from = change['xaxis.range[0]'], to = change['xaxis.range[1]'];
        if (from != null) zoom([moment(from), moment(to)]);
    });
    c.gd.on('plotly_doubleclick', () => {
        if (c.isTime()) zoom(null);
        else c.draw();
    });
}

function followPointer(c) {
    c.gd.addEventListener('mousemove', e => {
        if (!c.isTime()) return;
        const along = c.gd._fullLayout.xaxis, x = e.clientX - c.gd.getBoundingClientRect().left - along._offset;
        moveCursor(x < 0 || x > along._length ? null : along.p2l(x));
    });
    c.gd.addEventListener('mouseleave', () => moveCursor(null));
}

// For the keyboard a chart of time is a slider.
function followKeys(c) {
    const set = attributes => {
        for (const name in attributes) c.gd.setAttribute(name, attributes[name]);
    };
    set({
        role: 'slider',
        tabindex: 0,
        'aria-orientation': 'horizontal',
        'aria-valuemin': 0,
        'aria-valuemax': Math.round(sinceZero(fullRange()[1])),
        'aria-valuenow': 0,
        'aria-valuetext': 'arrow keys move the cursor, plus and minus zoom, Escape resets'
    });
    c.gd.addEventListener('keydown', e => {
        if (!c.isTime()) return;
        const asked = pressed(e.key, e.shiftKey);
        if (asked == null) return;
        e.preventDefault();
        const [from, to] = visibleRange();
        view.key = Math.min(to, Math.max(from, asked));
        moveCursor(view.key);
        const seconds = sinceZero(view.key);
        set({'aria-valuenow': Math.round(seconds), 'aria-valuetext': valuesAt(seconds).map(x => x.textContent).join('; ')});
    });
    c.gd.addEventListener('blur', () => moveCursor(null));
}

// Zooms if the key says so. Answers where the cursor is to go, or null for a key without a meaning here.
function pressed(key, far) {
    const [from, to] = visibleRange();
    const t = view.key == null ? from : view.key, step = (to - from) / (far ? 20 : 200);
    switch (key) {
        case 'ArrowRight':
            return t + step;
        case 'ArrowLeft':
            return t - step;
        case 'Home':
            return from;
        case 'End':
            return to;
        case '+':
        case '=':
            zoom([(from + t) / 2, (to + t) / 2]);
            return t;
        case '-':
            zoomOut(t, to - from);
            return t;
        default:
            return null;
    }
}

// To twice the width, around `t`.
function zoomOut(t, width) {
    const [first, last] = fullRange();
    const from = Math.max(first, t - width), to = Math.min(last, t + width);
    zoom(from <= first && to >= last ? null : [from, to]);
}

// `t` null: there is no cursor.
function moveCursor(t) {
    for (const c of charts.filter(c => c.cross)) placeCross(c, t);
    for (const line of document.querySelectorAll('.readout'))
        line.replaceChildren(...(t == null ? [h('span', {}, line.dataset.idle)] : valuesAt(sinceZero(t))));
}

function placeCross(c, t) {
    const lay = c.gd._fullLayout;
    const x = t == null || !c.isTime() ? -1 : lay.xaxis.l2p(t);
    const inside = x >= 0 && x <= lay.xaxis._length;
    if (!inside) c.cross.style.display = 'none';
    else
        Object.assign(
            c.cross.style, {display: 'block', left: lay.xaxis._offset + x + 'px', top: lay._size.t + 'px', height: lay._size.h + 'px'});
}

const IDLE = 'Point at any time chart, or focus it and use the arrow keys, for values; drag to zoom all of them; double-click to reset.';
const readout = () => h('div', {class: 'readout', 'data-idle': IDLE}, h('span', {}, IDLE));

// What is known of a moment, `s` seconds on the signal's clock, as elements.
function valuesAt(s) {
    const value = text => h('b', {}, text);
    const values = [h('span', {}, value(hms(ms(s)) + ' UTC'), ' ' + day(ms(s)) + ', ' + duration(s) + ' in')], live = s <= D.run.end_s;
    for (const q of sites) {
        const grams = intensityAt(q.region, s);
        const state = live ? ' ' + stateAt(q.id, s) : '';
        values.push(h('span', {}, dot(q), q.label + ' ', value(grams == null ? 'no signal' : N(grams) + ' g'), state));
    }
    const round = D.rounds.find(k => k.start_s <= s && s < (k.merged_s || k.end_s));
    if (round) values.push(h('span', {}, 'round ', value(round.number), ' ' + round.mode));
    if (D.energy && D.energy.cumulative && live) {
        const {kwh, grams} = drawnUntil(s);
        values.push(h('span', {}, value(N(kwh, 2)), ' kWh, ', value(gramsOrKg(grams)), grams == null ? ' of CO₂' : '', ' so far'));
    }
    return values;
}

// Between two samples on the straight line; null where one of them is missing.
function intensityAt(region, s) {
    if (!SERIES[region]) return null;
    const {t, v} = SERIES[region], i = lastNotAfter(t, s);
    if (i < 0) return null;
    if (t[i] === s) return v[i];
    if (i + 1 >= v.length || v[i] == null || v[i + 1] == null) return null;
    return v[i] + (v[i + 1] - v[i]) * (s - t[i]) / (t[i + 1] - t[i]);
}

// Index of the last of the ascending `xs` that is not greater than `x`; -1 if there is none.
function lastNotAfter(xs, x) {
    let from = 0, to = xs.length;
    while (from < to) {
        const middle = from + to >> 1;
        if (xs[middle] <= x) from = middle + 1;
        else to = middle;
    }
    return from - 1;
}

function stateAt(id, s) {
    const interval = (D.states[id] || []).find(([, from, to]) => from <= s && s < to);
    return interval ? DETAIL[interval[0]].split(',')[0] : 'off';
}

// Energy and carbon of all sites from the beginning to `s`.
function drawnUntil(s) {
    const C = D.energy.cumulative, i = Math.round(s / C.step_s);
    const wattHours = sumOrNull(sites.map(q => C.sites[q.id].wh[i]));
    const grams = sumOrNull(sites.map(q => C.sites[q.id].g ? C.sites[q.id].g[i] : null));
    return {kwh: wattHours / 1000, grams};
}
