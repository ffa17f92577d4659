// SPDX-License-Identifier: Apache-2.0
// The summary: a sentence, carbon beside always-on, tiles, and where the figures come from.

const NO_BASELINE = ['no baseline was run', ''];

try {
    headline();
} catch (e) {
    console.error(e);
    main.append(h('p', {class: 'empty'}, 'The summary could not be drawn from the data: ' + e.message + '.'));
}

function headline() {
    const run = D.run, H = D.headline;
    $('brand').textContent = run.name || 'run';
    document.title = (run.name || 'Run') + ' · Curtail run report';
    const section = h('section', {id: 'headline'});
    main.append(section);
    nav.append(h('a', {href: '#headline'}, 'Summary'));
    const lede =
        h('div', {class: 'lede'}, h('p', {class: 'eyebrow'}, 'Curtail run report', run.source ? ' · ' + run.source : ''),
          h('h1', {}, run.title || run.name || 'Unnamed run', h('span', {class: 'pill'}, run.status || 'status unknown')));
    section.append(lede);
    if (!H) {
        const why = 'No work is committed yet: no site has trained, or its first round has not ended. ' +
            'Figures appear with the first commit that holds trained tokens.';
        const drawn = D.totals ? ` So far ${N(D.totals.all.kwh, 2)}\u00a0kWh were drawn.` : '';
        lede.append(h('p', {class: 'sum'}, why + drawn));
        return;
    }
    lede.append(h('p', {class: 'sum'}, sentence(H)));
    section.append(h('div', {class: 'head'}, carbonBlock(H), tiles(H)), provenance());
    if (D.notes.length)
        section.append(
            h('p', {class: 'note'}, h('a', {href: '#notes'}, D.notes.length + ' notes on this data'), ' qualify these figures.'));
    section.style.paddingBottom = '24px';
}

// The scenarios' known shares, least and greatest; null where none is known.
function alwaysOnRatios(H) {
    const known = (H.always_on || []).map(a => a.ratio).filter(ratio => ratio != null);
    return known.length ? {least: Math.min(...known), greatest: Math.max(...known)} : null;
}

function sentence(H) {
    const moment = (t, date) => date(t) + ' ' + hm(t);
    const ratios = alwaysOnRatios(H);
    const carbon = H.co2_kg == null ?
        [' with ', h('b', {}, N(H.energy_kwh, 2) + '\u00a0kWh'), '; its CO₂ is not known: ' + carbonUnknown()] :
        [' for ', H.co2_is_whole ? '' : 'at least ', h('b', {}, N(H.co2_kg, 3) + '\u00a0kg of\u00a0CO₂')];
    const share =
        H.share == null ? '.' : [', with ', h('b', {}, pct(H.share)), ' of its energy drawn while renewable power was being curtailed.'];
    return [
        D.run.model + ', ',
        sites.length + ' sites, ',
        H.rounds + ' rounds, ',
        `${moment(ms(0), dayAndYear)} to ${moment(ms(D.run.end_s), day)} UTC. Trained on `,
        h('b', {}, tokens(H.tokens) + '\u00a0tokens'),
        carbon,
        ratios ? `, ${N(ratios.least * 100, 1)}–${N(ratios.greatest * 100, 1)}\u00a0% of one always-on site` : '',
        share,
    ];
}

function carbonBlock(H) {
    return h(
        'div', {},
        h('div', {class: 'big'}, least(H.energy_kwh, H.co2_kg == null ? 0 : H.kwh_unknown), N(H.co2_kg, 3), h('small', {}, 'kg CO₂'),
          sourceMark('co2')),
        kindLine('co2'), h('p', {class: 'under'}, carbonWords(H)), carbonBars(H));
}

function carbonWords(H) {
    if (H.co2_kg == null) return 'Not known: ' + carbonUnknown() + '.';
    const ratios = alwaysOnRatios(H);
    const why = D.missing.always_on || D.missing.ratio || 'none was computed';
    const less = ratios ? beside(ratios) : 'No comparison with always-on: ' + why;
    const known = (H.always_on || []).filter(a => a.kg != null && a.kwh > a.unknown_kwh);
    const intensities = known.map(a => a.kg * 1000 / (a.kwh - (a.unknown_kwh || 0)));
    const against = known.length ? ` against ${N(Math.min(...intensities))}–${N(Math.max(...intensities))}` : '';
    return `${less}; ${N(H.mean_intensity, 1)} g/kWh on average${against}`;
}

