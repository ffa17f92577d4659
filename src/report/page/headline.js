try {
    (headline)()
} catch (e) {
    console.error(e);
    main.append(h('p', {class: 'empty'}, 'The summary could not be drawn from the data: ' + e.message + '.'))
}
function headline() {
    const R = D.run || {}, H = D.headline;
    $('brand').textContent = R.name || 'run';
    document.title = (R.name || 'Run') + ' · Curtail run report';
    const sec = h('section', {id: 'headline'});
    main.append(sec);
    nav.append(h('a', {href: '#headline'}, 'Summary'));
    const lede =
        h('div', {class: 'lede'}, h('p', {class: 'eyebrow'}, 'Curtail run report', R.source ? ' · ' + R.source : ''),
          h('h1', {}, R.title || R.name || 'Unnamed run', h('span', {class: 'pill'}, R.status || 'status unknown')));
    sec.append(lede);
    if (!H) {
        lede.append(h(
            'p', {class: 'sum'},
            'No work is committed yet: no site has trained, or its first round has not ended. Figures appear with the first commit that holds trained tokens.'));
        return
    }
    const B = H.baselines || [], AO = H.always_on || [], ra = AO.map(a => a.ratio).filter(x => x != null), lo = Math.min(...ra),
          hi = Math.max(...ra), base = AO.filter(a => a.kg != null && a.kwh > a.unknown_kwh).map(a => a.kg * 1000 / (a.kwh - (a.unknown_kwh || 0))),
          none = [['no baseline was run', '']],
          atLeast = H.co2_is_whole ? '' : 'at least ';
    lede.append(h(
        'p', {class: 'sum'}, R.model + ', ', sites.length + ' sites, ', H.rounds + ' rounds, ',
        dayy(ms(0)) + ' ' + hm(ms(0)) + ' to ' + day(ms(R.end_s)) + ' ' + hm(ms(R.end_s)) + ' UTC. Trained on ',
        h('b', {}, tokens(H.tokens) + '\u00a0tokens'),
        H.co2_kg == null ? [' with ', h('b', {}, N(H.energy_kwh, 2) + '\u00a0kWh'), '; its CO₂ is not known: ' + carbonUnknown()] :
                           [' for ', atLeast, h('b', {}, N(H.co2_kg, 3) + '\u00a0kg of\u00a0CO₂')],
        ra.length ? ', ' + N(lo * 100, 1) + '–' + N(hi * 100, 1) + '\u00a0% of one always-on site' : '',
        H.share == null ? '.' : [', with ', h('b', {}, pct(H.share)), ' of its energy drawn while renewable power was being curtailed.']));
    const max = Math.max(...AO.map(a => a.kg), H.co2_kg) || 1;
    const kg = (x, kwh, unknown) => x == null ? '–' : least(kwh, unknown) + N(x, 2) + ' kg';
    const bar = (w, c, extra) => h('i', {style: `width:${Math.max(w * 100, .4)}%;background:${c};${extra || ''}`});
    const co2 =
        h('div', {}, h('div', {class: 'big'}, least(H.energy_kwh, H.co2_kg == null ? 0 : H.kwh_unknown), N(H.co2_kg, 3), h('small', {}, 'kg CO₂'), fn('co2')), kindLine('co2'),
          h('p', {class: 'under'},
            H.co2_kg == null ?
                'Not known: ' + carbonUnknown() + '.' :
                (ra.length ? `${N((1 - hi) * 100)}–${N((1 - lo) * 100)} % less than always-on; ` :
                             'No comparison with always-on: ' + (D.missing.always_on || D.missing.ratio || 'none was computed') + '; ') +
                    `${N(H.mean_intensity, 1)} g/kWh on average` +
                    (base.length ? ` against ${N(Math.min(...base))}–${N(Math.max(...base))}` : '')),
          h('table', {class: 'bars t0'}, h('caption', {class: 'vh'}, 'CO2 of this run and of one always-on site in each region, kg'),
            h('tbody', {},
              h('tr', {}, h('td', {}, h('b', {}, 'This run')),
                h('td', {},
                  h('div', {class: 'hbx', title: sites.map(s => s.label + ' ' + N(H.co2_by_site[s.id], 3) + ' kg').join(', ')},
                    sites.map(s => H.co2_by_site[s.id] > 0 && bar(H.co2_by_site[s.id] / max, cvar(s))))),
                h('td', {}, h('b', {}, kg(H.co2_kg, H.energy_kwh, H.kwh_unknown)))),
              AO.map(
                  a =>
                      h('tr', {}, h('td', {}, 'Always on, ' + a.region),
                        h('td', {},
                          h('div', {class: 'hbx', title: a.region + ' ' + N(a.kg, 3) + ' kg'},
                            bar(a.kg / max, `color-mix(in srgb,${regionColor(a.region)} 38%,var(--bg))`))),
                        h('td', {}, kg(a.kg, a.kwh, a.unknown_kwh), h('span', {class: 'x'}, a.ratio > 0 ? N(1 / a.ratio, 1) + ' ×' : '–')))))));
    const cmp = (rows) => h('table', {}, h('tbody', {}, rows.map(r => h('tr', {}, r.map(x => h('td', {}, x))))));
    const tile = (t, k, v, u, ...rest) =>
        h('div', {class: 'tile'}, h('h3', {}, t, fn(k)), h('div', {class: 'v'}, v, h('small', {}, u)), kindLine(k), rest);
    const mini = (parts) =>
        h('div', {class: 'mini', 'aria-hidden': 'true'}, parts.map(([w, c]) => h('i', {style: `width:${w * 100}%;background:${c}`})));
    const rel = (a, b) => S((a / b - 1) * 100, Math.abs(a / b - 1) < .1 ? 1 : 0) + ' %';
    const shs = Object.values(H.share_baseline || {}).filter(x => x != null), W = x => N(x / 3600, 2) + ' h';
    const idle = D.energy && sum2(D.energy.kwh, k => k !== 'training');
    const energyRows = B.map(b => [b.label, N(b.kwh, 2) + ' kWh', rel(H.energy_kwh, b.kwh)]);
    if (idle != null) energyRows.push(['not training', N(idle, 2) + ' kWh', H.energy_kwh > 0 ? pct(idle / H.energy_kwh) : '']);
    const shareRows = [];
    if (shs.length) shareRows.push(['always on', N(Math.min(...shs) * 100) + '–' + N(Math.max(...shs) * 100) + ' %']);
    if (H.share_inside_windows != null) shareRows.push(['inside windows', pct(H.share_inside_windows)]);
    if (H.kwh_unknown > 0) shareRows.push(['signal unknown', N(H.kwh_unknown, 2) + ' kWh']);
    if (H.co2_kg > 0) shareRows.push(['above threshold', pct(H.co2_outside_kg / H.co2_kg, 0) + ' of CO₂']);
    const one = D.comparison.find(c => c.id.startsWith('one'));
    const wallRows = B.length ? B.map(b => [b.label, W(b.wall_s), rel(H.wall_s, b.wall_s)]) :
        one                   ? [['always on', W(one.wall_s), rel(H.wall_s, one.wall_s)]] :
                                none;
    if (FACTOR !== 1) wallRows.push(['in real time', dur(H.wall_s / FACTOR)]);
    const O = H.held_out, tail = x => 'loss ' + N((x.tail_loss || [])[0], 3), nats = x => N(x, 3) + ' nats';
    const learned = O ? tile('Held-out loss', 'ppl', N(O.loss, 3), 'nats', cmp([
                                 ['unigram entropy', nats(O.unigram_entropy)], [O.loss <= O.unigram_entropy ? 'below it by' : 'above it by', nats(Math.abs(O.unigram_entropy - O.loss))],
                                 ['training loss', nats((H.tail_loss || [])[0])],
                                 O.newer_commit == null ? ['of commit', N(O.commit)] : ['of commit', N(O.commit) + ', not ' + N(O.newer_commit)]
                             ])) :
                        tile(
                            'Perplexity, best smoothed', 'ppl', N(H.best_ppl, 2), tail(H),
                            cmp(B.length ? B.map(b => [b.label, N(b.best_ppl, 2), tail(b)]) : none));
    const bySite = sites.map(s => H.tokens_by_site[s.id]), tok = x => N(x * TOK[0], 2);
    const tokenRows = H.planned_tokens == null ? [] : [['planned', tokens(H.planned_tokens)]];
    tokenRows.push(
        sites.length > 4 ? ['smallest, largest', tok(Math.min(...bySite)) + ', ' + tok(Math.max(...bySite))] :
                           ['by site', bySite.map(tok).join(' + ')]);
    const tiles =
        h('div', {class: 'tiles'}, tile('Energy', 'energy', N(H.energy_kwh, 2), 'kWh', cmp(energyRows)),
          tile('Curtailed share of energy', 'share', N(times(H.share, 100), 1), '%', mini([[H.share || 0, 'var(--mid)']]), cmp(shareRows)),
          tile('Wall time', 'wall', N(H.wall_s / 3600, 2), 'h', cmp(wallRows)), learned,
          tile(
              'Tokens trained', 'tokens', tok(H.tokens), TOK[1], mini(sites.map(s => [H.tokens_by_site[s.id] / H.tokens, cvar(s)])),
              cmp(tokenRows)),
          tile('Goodput, of allocated time', 'goodput', N(times(H.goodput, 100), 1), '%', cmp([
                   ['training', N(H.training_h, 2) + ' of ' + N(H.allocated_h, 2) + ' h'],
                   ['rounds (joint)', H.rounds + ' (' + H.joint_rounds + ')']
               ])));
    sec.append(
        h('div', {class: 'head'}, co2, tiles),
        h('details', {id: 'provs'}, h('summary', {}, 'Where these figures come from (', PROV.map((p, i) => letter(p.key)).join(', '), ')'),
          h('ol', {class: 'prov'},
            PROV.map(
                p =>
                    h('li', {id: 'prov-' + p.key}, h('span', {}, letter(p.key)), h('b', {}, p.title),
                      h('span', {class: 'tag'}, (MARK[p.kind] || '○') + ' ' + p.kind), nb(p.text)))),
          h('p', {class: 'note'},
            '● measured or logged   ◐ derived from logged values   ○ modelled or estimated; tables mark such columns with ○.')),
        (D.notes || []).length ?
            h('p', {class: 'note'}, h('a', {href: '#notes'}, D.notes.length + ' notes on this data'), ' qualify these figures.') :
            '');
    sec.style.paddingBottom = '24px';
}
function sum2(o, f) {
    let s = 0;
    for (const a in o)
        for (const k in o[a])
            if (f(k)) s += o[a][k];
    return s
}
