// SPDX-License-Identifier: Apache-2.0
panel('rounds', 6, 'Rounds', 'Who contributed what to each commit, and what did it cost?', whyNoRounds(), body => {
    const noted = D.rounds.filter(k => k.note);
    const mark = k => k.note ? 'abcdefghijklmnopqrstuvwxyz'[noted.indexOf(k) % 26] : '';
    body.append(roundsTable(roundColumns(mark)));
    if (noted.length) body.append(roundNotes(noted, mark));
    body.append(roundTotals());
});

function whyNoRounds() {
    return D.rounds.length ? null : 'No round has ended yet: the first one ends when a lone site commits or two sites merge.';
}

// The longest training of a site, as a share of the round; null where none is known.
function trainedShare(k) {
    if (!(k.duration_s > 0) || !k.sites.some(part => part.train_s != null)) return null;
    return Math.max(...k.sites.map(part => part.train_s || 0)) / k.duration_s;
}

function roundWeights(k) {
    const percent = part => N(part.weight * 100, 1);
    const title = k.sites.map(part => `${label(part.site)} ${percent(part)} %, ${N(part.steps)} steps`).join('; ');
    const bar = part => h('i', {style: `width:${part.weight * 100}%;background:${siteColor(site[part.site])}`});
    return h(
        'span', {title}, h('span', {class: 'wbar'}, k.sites.map(bar)),
        h('span', {class: 'vh'}, k.sites.map(part => label(part.site)).join(', ')), ' ',
        h('span', {style: 'display:inline-block;min-width:6.2em;margin-left:8px'}, k.sites.map(percent).join(' : ')));
}

// Columns {key, title, unit, value to sort by, cell, cls}; those that nothing is known of are left out.
function roundColumns(mark) {
    const [scale, unit] = tokenUnit === 'G' ? [1e-6, 'M'] : [1e-3, 'k'];
    const gigabytes = D.missing.bytes ? ['GB ', h('span', {class: 'est', title: D.missing.bytes, 'aria-label': 'computed'}, '○')] : 'GB';
    const number = k => [N(k.number), h('sup', {class: 'fn', style: 'display:inline-block;width:.9em;text-align:left'}, mark(k))];
    const greatestWeight = k => Math.max(0, ...k.sites.map(part => part.weight));
    const column = (key, title, unit, cell, more) => ({key, title, unit, cell, value: k => k[key], ...more});
    const figure = (key, title, unit, digits) => column(key, title, unit, k => N(k[key], digits));
    const columns = [
        column('number', '#', '', number),
        column('start_s', 'Began', 'UTC', k => stamp(ms(k.start_s))),
        column('mode', 'Mode', '', k => k.mode, {cls: 'l'}),
        column('weight', 'Sites and weights', 'by tokens', roundWeights, {value: greatestWeight, cls: 'l'}),
        column('tokens', 'Tokens', unit, k => N(k.tokens * scale, 1)),
        figure('duration_s', 'Duration', REAL, 1),
        column('train', 'Training', '% of duration', k => N(times(trainedShare(k), 100), 1), {value: trainedShare}),
        figure('merge_s', 'Merge', REAL, 2),
        column('bytes', 'Moved', gigabytes, k => N(times(k.bytes, 1e-9), 2)),
        figure('delta_norm', 'Δ norm', 'per √token', 3),
        figure('loss', 'Loss', 'last 100 rows', 3),
        figure('kwh', 'Energy', markedUnit('kWh', 'energy'), 2),
        figure('gco2', 'CO₂', markedUnit('g', 'co2'), 1),
    ];
    const optional = ['bytes', 'delta_norm'];
    return columns.filter(c => !optional.includes(c.key) || D.rounds.some(k => k[c.key] != null));
}

// A table whose headings sort it; a second press turns the order around.
function roundsTable(columns) {
    const order = {column: columns[0], up: true}, list = h('tbody');
    const headings = columns.map(c => roundHeading(c, () => {
                                     order.up = order.column === c ? !order.up : true;
                                     order.column = c;
                                     show();
                                 }));
    let most = 500;
    const showAll = () => {
        most = Infinity;
        show();
    };
    const row = k => h('tr', {title: k.note || null}, columns.map(c => h('td', {class: c.cls || null}, c.cell(k))));
    const button = () => h('button', {class: 'btn', onclick: showAll}, 'Show all ' + N(D.rounds.length));
    const show = () => {
        list.replaceChildren(...sortedRounds(order).slice(0, most).map(row));
        if (D.rounds.length > most) list.append(h('tr', {}, h('td', {class: 'l', colspan: columns.length}, button())));
        columns.forEach((c, i) => showOrder(headings[i], c === order.column, order.up));
    };
    show();
    return h(
        'div', {class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': 'Rounds, scrollable'},
        h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Rounds, sortable'), h('thead', {}, h('tr', {}, headings)), list));
}

// The arrow stands on the side where it does not move the title.
function roundHeading(column, sort) {
    const arrow = h('span', {class: 'a', 'aria-hidden': 'true'});
    const space = column.key === 'number' && h('span', {style: 'display:inline-block;width:.75em'});
    const title = column.cls ? [column.title, arrow] : [arrow, column.title, space];
    return h(
        'th', {scope: 'col', class: column.cls}, h('button', {onclick: sort}, title), h('span', {class: 'u'}, column.unit || '\u00a0'));
}

function showOrder(heading, sorts, up) {
    if (sorts) heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    else heading.removeAttribute('aria-sort');
    const arrow = up ? '▲' : '▼';
    heading.querySelector('.a').textContent = sorts ? arrow : '';
}

// Rounds without the value come last in both orders.
function sortedRounds({column, up}) {
    const compared = (a, b) => {
        const x = column.value(a), y = column.value(b);
        if ((x == null) !== (y == null)) return x == null ? 1 : -1;
        const ascending = x < y ? -1 : x > y ? 1 : a.number - b.number;
        return up ? ascending : -ascending;
    };
    return D.rounds.slice().sort(compared);
}

function roundNotes(noted, mark) {
    const note = (k, i) => [i ? '; ' : '', h('sup', {class: 'fn'}, mark(k)), ' round ' + k.number + ': ' + k.note];
    return h('p', {class: 'note'}, noted.map(note), '.');
}

function roundTotals() {
    const total = key => D.rounds.reduce((t, k) => t + (k[key] || 0), 0);
    const someKnow = key => D.rounds.some(k => k[key] != null), allKnow = key => D.rounds.every(k => k[key] != null);
    const words = [
        tokens(total('tokens'), 3) + ' tokens',
        someKnow('bytes') && N(total('bytes') / 1e9, 1) + ' GB moved',
        someKnow('merge_s') && N(total('merge_s'), 1) + ' ' + REAL + ' merging',
        N(total('kwh'), 2) + ' kWh',
        allKnow('gco2') && N(total('gco2'), 1) + ' g',
    ];
    const missing = [
        D.missing.bytes && 'Bytes: ' + D.missing.bytes + '.',
        D.missing.delta_norm && 'Δ norm: ' + D.missing.delta_norm + '.',
    ];
    const sum = `${N(D.rounds.length)} rounds: ${words.filter(Boolean).join(', ')}.`;
    return h('p', {class: 'note'}, unbroken(sum + ' ' + missing.filter(Boolean).join(' ')));
}
