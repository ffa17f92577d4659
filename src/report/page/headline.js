// SPDX-License-Identifier: Apache-2.0
// The summary: a sentence, carbon next to always-on, tiles, and where the figures come from.
import {powerLines} from './audit.js';
import {
    alwaysOnAtSites,
    commonValue,
    data,
    jointRateMark,
    jointRateNote,
    sites,
    whyCarbonUnknown
} from './data.js';
import {byId, caption, h, main, nav, note, regionColor, siteColor} from './elements.js';
import {
    boundMark,
    counted,
    dayMonth,
    dayMonthYear,
    hourMinute,
    keepUnits,
    number,
    percent,
    rangeText,
    timeOf,
    tokenCount
} from './format.js';
import {nowBox} from './now.js';
import {kindLine, provenanceList, sourceMark} from './provenance.js';
import {tiles} from './tiles.js';

export function addHeadline() {
    try {
        buildHeadline();
    } catch (e) {
        console.error(e);
        const message = 'Cannot draw the summary from the data (' + e.message + ').';
        main.append(h('p', {class: 'empty'}, message));
    }
}

function buildHeadline() {
    const {run, headline} = data;
    byId('brand').textContent = run.name || 'run';
    document.title = (run.name || 'Run') + ' · Curtail run report';
    const lede = h('div', {class: 'lede'}, eyebrow(), title());
    const section = h('section', {id: 'headline'}, lede);
    main.append(section);
    nav.append(h('a', {href: '#headline'}, 'Summary'));
    lede.append(h('p', {class: 'sum'}, headline ? sentence(headline) : whyNoFigures()));
    if (data.now) lede.append(nowBox(data.now));
    if (!headline) return;
    const figures = h('div', {class: 'head'}, carbonBlock(headline), tiles(headline));
    section.append(figures, provenanceList());
    if (data.notes.length) section.append(linkToNotes());
    section.style.paddingBottom = '24px';
}

function eyebrow() {
    const source = data.run.source ? ' · ' + data.run.source : '';
    return h('p', {class: 'eyebrow'}, 'Curtail run report', source);
}

function title() {
    const {run} = data;
    const status = h('span', {class: 'pill'}, run.status || 'status unknown');
    return h('h1', {}, run.title || run.name || 'Unnamed run', status);
}

function whyNoFigures() {
    const why = 'No work is committed yet: either no site has trained, or its first round ' +
        'has not ended. Figures appear with the first commit that contains trained tokens.';
    const kwh = data.totals ? number(data.totals.all.kwh, 2) : null;
    return why + (kwh ? ` So far, the sites have drawn ${kwh}\u00a0kWh.` : '');
}

function linkToNotes() {
    const link = h('a', {href: '#notes'}, counted(data.notes.length, 'note') + ' on this data');
    return note(
        link, data.notes.length === 1 ? ' qualifies these figures.' : ' qualify these figures.');
}

// The least and the greatest known ratio to always-on in a region of the run's sites; null where
// none is known.
function alwaysOnRatios(headline) {
    const known = alwaysOnAtSites(headline).map(a => a.ratio).filter(ratio => ratio != null);
    return known.length ? {least: Math.min(...known), greatest: Math.max(...known)} : null;
}

function sentence(headline) {
    const bold = text => h('b', {}, text);
    const at = (s, date) => date(timeOf(s)) + ' ' + hourMinute(timeOf(s));
    const ratios = alwaysOnRatios(headline);
    const range = ratios && rangeText(ratios.least * 100, ratios.greatest * 100, 1);
    return [
        data.run.model + ', ',
        counted(sites.length, 'site') + ', ',
        headline.rounds + ' rounds, ',
        `${at(0, dayMonthYear)} to ${at(data.run.end_s, dayMonth)} UTC. Trained on `,
        bold(tokenCount(headline.tokens) + '\u00a0tokens'),
        carbonInSentence(headline, bold),
        ratios ? `, ${range}\u00a0% of one site always on in the run\'s regions` : '',
        shareInSentence(headline, bold),
    ];
}

function carbonInSentence(headline, bold) {
    if (headline.co2_kg == null) {
        const kwh = bold(number(headline.energy_kwh, 2) + '\u00a0kWh');
        return [' with ', kwh, '; CO₂ is unknown: ' + whyCarbonUnknown()];
    }
    const kg = bold(number(headline.co2_kg, 3) + '\u00a0kg of\u00a0CO₂');
    return [' for ', headline.co2_is_whole ? '' : 'at least ', kg];
}

