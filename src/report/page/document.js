// SPDX-License-Identifier: Apache-2.0
// The report's document and what all panels read from it. The scripts share one scope, in the order that embed_page.cmake gives.

const D = JSON.parse(document.getElementById('curtail-data').textContent);
for (const k of ['sites', 'windows', 'rounds', 'events', 'facts', 'comparison', 'provenance', 'notes', 'decisions']) D[k] = D[k] || [];
for (const k of ['run', 'states', 'missing']) D[k] = D[k] || {};

const sites = D.sites, site = Object.fromEntries(sites.map(s => [s.id, s]));
const label = id => site[id] ? site[id].label : id;
// What all sites have in common, else the words for what each has of its own.
const common = (key, own, unit, k = 1) => new Set(sites.map(s => s[key])).size === 1 ? sites[0][key] * k + ' ' + unit : own;

const SERIES = (D.signals || {}).series || {};
const finished = ['finished', 'complete'].includes(D.run.status);
// Seconds of the signal's clock in a real one, and the unit of real durations.
const FACTOR = D.run.clock_factor || 1, REAL = FACTOR === 1 ? 's' : 'real s';

// A sum of which a part is not known is not known; a part that is not there is 0.
const sumOrNull = xs => xs.reduce((t, x) => t === null || x === null ? null : t + (x || 0), 0);
const times = (x, k) => x == null ? null : x * k;
const carbonUnknown = () => D.missing.carbon || 'intensity is not known';

// Where a figure comes from; the letters stand beside figures, in the order of the list.
const PROV = D.provenance;
const prov = key => PROV.find(p => p.key === key);
const letter = key => 'abcdefghijklmnopqrstuvwxyz'[PROV.findIndex(p => p.key === key)];

// The states of a site as the page groups them, [group, text].
const STATES = [
    ['training', 'training'],
    ['starting', 'starting'],
    ['exchange', 'round exchange'],
    ['draining', 'draining'],
    ['idle', 'idle, devices held'],
    ['closed', 'closed'],
];
const GROUP = {
    provision: 'starting',
    starting: 'starting',
    training: 'training',
    exchange: 'exchange',
    contribute: 'exchange',
    merge: 'exchange',
    adopt: 'exchange',
    draining: 'draining',
    idle: 'idle'
};
const DETAIL = {
    provision: 'provisioning',
    starting: 'starting',
    training: 'training',
    exchange: 'exchanging with other sites',
    contribute: 'contributing, waiting for the merge',
    merge: 'merging',
    adopt: 'adopting the new base, restarting',
    draining: 'draining',
    idle: 'idle, provisioned'
};
