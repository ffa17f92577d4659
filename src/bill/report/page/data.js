// SPDX-License-Identifier: Apache-2.0
// The report's document (docs/report.md) and what every panel derives from it.

const LISTS = [
    'sites', 'windows', 'rounds', 'events', 'facts', 'comparison', 'provenance', 'notes',
    'decisions', 'held_out'
];

function readDocument() {
    const parsed = JSON.parse(document.getElementById('curtail-data').textContent);
    for (const key of LISTS) parsed[key] = parsed[key] || [];
    for (const key of ['run', 'states', 'missing']) parsed[key] = parsed[key] || {};
    return parsed;
}

export const data = readDocument();
export const sites = data.sites;
export const siteById = Object.fromEntries(sites.map(s => [s.id, s]));
export const siteLabel = id => siteById[id] ? siteById[id].label : id;

// The value that all sites share, scaled and with its unit; `otherwise` where they differ.
export function commonValue(key, otherwise, unit, scale = 1) {
    const same = new Set(sites.map(s => s[key])).size === 1;
    return same ? +(sites[0][key] * scale).toFixed(2) + ' ' + unit : otherwise;
}

// The thresholds of a site, and from when on each was in force.
export function thresholdsOf(s) {
    const all = s.settings || [s];
    return all.filter((then, i) => !i || then.open_below !== all[i - 1].open_below)
        .map(then => ({from_s: then.from_s || 0, value: then.open_below}));
}

export const signalSeries = (data.signals || {}).series || {};
export const hasEnded = ['finished', 'complete'].includes(data.run.status);
// Seconds of the signal's clock per real second.
const clockFactor = data.run.clock_factor || 1;
// The unit of real durations.
export const REAL_SECONDS = clockFactor === 1 ? 's' : 'real s';

// An undefined term counts as 0; null means unknown and makes the sum unknown.
export const sumOrNull = xs =>
    xs.reduce((t, x) => t === null || x === null ? null : t + (x || 0), 0);
// How the page names a round's mode.
export const roundMode = k => k.mode === 'solo' ? 'lone' : k.mode;

// A window that is still open lasts until the record ends.
export const windowEnd = w => w.close_s == null ? data.run.end_s : w.close_s;

// The page shows a site's states in these groups: [group, text].
export const STATE_GROUPS = [
    ['training', 'training'],
    ['starting', 'starting'],
    ['exchange', 'exchange or checkpoint'],
    ['draining', 'draining'],
    ['idle', 'idle, devices held'],
    ['paused', 'suspended, frozen, stalled or requeued'],
    ['closed', 'closed'],
];
// The groups in which a site draws power, in the order in which the page lists them.
export const POWERED_GROUPS = ['training', 'starting', 'exchange', 'draining', 'idle', 'paused'];
// Each state's group, and its text.
export const STATES = {
    provision: ['starting', 'provisioning'],
    starting: ['starting', 'starting'],
    training: ['training', 'training'],
    exchange: ['exchange', 'exchanging, or storing a lone checkpoint'],
    contribute: ['exchange', 'contributing, waiting for the merge'],
    merge: ['exchange', 'merging'],
    adopt: ['exchange', 'adopting the new base, restarting'],
    draining: ['draining', 'draining'],
    idle: ['idle', 'idle, provisioned'],
    suspended: ['paused', 'suspended by the scheduler'],
    frozen: ['paused', 'frozen'],
    stalled: ['paused', 'stalled in a step'],
    requeued: ['paused', 'requeued']
};
