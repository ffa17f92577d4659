// SPDX-License-Identifier: Apache-2.0
panel('time', 3, 'Where the time went', 'How much of each site\'s time made tokens?', whyNoHours(), (body, ctl) => {
    const bars = h('div'), show = whole => bars.replaceChildren(hourBars(whole));
    ctl.append(seg('tmode', [['span', 'Share of the run'], ['alloc', 'Share of allocated time']], 'span', mode => show(mode === 'span')));
    show(true);
    add(body, hoursLegend(), bars, hoursTable(), startsAndStops(), longestEdges(), roundDurations());
});

function whyNoHours() { return D.hours && Object.keys(D.hours).length ? null : 'No site has been provisioned yet.'; }

function hoursLegend() {
    const entry = ([state, text]) => h('li', {}, h('span', {class: 'sw st-' + state, style: '--c:var(--mid)'}), text);
    return h('ul', {class: 'legend'}, STATES.map(entry));
}

// Training's share of allocated time.
function goodput(id) { return pct(D.allocated_h[id] > 0 ? (D.hours[id].training || 0) / D.allocated_h[id] : null); }

// A bar for each site, of the `whole` run or of the time that the site held devices.
function hourBars(whole) {
    const total = s => Object.values(D.hours[s.id]).reduce((a, b) => a + b, 0);
    const longest = Math.max(...sites.map(total));
    const states = STATES.filter(([state]) => whole || state !== 'closed');
    const row = s => {
        const all = (whole ? longest : D.allocated_h[s.id]) || 1;
        const parts = states.map(([state, text]) => {
            const hours = hoursOfGroup(s.id, state), share = hours / all;
            const title = `${s.label}, ${text}: ${N(hours, 2)} h, ${pct(share)}`;
            return hours > 0 && h('i', {class: 'st-' + state, style: `width:${share * 100}%`, title});
        });
        return h(
            'tr', {}, h('td', {}, dot(s), s.label), h('td', {}, h('div', {class: 'stack', style: '--c:' + siteColor(s)}, parts)),
            h('td', {}, h('b', {}, goodput(s.id)), h('span', {class: 'gp'}, ' goodput')));
    };
    return h(
        'table', {class: 'bars'}, h('caption', {class: 'vh'}, 'Share of time by state; values in the next table'),
        h('tbody', {}, sites.map(row)));
}

function hoursOfGroup(id, group) {
    const kinds = Object.keys(D.hours[id]).filter(kind => (GROUP[kind] || kind) === group);
    return kinds.reduce((sum, kind) => sum + D.hours[id][kind], 0);
}

// Hours by site and state; states that no site was in are left out.
function hoursTable() {
    const all = [
        ['training', 'Training', ''],
        ['provision', 'Provisioning', 'opening to devices'],
        ['starting', 'Starting', 'devices to first step'],
        ['exchange', 'Exchange', 'with other sites'],
        ['contribute', 'Contribute + wait', 'last step to round end'],
        ['merge', 'Merge', ''],
        ['adopt', 'Adopt + restart', 'to next first step'],
        ['draining', 'Draining', ''],
        ['idle', 'Idle', 'devices held'],
    ];
    const states = all.filter(([state]) => state === 'training' || sites.some(s => D.hours[s.id][state] > 0));
    const heading = (title, unit, note) => h('th', {scope: 'col'}, title, note, h('span', {class: 'u'}, unit || '\u00a0'));
    const sum = value => sites.reduce((t, s) => t + (value(s) || 0), 0);
    const row = (name, hours, allocated) =>
        h('tr', {}, h('td', {class: 'l'}, name),
          states.map(([state]) => h('td', {class: hours(state) ? null : 'z'}, hours(state) ? N(hours(state), 2) : '0')),
          h('td', {}, N(allocated, 2)), h('td', {}, N(hours('closed'), 2)),
          h('td', {}, pct(allocated > 0 ? hours('training') / allocated : null)));
    return h(
        'div', {class: 'scroll'},
        h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Hours by site and state'),
          h('thead', {},
            h('tr', {}, h('th', {class: 'l', scope: 'col'}, 'Hours'), states.map(([, title, unit]) => heading(title, unit)),
              heading('Allocated'), heading('Closed'), heading('Goodput', '', sourceMark('goodput')))),
          h('tbody', {}, sites.map(s => row([dot(s), s.label], state => D.hours[s.id][state] || 0, D.allocated_h[s.id]))),
          h('tfoot', {}, row('All sites', state => sum(s => D.hours[s.id][state]), sum(s => D.allocated_h[s.id])))));
}

function startsAndStops() {
    const T = D.times;
    if (!T || !sites.some(s => T[s.id] && (T[s.id].startup_s || T[s.id].drain_s))) return null;
    const spread = x => x ? N(x.min, 1) + ' / ' + N(x.median, 1) + ' / ' + N(x.max, 1) : '–';
    const columns = [
        ['Starts and stops', REAL + ': least / median / greatest', s => [dot(s), s.label], 'l'],
        ['Window open to first step', '', s => spread(T[s.id].startup_s)],
        ['Windows', '', s => N((T[s.id].startup_s || {}).count)],
        ['Stop request to exit', '', s => spread(T[s.id].drain_s)],
        ['Stops', '', s => N((T[s.id].drain_s || {}).count)],
    ];
    return table('Starts and stops by site', columns, sites, {id: 'times'});
}

function longestEdges() {
    if (!D.edges) return null;
    const longest = x => x ? N(x.max, 1) + ' ' + REAL : '–';
    const edge = x => `${longest(x.alone)} with no other site training, ${longest(x.beside)} while another trained`;
    return h('p', {class: 'note'}, `Longest start: ${edge(D.edges.start_s)}. Longest stop: ${edge(D.edges.stop_s)}.`);
}

function roundDurations() {
    const transfer = D.missing.transfer ? D.missing.transfer + ' ' : '';
    return h('p', {class: 'note'}, transfer + (D.round_summary ? roundDurationWords(D.round_summary) : ''));
}

function roundDurationWords(r) {
    const whole = `A joint round takes ${N(r.duration_s, 1)} ${REAL} from its start to its merge (median of ${N(r.joint)})`;
    const parts = [
        N(r.before_s, 1) + ' s before the first step',
        N(r.train_s, 1) + ' s of training',
        N(r.after_s, 1) + ' s after the last step',
        N(r.merge_s, 1) + ' s of merging',
    ];
    return `${whole}: ${parts.join(', ')}. ${pct(1 - r.train_s / r.duration_s)} of it makes no tokens.`;
}
