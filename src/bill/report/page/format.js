// SPDX-License-Identifier: Apache-2.0
// Numbers and times as text. An unknown value is a dash. A time `t` is in milliseconds since 1970
// UTC, as in Date.
import {data} from './data.js';

// With `digits` decimals.
export function number(x, digits = 0) {
    if (x == null || !isFinite(x) || x === '') return '–';
    const options = {minimumFractionDigits: digits, maximumFractionDigits: digits};
    return x.toLocaleString('en-US', options).replace('-', '−');
}
export const counted = (n, noun) => number(n) + ' ' + noun + (n === 1 ? '' : 's');
export const signed = (x, digits) => (x > 0 ? '+' : '') + number(x, digits);

// The document counts seconds from here.
const timeZero = data.run.time_zero ? Date.parse(data.run.time_zero) : 0;
export const timeOf = s => timeZero + s * 1000;
export const secondsSinceZero = t => (t - timeZero) / 1000;

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const twoDigits = x => String(x).padStart(2, '0');
export function hourMinute(t) {
    const date = new Date(t);
    return twoDigits(date.getUTCHours()) + ':' + twoDigits(date.getUTCMinutes());
}
export const clockTime = t => hourMinute(t) + ':' + twoDigits(new Date(t).getUTCSeconds());
export const dayMonth = t => new Date(t).getUTCDate() + ' ' + MONTHS[new Date(t).getUTCMonth()];
const dayMonthYear = t => dayMonth(t) + ' ' + new Date(t).getUTCFullYear();
// A run within one day needs no dates in its tables.
const severalDays = dayMonthYear(timeOf(0)) !== dayMonthYear(timeOf(data.run.end_s || 0));
export const dayHourMinute = t => (severalDays ? dayMonth(t) + ' ' : '') + hourMinute(t);
export const timestamp = t => (severalDays ? dayMonth(t) + ' ' : '') + clockTime(t);

export function duration(seconds) {
    const s = Math.round(seconds), hours = Math.floor(s / 3600),
          minutes = Math.floor(s % 3600 / 60);
    if (hours) return hours + ' h ' + twoDigits(minutes) + ' m';
    return minutes ? minutes + ' m ' + twoDigits(s % 60) + ' s' : s + ' s';
}

// The unit in which the run's tokens are counted.
export const [tokenScale, tokenUnit] = tokenUnitFor((data.headline || {}).tokens);
function tokenUnitFor(count) {
    if (count >= 1e9) return [1e-9, 'G'];
    return count >= 1e6 || !count ? [1e-6, 'M'] : [1e-3, 'k'];
}
export const tokenCount = (x, digits = 2) =>
    x == null ? '–' : number(x * tokenScale, digits) + '\u00a0' + tokenUnit;

// With three significant digits, as modelled amounts are known.
export function significant(x) {
    if (!x || !isFinite(x)) return number(x);
    const digits = 2 - Math.floor(Math.log10(Math.abs(x))), scale = 10 ** digits;
    const units = Math.round(x * scale);
    return number(units / scale, Math.max(0, Math.abs(units) >= 1000 ? digits - 1 : digits));
}
export function gramsOrKg(g) {
    if (g == null) return '–';
    return g >= 1000 ? significant(g / 1000) + ' kg' : significant(g) + ' g';
}
// The mark of the carbon of all sites, if it is no exact figure.
export function totalBoundMark() {
    const bound = ((data.totals || {}).all || {}).co2_bound;
    return {'at least': '≥ ', 'at most': '≤ ', 'uncertain': '~ '}[bound] || '';
}

// Plotly reads the texts in a chart as markup.
export const escapeMarkup = text =>
    String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
export const shortLabel = s =>
    escapeMarkup(s.label.length > 20 ? s.label.slice(0, 19) + '…' : s.label);
