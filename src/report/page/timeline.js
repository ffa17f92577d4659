// SPDX-License-Identifier: Apache-2.0
panel('timeline', 1, 'Timeline', 'When was power clean, and what did each site do?', whyNoTimeline(), (body, ctl) => {
    add(ctl, zoomStatus(), zoomButtons());
    body.append(laneLegend(), ribbonLegend(), readout());
    timelineChart(body);
    add(body, windowTables());
});

function whyNoTimeline() {
    if (!sites.length) return 'No site is configured for this run.';
    if (!D.signals && !D.windows.length) return 'No window has opened, and no signal is known: ' + carbonUnknown() + '.';
    return null;
}

// What is shown while zoomed in; zoomText() keeps it up to date.
function zoomStatus() {
    return [
        h('span', {class: 'note', id: 'zoomed', style: 'margin:0', 'aria-live': 'polite'}),
        h('button', {class: 'btn', id: 'zoomout', hidden: true, onclick: () => zoom(null)}, 'Reset zoom')
    ];
}

function zoomButtons() {
    const few = D.windows.length <= 8;
    return [
        h('span', {class: 'note', style: 'margin:0'}, 'Zoom to'),
        h('button', {class: 'btn', onclick: () => zoom([ms(0), ms(D.run.end_s)])}, 'run'),
        few ? D.windows.map(windowButton) : windowSelect()
    ];
}

function windowButton(w) {
    const opened = hm(ms(w.open_s));
    const words = 'Zoom to the window of ' + label(w.site) + ' opened ' + opened;
    return h(
        'button', {class: 'btn', onclick: () => zoomToWindow(w), title: words, 'aria-label': words},
        h('span', {class: 'dot', style: 'margin-right:5px;background:' + siteColor(site[w.site])}), opened);
}

function windowSelect() {
    const choose = e => {
        const w = D.windows[e.target.value];
        if (w) zoomToWindow(w);
    };
    const option = (w, i) => h('option', {value: i}, day(ms(w.open_s)) + ' ' + hm(ms(w.open_s)) + ' ' + label(w.site));
    return h(
        'select', {class: 'btn', 'aria-label': 'Zoom to a window', onchange: choose}, h('option', {value: ''}, 'window …'),
        D.windows.map(option));
}

// With a little of what was before and after.
function zoomToWindow(w) {
    const end = windowEnd(w);
    const around = (end - w.open_s) * .04 + 300;
    zoom([ms(w.open_s - around), ms(end + around)]);
}

function laneLegend() {
    const heading = text => h('b', {}, text);
    const line = style => h('span', {class: 'ln', style: 'border-color:var(--mid);' + style});
    const swatch = (percent, more = '') =>
        h('span', {class: 'sw', style: `height:14px;background:color-mix(in srgb,var(--mid) ${percent}%,var(--bg))${more}`});
    const threshold = common('open_below', 'of the site', 'g/kWh');
    const delay = common('close_delay_s', 'each site\'s', 'min', 1 / 60);
    const entries = [
        [heading('Trace:'), line('border-top-width:1.5px'), 'intensity'],
        [line('border-top:1.5px dashed'), 'threshold ' + threshold],
        [swatch(14), 'window open'],
        [swatch(38), `closing (${delay} delay)`],
        [heading('Rounds:'), swatch(9, ';box-shadow:inset 0 0 0 1px var(--rule)'), 'solo'],
        [swatch(34), 'joint'],
        [h('span', {'aria-hidden': 'true'}, '◆'), 'commit'],
    ];
    return h('ul', {class: 'legend'}, entries.map(entry => h('li', {}, entry)));
}

function ribbonLegend() {
    const held = STATES.filter(([state]) => state !== 'closed');
    return h(
        'ul', {class: 'legend'},
        held.map(
            ([state, text], i) =>
                h('li', {}, i ? null : h('b', {}, 'Ribbon:'), h('span', {class: 'sw st-' + state, style: '--c:var(--mid)'}), text)));
}