function shareInSentence(headline, bold) {
    if (headline.share == null) return '.';
    const threshold = commonValue('open_below', 'its site\'s threshold', 'g/kWh');
    const drawn = ` of its energy drawn at a marginal intensity below ${keepUnits(threshold)}.`;
    return [', with ', bold(percent(headline.share)), drawn];
}

function carbonBlock(headline) {
    const unknown = headline.co2_kg == null ? 0 : headline.kwh_unknown;
    const figure = [boundMark(headline.energy_kwh, unknown), number(headline.co2_kg, 3)];
    return h(
        'div', {}, h('div', {class: 'big'}, figure, h('small', {}, 'kg CO₂'), sourceMark('co2')),
        kindLine('co2'), powerLines(), h('p', {class: 'under'}, carbonText(headline)),
        carbonBars(headline), jointRateNote() && note(jointRateNote()));
}

function carbonText(headline) {
    if (headline.co2_kg == null) return 'Unknown: ' + whyCarbonUnknown() + '.';
    const ratios = alwaysOnRatios(headline);
    const why = data.missing.always_on || data.missing.ratio || 'none was computed';
    const compared = ratios ? comparedText(ratios) : 'No comparison with always-on: ' + why;
    const mean = number(headline.mean_intensity, 1);
    return `${compared}; ${mean} g/kWh on average${alwaysOnIntensities(headline)}`;
}

function alwaysOnIntensities(headline) {
    const known = alwaysOnAtSites(headline).filter(a => a.kg != null && a.kwh > a.unknown_kwh);
    if (!known.length) return '';
    const intensities = known.map(a => a.kg * 1000 / (a.kwh - (a.unknown_kwh || 0)));
    return ` against ${rangeText(Math.min(...intensities), Math.max(...intensities))}`;
}

// A run can also emit more than always-on.
function comparedText({least, greatest}) {
    const off = ratio => number(Math.abs(1 - ratio) * 100);
    const range = (from, to) => off(from) === off(to) ? off(from) : off(from) + '–' + off(to);
    const where = 'than always-on in the run\'s regions';
    if (greatest <= 1) return `${range(greatest, least)} % less ${where}`;
    if (least >= 1) return `${range(least, greatest)} % more ${where}`;
    return `${off(least)} % less to ${off(greatest)} % more ${where}`;
}

// This run by site, and one always-on site in each region, on one scale.
function carbonBars(headline) {
    const alwaysOn = headline.always_on || [];
    const greatest = Math.max(...alwaysOn.map(a => a.kg), headline.co2_kg) || 1;
    const title = 'CO2 of this run and of one always-on site in each region, kg';
    return h(
        'table', {class: 'bars t0'}, caption(title),
        h('tbody', {}, runBars(headline, greatest), alwaysOn.map(a => alwaysOnBar(a, greatest))));
}

function barRow(name, title, bars, ...value) {
    const box = h('div', {class: 'hbx', title}, bars);
    return h('tr', {}, h('td', {}, name), h('td', {}, box), h('td', {}, value));
}

function carbonBar(kg, greatest, color) {
    const width = Math.max(kg / greatest * 100, .4);
    return h('i', {style: `width:${width}%;background:${color};`});
}

const kgText = (kg, kwh, unknownKwh) =>
    kg == null ? '–' : boundMark(kwh, unknownKwh) + number(kg, 2) + ' kg';

function runBars(headline, greatest) {
    const kg = headline.co2_by_site;
    const title = sites.map(s => s.label + ' ' + number(kg[s.id], 3) + ' kg').join(', ');
    const bars = sites.map(s => kg[s.id] > 0 && carbonBar(kg[s.id], greatest, siteColor(s)));
    const value = kgText(headline.co2_kg, headline.energy_kwh, headline.kwh_unknown);
    return barRow(h('b', {}, 'This run'), title, bars, h('b', {}, value));
}

function alwaysOnBar(a, greatest) {
    const color = `color-mix(in srgb,${regionColor(a.region)} 38%,var(--bg))`;
    const factor = h('span', {class: 'x'}, a.ratio > 0 ? number(1 / a.ratio, 1) + ' ×' : '–');
    const site = a.elsewhere && [',', h('small', {}, ' as ' + a.as_site)];
    return barRow(
        ['Always on, ' + a.region, site, jointRateMark(a)],
        a.region + ' ' + number(a.kg, 3) + ' kg', carbonBar(a.kg, greatest, color),
        kgText(a.kg, a.kwh, a.unknown_kwh), factor);
}
