panel(
    'time', 3, 'Where the time went', 'How much of each site\'s time made tokens?',
    !D.hours || !Object.keys(D.hours).length ? 'No site has been provisioned yet.' : null, (body, ctl) => {
        const HS = D.hours, tot = s => Object.values(HS[s]).reduce((a, b) => a + b, 0),
              grp = (s, g) => Object.entries(HS[s]).reduce((a, [k, v]) => a + ((GROUP[k] || k) === g ? v : 0), 0),
              span = Math.max(...sites.map(s => tot(s.id)));
        const holder = h('div');
        ctl.append(seg('tmode', [['span', 'Share of the run'], ['alloc', 'Share of allocated time']], 'span', draw));
        body.append(
            h('ul', {class: 'legend'}, STATES.map(([k, t]) => h('li', {}, h('span', {class: 'sw st-' + k, style: '--c:var(--mid)'}), t))),
            holder);
        function draw(m) {
            holder.replaceChildren(
                h('table', {class: 'bars'}, h('caption', {class: 'vh'}, 'Share of time by state; values in the next table'),
                  h('tbody', {}, sites.map(s => {
                      const d = (m === 'span' ? span : D.allocated_h[s.id]) || 1;
                      return h(
                          'tr', {}, h('td', {}, dot(s), s.label),
                          h('td', {},
                            h('div', {class: 'stack', style: '--c:' + cvar(s)},
                              STATES.filter(q => m === 'span' || q[0] !== 'closed').map(([k, t]) => {
                                  const v = grp(s.id, k);
                                  return v > 0 && h('i', {
                                             class: 'st-' + k,
                                             style: `width:${v / d * 100}%`,
                                             title: `${s.label}, ${t}: ${N(v, 2)} h, ${pct(v / d)}`
                                         })
                              }))),
                          h('td', {}, h('b', {}, pct(D.allocated_h[s.id] > 0 ? (HS[s.id].training || 0) / D.allocated_h[s.id] : null)),
                            h('span', {class: 'gp'}, ' goodput')))
                  }))))
        }
        draw('span');
        const K = [
            ['training', 'Training', ''], ['provision', 'Provisioning', 'opening to devices'],
            ['starting', 'Starting', 'devices to first step'], ['exchange', 'Exchange', 'with other sites'],
            ['contribute', 'Contribute + wait', 'last step to round end'], ['merge', 'Merge', ''],
            ['adopt', 'Adopt + restart', 'to next first step'], ['draining', 'Draining', ''], ['idle', 'Idle', 'devices held']
        ].filter(([k]) => k === 'training' || sites.some(s => HS[s.id][k] > 0));
        const row = (name, get, al, cl, cls) =>
            h('tr', {class: cls}, h('td', {class: 'l'}, name), K.map(([k]) => {
                const v = get(k);
                return h('td', {class: v ? null : 'z'}, v ? N(v, 2) : '0')
            }),
              h('td', {}, N(al, 2)), h('td', {}, N(cl, 2)), h('td', {}, pct(al > 0 ? get('training') / al : null)));
        body.append(
            h('div', {class: 'scroll'},
              h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Hours by site and state'),
                h('thead', {},
                  h('tr', {}, h('th', {class: 'l', scope: 'col'}, 'Hours'),
                    K.map(([k, t, u]) => h('th', {scope: 'col'}, t, h('span', {class: 'u'}, u || '\u00a0'))),
                    ['Allocated', 'Closed', 'Goodput'].map(
                        (t, i) => h('th', {scope: 'col'}, t, i == 2 ? fn('goodput') : null, h('span', {class: 'u'}, '\u00a0'))))),
                h('tbody', {}, sites.map(s => row([dot(s), s.label], k => HS[s.id][k] || 0, D.allocated_h[s.id], HS[s.id].closed))),
                h('tfoot', {},
                  row('All sites', k => sites.reduce((a, s) => a + (HS[s.id][k] || 0), 0),
                      sites.reduce((a, s) => a + D.allocated_h[s.id], 0), sites.reduce((a, s) => a + HS[s.id].closed, 0))))));
        const T = D.times, sp = x => x ? N(x.min, 1) + ' / ' + N(x.median, 1) + ' / ' + N(x.max, 1) : '–';
        if (T && sites.some(s => T[s.id] && (T[s.id].startup_s || T[s.id].drain_s)))
            body.append(table(
                'Starts and stops by site',
                [
                    ['Starts and stops', REAL + ': least / median / greatest', s => [dot(s), s.label], 'l'],
                    ['Window open to first step', '', s => sp(T[s.id].startup_s)], ['Windows', '', s => N((T[s.id].startup_s || {}).count)],
                    ['Stop request to exit', '', s => sp(T[s.id].drain_s)], ['Stops', '', s => N((T[s.id].drain_s || {}).count)]
                ],
                sites, {id: 'times'}));
        const edge = x => `${x.alone ? N(x.alone.max, 1) + ' ' + REAL : '–'} with no other site training, ${
            x.beside ? N(x.beside.max, 1) + ' ' + REAL : '–'} while another trained`;
        if (D.edges)
            body.append(h('p', {class: 'note'}, `Longest start: ${edge(D.edges.start_s)}. Longest stop: ${edge(D.edges.stop_s)}.`));
        const r = D.round_summary;
        body.append(
            h('p', {class: 'note'},
              (D.missing && D.missing.transfer ? D.missing.transfer + ' ' : '') +
                  (r ? `A joint round takes ${N(r.duration_s, 1)} ${REAL} from its start to its merge (median of ${N(r.joint)}): ${
                           N(r.before_s,
                             1)} s before the first step, ${N(r.train_s, 1)} s of training, ${N(r.after_s, 1)} s after the last step, ${
                           N(r.merge_s, 1)} s of merging. ${pct(1 - r.train_s / r.duration_s)} of it makes no tokens.` :
                       '')));
    });