// A run may also emit more than always-on does.
function beside(ratios) {
    const off = ratio => N(Math.abs(1 - ratio) * 100);
    if (ratios.greatest <= 1) return `${off(ratios.greatest)}–${off(ratios.least)} % less than always-on`;
    if (ratios.least >= 1) return `${off(ratios.least)}–${off(ratios.greatest)} % more than always-on`;
    return `${off(ratios.least)} % less to ${off(ratios.greatest)} % more than always-on`;
}

// This run by site, and one always-on site in each region, on one scale.
function carbonBars(H) {
    const always = H.always_on || [];
    const greatest = Math.max(...always.map(a => a.kg), H.co2_kg) || 1;
    const bar = (kg, color) => h('i', {style: `width:${Math.max(kg / greatest * 100, .4)}%;background:${color};`});
    const text = (kg, kwh, unknown) => kg == null ? '–' : least(kwh, unknown) + N(kg, 2) + ' kg';
    const row = (name, title, bars, ...value) =>
        h('tr', {}, h('td', {}, name), h('td', {}, h('div', {class: 'hbx', title}, bars)), h('td', {}, value));
    const bySite = sites.map(s => s.label + ' ' + N(H.co2_by_site[s.id], 3) + ' kg').join(', ');
    const parts = sites.map(s => H.co2_by_site[s.id] > 0 && bar(H.co2_by_site[s.id], siteColor(s)));
    const inRegion = a => {
        const color = `color-mix(in srgb,${regionColor(a.region)} 38%,var(--bg))`;
        const factor = a.ratio > 0 ? N(1 / a.ratio, 1) + ' ×' : '–';
        return row(
            'Always on, ' + a.region, a.region + ' ' + N(a.kg, 3) + ' kg', bar(a.kg, color), text(a.kg, a.kwh, a.unknown_kwh),
            h('span', {class: 'x'}, factor));
    };
    return h(
        'table', {class: 'bars t0'}, h('caption', {class: 'vh'}, 'CO2 of this run and of one always-on site in each region, kg'),
        h('tbody', {}, row(h('b', {}, 'This run'), bySite, parts, h('b', {}, text(H.co2_kg, H.energy_kwh, H.kwh_unknown))),
          always.map(inRegion)));
}

function tiles(H) {
    return h('div', {class: 'tiles'}, energyTile(H), shareTile(H), wallTile(H), learnedTile(H), tokensTile(H), goodputTile(H));
}

// `key` names the provenance; `rows` of cells stand below the value; `strip` of [share, colour] above them.
function tile({title, key, value, unit, strip, rows}) {
    const part = ([share, color]) => h('i', {style: `width:${share * 100}%;background:${color}`});
    return h(
        'div', {class: 'tile'}, h('h3', {}, title, sourceMark(key)), h('div', {class: 'v'}, value, h('small', {}, unit)), kindLine(key),
        strip && h('div', {class: 'mini', 'aria-hidden': 'true'}, strip.map(part)),
        h('table', {}, h('tbody', {}, rows.map(row => h('tr', {}, row.map(cell => h('td', {}, cell)))))));
}

function relative(a, b) { return a == null ? '–' : S((a / b - 1) * 100, Math.abs(a / b - 1) < .1 ? 1 : 0) + ' %'; }

function energyTile(H) {
    const rows = (H.baselines || []).map(b => [b.label, N(b.kwh, 2) + ' kWh', relative(H.energy_kwh, b.kwh)]);
    if (D.energy) {
        const idle = energyNotTraining();
        rows.push(['not training', N(idle, 2) + ' kWh', H.energy_kwh > 0 ? pct(idle / H.energy_kwh) : '']);
    }
    return tile({title: 'Energy', key: 'energy', value: N(H.energy_kwh, 2), unit: 'kWh', rows});
}

function energyNotTraining() {
    let kwh = 0;
    for (const states of Object.values(D.energy.kwh))
        for (const state in states)
            if (state !== 'training') kwh += states[state];
    return kwh;
}

