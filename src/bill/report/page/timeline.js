// SPDX-License-Identifier: Apache-2.0
// Panel: the signal, the windows and the states of all sites on one time axis.
import {
    commonValue,
    data,
    siteById,
    siteLabel,
    sites,
    STATE_GROUPS,
    thresholdsOf,
    windowEnd,
} from './data.js';
import {add, chartsOf, controlsOf, h, lineSample, siteColor, stateSwatch} from './elements.js';
import {dayHourMinute, dayMonth, hourMinute, timeOf} from './format.js';
import {readout} from './readout.js';
import {addTimelineChart} from './timeline_chart.js';
import {zoom, zoomStatus} from './zoom.js';

export function addTimeline() {
    const place = chartsOf('timeline');
    if (!place) return;
    add(controlsOf('timeline'), zoomStatus(), zoomButtons());
    place.append(laneLegend(), ribbonLegend(), readout());
    addTimelineChart(place);
}

function zoomButtons() {
    const zoomToRun = () => zoom([timeOf(0), timeOf(data.run.end_s)]);
    return [
        h('span', {class: 'note', style: 'margin:0'}, 'Zoom to'),
        h('button', {class: 'btn', onclick: zoomToRun}, 'run'),
        data.windows.length <= 8 ? data.windows.map(windowButton) : windowSelect()
    ];
}

function windowButton(w) {
    const opened = dayHourMinute(timeOf(w.open_s));
    const title = 'Zoom to the window at ' + siteLabel(w.site) + ' that opened at ' + opened;
    const onclick = () => zoomToWindow(w);
    const style = 'margin-right:5px;background:' + siteColor(siteById[w.site]);
    return h(
        'button', {class: 'btn', onclick, title, 'aria-label': title},
        h('span', {class: 'dot', style}), opened);
}

function windowSelect() {
    const onchange = e => {
        const w = data.windows[e.target.value];
        if (w) zoomToWindow(w);
    };
    const opened = w => dayMonth(timeOf(w.open_s)) + ' ' + hourMinute(timeOf(w.open_s));
    const option = (w, i) => h('option', {value: i}, opened(w) + ' ' + siteLabel(w.site));
    return h(
        'select', {class: 'btn', 'aria-label': 'Zoom to a window', onchange},
        h('option', {value: ''}, 'window …'), data.windows.map(option));
}

// With a margin on both sides.
function zoomToWindow(w) {
    const end = windowEnd(w), margin = (end - w.open_s) * .04 + 300;
    zoom([timeOf(w.open_s - margin), timeOf(end + margin)]);
}

const legendHeading = text => h('b', {}, text);

function laneLegend() {
    const line = style => lineSample('border-color:var(--mid);' + style);
    const swatch = (percent, more = '') => {
        const color = `color-mix(in srgb,var(--mid) ${percent}%,var(--bg))`;
        return h('span', {class: 'sw', style: `height:14px;background:${color}${more}`});
    };
    const threshold = sites.some(s => thresholdsOf(s).length > 1) ?
        'in force' :
        commonValue('open_below', 'of each site', 'g/kWh');
    const delay = commonValue('close_delay_s', 'each site\'s', 'min', 1 / 60);
    const entries = [
        [legendHeading('Trace:'), line('border-top-width:1.5px'), 'intensity'],
        [line('border-top:1.5px dashed'), 'threshold ' + threshold],
        [swatch(14), 'window open'],
        [swatch(38), `closing (${delay} delay)`],
        [legendHeading('Rounds:'), swatch(9, ';box-shadow:inset 0 0 0 1px var(--rule)'), 'lone'],
        [swatch(34), 'joint'],
        [h('span', {'aria-hidden': 'true'}, '◆'), 'commit'],
    ];
    return h('ul', {class: 'legend'}, entries.map(entry => h('li', {}, entry)));
}

function ribbonLegend() {
    const held = STATE_GROUPS.filter(([group]) => group !== 'closed');
    const entry = ([group, text], i) =>
        h('li', {}, i ? null : legendHeading('Ribbon:'), stateSwatch(group), text);
    return h('ul', {class: 'legend'}, held.map(entry));
}
