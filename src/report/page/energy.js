// SPDX-License-Identifier: Apache-2.0
panel('energy', 4, 'Where energy and carbon went', 'Which site, which state, which hours?', whyNoEnergy(), (body, ctl) => {
    const left = h('div', {}, h('h3', {}, 'Cumulative energy, kWh')), right = h('div', {}, h('h3', {}, 'Cumulative CO₂, kg'));
    const shown = {alwaysOn: false};
    body.append(energyLegend(), readout(), h('div', {class: 'two'}, left, right));
    const both = [energyChart(left, ENERGY, shown), energyChart(right, CARBON, shown)];
    if (D.energy.cumulative.always_on) ctl.append(alwaysOnSwitch(shown, both));
    add(body, energyTable(), energyNote(), zeroNote());
});

function whyNoEnergy() { return D.energy ? null : 'No site has held devices yet, so nothing was drawn.'; }

function alwaysOnSwitch(shown, both) {
    return seg('emode', [['run', 'This run'], ['cmp', 'With always-on']], 'run', value => {
        shown.alwaysOn = value === 'cmp';
        $('aoleg').hidden = !shown.alwaysOn;
        both.forEach(c => c.draw());
    });
}

function energyLegend() {
    const line = h('span', {class: 'ln', style: 'border-color:var(--muted);border-top-style:dashed'});
    return h(
        'ul', {class: 'legend'}, sites.map(s => h('li', {}, h('span', {class: 'sw', style: 'background:' + siteColor(s)}), s.label)),
        h('li', {id: 'aoleg', hidden: true}, line, 'one site, always on'));
}

// Energy and carbon by site and state. Columns that are 0 in every row are left out.
function energyTable() {
    const E = D.energy;
    const states = ['training', 'starting', 'exchange', 'draining', 'idle'].filter(state => sites.some(s => E.kwh[s.id][state] > 0));
    const columns = {states, windows: !!E.window_kwh, unknown: Object.values(E.unknown_kwh || {}).some(kwh => kwh > 0)};
    const rows = sites.map(s => energyRow(columns, [dot(s), s.label], [s.id]));
    const all = energyRow(columns, 'All sites', sites.map(s => s.id));
    return h(
        'div', {class: 'scroll', style: 'margin-top:8px'},
        h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Energy and CO2 by site and state'), energyHead(columns), h('tbody', {}, rows),
          h('tfoot', {}, all)));
}

function energyHead({states, windows, unknown}) {
    const group = (span, title, key) =>
        h('th', {colspan: span, scope: 'colgroup', style: 'text-align:left;border-bottom:0'}, title, sourceMark(key));
    const heading = title => h('th', {scope: 'col'}, title);
    const ofStates = () => states.map(state => heading(state[0].toUpperCase() + state.slice(1)));
    return h(
        'thead', {},
        h('tr', {}, h('th', {class: 'l', rowspan: 2, scope: 'col'}, 'Site'),
          group(states.length + 2 + windows + unknown, markedUnit('Energy, kWh', 'energy'), 'energy'),
          group(states.length + 3, markedUnit('CO₂, g', 'co2'), 'co2')),
        h('tr', {}, ofStates(), ['Total', 'Curtailed'].map(heading), windows && heading('In windows'), unknown && heading('Unknown'),
          ofStates(), ['Total', 'Above', 'g/kWh'].map(heading)));
}

// A row for the sum of the sites `ids`; a sum of which a part is not known is a dash.
function energyRow({states, windows, unknown}, name, ids) {
    const E = D.energy;
    const total = bySite => sumOrNull(ids.map(id => bySite[id]));
    const ofState = (bySite, state) => sumOrNull(ids.map(id => bySite[id][state]));
    const faintZero = (x, digits) => h('td', {class: x ? null : 'z'}, x == null ? '–' : x ? N(x, digits) : '0');
    const cell = text => h('td', {}, text);
    const kwh = total(E.total_kwh), grams = total(E.total_g), inside = total(E.inside_kwh), unknownKwh = total(E.unknown_kwh || {});
    const share = (part, of) => pct(of > 0 && part != null ? part / of : null);
    const intensity = kwh > unknownKwh && grams != null ? grams / (kwh - unknownKwh) : null;
    const mark = grams == null ? '' : least(kwh, unknownKwh);
    return h(
        'tr', {}, h('td', {class: 'l'}, name), states.map(state => faintZero(ofState(E.kwh, state), state === 'training' ? 2 : 3)),
        cell(h('b', {}, N(kwh, 2))), cell(share(inside, kwh - unknownKwh)), windows && cell(share(total(E.window_kwh), kwh)),
        unknown && faintZero(unknownKwh, 2), states.map(state => faintZero(ofState(E.g, state), 1)), cell(h('b', {}, mark, N(grams, 1))),
        faintZero(total(E.outside_g), 1), cell(N(intensity, 1)));
}

function energyNote() {
    const E = D.energy;
    const total = bySite => sumOrNull(sites.map(s => bySite[s.id]));
    const threshold = common('close_above', 'its threshold', 'g/kWh');
    const bands = `Bands in the CO₂ chart are closing delays: the site still trains although intensity is above ${threshold}.`;
    const curtailed = '“Curtailed” is the share of energy drawn below the threshold, of what is drawn at known intensity';
    const grams = total(E.total_g);
    const above = grams == null ? `. CO₂ is not known: ${carbonUnknown()}.` :
                                  `, “above” all CO₂ from energy drawn at or above it: ${N(total(E.outside_g), 1)} of ${N(grams, 1)} g.`;
    return h('p', {class: 'note'}, unbroken(bands + ' ' + curtailed + above));
}

// Sites that look as if their carbon were missing.
function zeroNote() {
    const E = D.energy, unknown = E.unknown_kwh || {};
    const zero = sites.filter(s => E.total_kwh[s.id] > 0 && E.total_g[s.id] === 0 && !(unknown[s.id] > 0));
    if (!zero.length) return null;
    const names = zero.map(s => s.label).join(', ');
    return h(
        'p', {class: 'note'},
        names + ': 0 g is the signal\'s own value, 0 gCO₂/kWh at every sample while the site drew power; it is not missing data.');
}
