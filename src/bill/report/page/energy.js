// SPDX-License-Identifier: Apache-2.0
// Panel: energy and carbon by site, state and time.
import {data, sites} from './data.js';
import {
    byId,
    chartsOf,
    controlsOf,
    h,
    lineSample,
    segmentedControl,
    siteSwatch
} from './elements.js';
import {addEnergyChart, CARBON, ENERGY} from './energy_chart.js';
import {readout} from './readout.js';

export function addEnergy() {
    const place = chartsOf('energy');
    if (!place) return;
    const left = h('div', {}, h('h3', {}, 'Cumulative energy, kWh'));
    const right = h('div', {}, h('h3', {}, 'Cumulative CO₂, kg'));
    const shown = {alwaysOn: false};
    place.append(legend(), readout(), h('div', {class: 'two'}, left, right));
    const charts = [addEnergyChart(left, ENERGY, shown), addEnergyChart(right, CARBON, shown)];
    if (data.energy.cumulative.always_on)
        controlsOf('energy').append(alwaysOnSwitch(shown, charts));
}

function alwaysOnSwitch(shown, charts) {
    const options = [['run', 'This run'], ['cmp', 'With always-on']];
    return segmentedControl('emode', 'Curves', options, 'run', value => {
        shown.alwaysOn = value === 'cmp';
        byId('aoleg').hidden = !shown.alwaysOn;
        charts.forEach(c => c.draw());
    });
}

function legend() {
    const line = lineSample('border-color:var(--muted);border-top-style:dashed');
    const alwaysOn = h('li', {id: 'aoleg', hidden: true}, line, 'one site, always on');
    const entry = s => h('li', {}, siteSwatch(s), s.label);
    return h('ul', {class: 'legend'}, sites.map(entry), alwaysOn);
}
