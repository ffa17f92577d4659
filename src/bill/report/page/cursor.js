// SPDX-License-Identifier: Apache-2.0
// The cursor, which all time charts share. The pointer and the keyboard move it.
import {charts} from './chart.js';
import {h} from './elements.js';
import {secondsSinceZero} from './format.js';
import {Plotly} from './plotly.js';
import {updateReadouts, valuesAt} from './readout.js';
import {fullRange, visibleRange} from './time_range.js';
import {zoom, zoomOut} from './zoom.js';

let keyboardTime = null;  // where the keyboard has put the cursor

// Call after the chart was drawn for the first time, which empties its element.
export function addCrossLine(chart) {
    chart.cross = chart.gd.appendChild(h('div', {class: 'cross'}));
}

// `t` null hides the cursor.
function moveCursor(t) {
    for (const chart of charts.filter(c => c.cross)) placeCross(chart, t);
    updateReadouts(t == null ? null : secondsSinceZero(t));
}

function placeCross(chart, t) {
    const {xaxis, _size: size} = chart.gd._fullLayout;
    const x = t == null || !chart.isTime() ? -1 : xaxis.l2p(t);
    const style = chart.cross.style;
    if (x < 0 || x > xaxis._length) {
        style.display = 'none';
        return;
    }
    style.display = 'block';
    style.left = xaxis._offset + x + 'px';
    style.top = size.t + 'px';
    style.height = size.h + 'px';
}

export function followPointer(chart) {
    const {gd} = chart;
    const follow = e => {
        if (!chart.isTime()) return;
        const {xaxis} = gd._fullLayout;
        const x = e.clientX - gd.getBoundingClientRect().left - xaxis._offset;
        moveCursor(x < 0 || x > xaxis._length ? null : xaxis.p2l(x));
    };
    gd.addEventListener('pointerdown', follow);
    gd.addEventListener('pointermove', follow);
    // After a touch, the cursor stays for reading.
    gd.addEventListener('pointerleave', e => {
        if (e.pointerType !== 'touch') moveCursor(null);
    });
    // Plotly would take every touch for a drag, and the page could not be scrolled by its charts.
    gd.addEventListener('touchstart', e => e.stopPropagation(), {capture: true, passive: true});
}

const SLIDER = {
    role: 'slider',
    tabindex: 0,
    'aria-orientation': 'horizontal',
    'aria-valuemin': 0
};
const SLIDER_HELP = 'arrow keys move the cursor, plus and minus zoom, Escape resets';

// For the keyboard, a time chart is a slider.
export function followKeys(chart) {
    const {gd} = chart;
    const last = Math.round(secondsSinceZero(fullRange()[1]));
    setAttributes(gd, {...SLIDER, 'aria-valuemax': last});
    setAttributes(gd, {'aria-valuenow': 0, 'aria-valuetext': SLIDER_HELP});
    gd.addEventListener('keydown', e => {
        if (!chart.isTime()) {
            if (moveHover(chart, e.key, e.shiftKey)) e.preventDefault();
            return;
        }
        const t = timeForKey(e.key, e.shiftKey);
        if (t == null) return;
        e.preventDefault();
        const [from, to] = visibleRange();
        keyboardTime = Math.min(to, Math.max(from, t));
        moveCursor(keyboardTime);
        const s = secondsSinceZero(keyboardTime);
        const text = valuesAt(s).map(x => x.textContent).join('; ');
        setAttributes(gd, {'aria-valuenow': Math.round(s), 'aria-valuetext': text});
    });
    gd.addEventListener('blur', () => moveCursor(null));
}

// Where a key moves what is `at`; undefined for any other key.
const moves = (key, at, step, from, to) =>
    ({ArrowRight: at + step, ArrowLeft: at - step, Home: from, End: to})[key];

// Moves the values shown on a chart whose axis is not time. Returns whether `key` does that.
function moveHover(chart, key, fast) {
    const {gd} = chart, [from, to] = gd._fullLayout.xaxis.range.map(Number);
    const step = (to - from) / (fast ? 20 : 200), at = chart.hoverAt == null ? from : chart.hoverAt;
    const next = moves(key, at, step, from, to);
    if (next == null) return false;
    chart.hoverAt = Math.min(to, Math.max(from, next));
    Plotly.Fx.hover(gd, {xval: chart.hoverAt}, 'xy');
    const texts = [...gd.querySelectorAll('.hoverlayer text')].map(x => x.textContent);
    const ends = {'aria-valuemin': Math.round(from), 'aria-valuemax': Math.round(to)};
    const text = texts.filter(Boolean).join('; ');
    setAttributes(
        gd, {...ends, 'aria-valuenow': Math.round(chart.hoverAt), 'aria-valuetext': text});
    return true;
}

function setAttributes(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

// Where a key moves the cursor, after zooming if it is a zoom key; null for any other key.
// `fast`: steps are ten times as long.
function timeForKey(key, fast) {
    const [from, to] = visibleRange();
    const t = keyboardTime == null ? from : keyboardTime, step = (to - from) / (fast ? 20 : 200);
    const moved = moves(key, t, step, from, to);
    if (moved != null) return moved;
    if (key === '+' || key === '=') zoom([(from + t) / 2, (to + t) / 2]);
    else if (key === '-') zoomOut(t, to - from);
    else return null;
    return t;
}
