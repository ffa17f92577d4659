panel('events', 7, 'Events', 'What happened, in order?', !(D.events || []).length ? 'The run has logged no event yet.' : null, (body) => {
    const types = {}, f = {q: '', site: '', on: new Set(), max: 500};
    for (const e of D.events) types[e[1]] = (types[e[1]] || 0) + 1;
    const tb = h('tbody'), cnt = h('span', {class: 'count', 'aria-live': 'polite'});
    const row = e =>
              h('tr', {}, h('td', {class: 'l'}, stamp(ms(e[0]))), h('td', {}, '+' + N(e[0], 1)), h('td', {class: 'l m'}, e[1]),
                h('td', {}, e[2] == null ? '' : e[2]), h('td', {class: 'l'}, e[3] ? [site[e[3]] && dot(site[e[3]]), label(e[3])] : ''),
                h('td', {class: 'l m', style: 'white-space:normal'}, e[4])),
          rows = D.events.map(e => ({
                                  e,
                                  text: (e[1] + ' ' + (e[2] == null ? '' : 'round ' + e[2]) + ' ' + (e[3] || '') + ' ' +
                                         (e[3] ? label(e[3]) : '') + ' ' + e[4])
                                            .toLowerCase()
                              }));
    const go = () => {
        const s = rows.filter(r => (!f.q || r.text.includes(f.q)) && (!f.site || r.e[3] === f.site) && (!f.on.size || f.on.has(r.e[1])));
        tb.replaceChildren(...s.slice(0, f.max).map(r => r.tr || (r.tr = row(r.e))));
        if (s.length > f.max)
            tb.append(
                h('tr', {},
                  h('td', {class: 'l', colspan: 6},
                    h('button', {
                        class: 'btn',
                        onclick: () => {
                            f.max = 1e9;
                            go()
                        }
                    },
                      'Show all ' + N(s.length)))));
        if (!s.length) tb.append(h('tr', {}, h('td', {class: 'l', colspan: 6}, 'No event matches this filter.')));
        cnt.textContent = s.length + ' of ' + rows.length + (D.events_left_out ? ', ' + N(D.events_left_out) + ' left out' : '')
    };
    const chip = type => {
        const press = e => {
            const on = !f.on.has(type);
            on ? f.on.add(type) : f.on.delete(type);
            e.currentTarget.setAttribute('aria-pressed', String(on));
            go();
        };
        return h(
            'button', {class: 'chip', 'aria-pressed': 'false', onclick: press}, type.toLowerCase().replace(/_/g, ' '),
            h('span', {}, types[type]));
    };
    const search = e => {
        f.q = e.target.value.toLowerCase().trim();
        go();
    };
    const choose = e => {
        f.site = e.target.value;
        go();
    };
    const heads = [
        ['UTC', 'l', multi ? 124 : 76], ['Elapsed, s', null, 96], ['Event', 'l', 190], ['Round', null, 64], ['Site', 'l', 140],
        ['Details', 'l']
    ];
    const head = heads.map(([t, c, w]) => h('th', {scope: 'col', class: c, style: w && `width:${w}px;min-width:${w}px`}, t));
    body.append(
        h('div', {class: 'filters'},
          h('input', {type: 'search', placeholder: 'Filter text', 'aria-label': 'Filter events by text', oninput: search}),
          h('select', {'aria-label': 'Filter events by site', onchange: choose}, h('option', {value: ''}, 'All sites'),
            sites.map(s => h('option', {value: s.id}, s.label))),
          Object.keys(types).map(chip), cnt),
        h('div', {class: 'scroll tall', style: 'max-height:330px', tabindex: 0, role: 'region', 'aria-label': 'Events, scrollable'},
          h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Events'), h('thead', {}, h('tr', {}, head)), tb)));
    if (D.events_left_out)
        body.append(
            h('p', {class: 'note'},
              `The run logged ${N(rows.length + D.events_left_out)} events; ${
                  N(D.events_left_out)} in the middle are left out here, and stand in the run's events.jsonl files.`));
    go();
});