function shareTile(H) {
    const always = Object.values(H.share_baseline || {}).filter(share => share != null);
    const rows = [];
    if (always.length) rows.push(['always on', N(Math.min(...always) * 100) + '–' + N(Math.max(...always) * 100) + ' %']);
    if (H.share_inside_windows != null) rows.push(['inside windows', pct(H.share_inside_windows)]);
    if (H.kwh_unknown > 0) rows.push(['signal unknown', N(H.kwh_unknown, 2) + ' kWh']);
    if (H.co2_kg > 0) rows.push(['above threshold', pct(H.co2_outside_kg / H.co2_kg, 0) + ' of CO₂']);
    const strip = [[H.share || 0, 'var(--mid)']];
    return tile({title: 'Curtailed share of energy', key: 'share', value: N(times(H.share, 100), 1), unit: '%', strip, rows});
}

function wallTile(H) {
    const one = D.comparison.find(c => c.id.startsWith('one'));
    const against = (name, wall_s) => [name, N(wall_s / 3600, 2) + ' h', relative(H.wall_s, wall_s)];
    const baselines = (H.baselines || []).map(b => against(b.label, b.wall_s));
    if (!baselines.length && one) baselines.push(against('always on', one.wall_s));
    const rows = baselines.length ? baselines : [NO_BASELINE];
    if (FACTOR !== 1) rows.push(['in real time', H.wall_s == null ? '–' : duration(H.wall_s / FACTOR)]);
    return tile({title: 'Wall time', key: 'wall', value: N(times(H.wall_s, 1 / 3600), 2), unit: 'h', rows});
}

// Held-out loss where it was evaluated, else perplexity of the training loss.
function learnedTile(H) {
    const held = H.held_out;
    if (!held) {
        const tail = x => 'loss ' + N((x.tail_loss || [])[0], 3);
        const baselines = (H.baselines || []).map(b => [b.label, N(b.best_ppl, 2), tail(b)]);
        const rows = baselines.length ? baselines : [NO_BASELINE];
        return tile({title: 'Perplexity, best smoothed', key: 'ppl', value: N(H.best_ppl, 2), unit: tail(H), rows});
    }
    const nats = x => N(x, 3) + ' nats';
    const side = held.loss <= held.unigram_entropy ? 'below it by' : 'above it by';
    const newer = held.newer_commit == null ? '' : ', not ' + N(held.newer_commit);
    const rows = [
        ['unigram entropy', nats(held.unigram_entropy)],
        [side, nats(Math.abs(held.unigram_entropy - held.loss))],
        ['training loss', nats((H.tail_loss || [])[0])],
        ['of commit', N(held.commit) + newer],
    ];
    return tile({title: 'Held-out loss', key: 'ppl', value: N(held.loss, 3), unit: 'nats', rows});
}

function tokensTile(H) {
    const bySite = sites.map(s => H.tokens_by_site[s.id]);
    const text = count => N(count * tokenScale, 2);
    const rows = H.planned_tokens == null ? [] : [['planned', tokens(H.planned_tokens)]];
    if (sites.length > 4) rows.push(['smallest, largest', text(Math.min(...bySite)) + ', ' + text(Math.max(...bySite))]);
    else rows.push(['by site', bySite.map(text).join(' + ')]);
    const strip = sites.map(s => [H.tokens_by_site[s.id] / H.tokens, siteColor(s)]);
    return tile({title: 'Tokens trained', key: 'tokens', value: text(H.tokens), unit: tokenUnit, strip, rows});
}

function goodputTile(H) {
    const rows = [
        ['training', N(H.training_h, 2) + ' of ' + N(H.allocated_h, 2) + ' h'],
        ['rounds (joint)', H.rounds + ' (' + H.joint_rounds + ')'],
    ];
    return tile({title: 'Goodput, of allocated time', key: 'goodput', value: N(times(H.goodput, 100), 1), unit: '%', rows});
}

function provenance() {
    const entry = p => h('li', {id: 'prov-' + p.key}, h('span', {}, letter(p.key)), h('b', {}, p.title), kindTag(p), unbroken(p.text));
    const legend = '● measured or logged   ◐ derived from logged values   ○ modelled or estimated; tables mark such columns with ○.';
    return h(
        'details', {id: 'provs'}, h('summary', {}, 'Where these figures come from (', PROV.map(p => letter(p.key)).join(', '), ')'),
        h('ol', {class: 'prov'}, PROV.map(entry)), h('p', {class: 'note'}, legend));
}
