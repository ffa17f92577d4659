// SPDX-License-Identifier: Apache-2.0
// Numbers and moments as text. What is not known is a dash. Times `t` are milliseconds since 1970 in UTC, as Date has them.

// A number with `d` decimals; S: with its sign.
function N(x, d = 0) {
    if (x == null || !isFinite(x) || x === '') return '–';
    return x.toLocaleString('en-US', {minimumFractionDigits: d, maximumFractionDigits: d}).replace('-', '−');
}
const S = (x, d) => (x > 0 ? '+' : '') + N(x, d);
const pct = (x, d = 1) => x == null ? '–' : N(x * 100, d) + ' %';

// The moment of a second on the signal's clock.
const T0 = D.run.time_zero ? Date.parse(D.run.time_zero) : 0;
const ms = s => T0 + s * 1000;

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const pad = x => String(x).padStart(2, '0');
const hm = t => pad(new Date(t).getUTCHours()) + ':' + pad(new Date(t).getUTCMinutes());
const hms = t => hm(t) + ':' + pad(new Date(t).getUTCSeconds());
const day = t => new Date(t).getUTCDate() + ' ' + MONTHS[new Date(t).getUTCMonth()];
const dayAndYear = t => day(t) + ' ' + new Date(t).getUTCFullYear();
// Moments of a run have their day where it is not the only one.
const severalDays = dayAndYear(ms(0)) !== dayAndYear(ms(D.run.end_s || 0));
const stamp = t => (severalDays ? day(t) + ' ' : '') + hms(t);

function duration(seconds) {
    const s = Math.round(seconds), hours = Math.floor(s / 3600), minutes = Math.floor(s % 3600 / 60);
    if (hours) return hours + ' h ' + pad(minutes) + ' m';
    return minutes ? minutes + ' m ' + pad(s % 60) + ' s' : s + ' s';
}

// Tokens in the unit that fits the run's.
const [tokenScale, tokenUnit] = tokenUnitFor((D.headline || {}).tokens);
function tokenUnitFor(count) {
    if (count >= 1e9) return [1e-9, 'G'];
    return count >= 1e6 || !count ? [1e-6, 'M'] : [1e-3, 'k'];
}
const tokens = (x, d = 2) => x == null ? '–' : N(x * tokenScale, d) + '\u00a0' + tokenUnit;

function gramsOrKg(g) {
    if (g == null) return '–';
    return g >= 1000 ? N(g / 1000, 3) + ' kg' : N(g, g < 10 ? 1 : 0) + ' g';
}
// Carbon of energy whose intensity is known only in part is a least value.
const least = (kwh, unknown) => unknown > .005 * kwh ? '≥ ' : '';

// A number stays on the line of its unit.
const unbroken = t =>
    String(t).replace(/(\d) (?=(%|kWh|kW|kg|g|h|s|min|GB|G|M|k|ms)(?![A-Za-z]))/g, '$1\u00a0').replace(/ ± /g, '\u00a0±\u00a0');

// Plotly reads chart texts as markup.
const esc = t => String(t).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const short = s => esc(s.label.length > 20 ? s.label.slice(0, 19) + '…' : s.label);
