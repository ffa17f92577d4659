// SPDX-License-Identifier: Apache-2.0
panel('events', 7, 'Events', 'What happened, in order?', whyNoEvents(), body => {
    const filter = {text: '', site: '', types: new Set(), most: 500};
    const list = h('tbody'), count = h('span', {class: 'count', 'aria-live': 'polite'});
    const rows = D.events.map(e => ({e, text: eventText(e)}));
    const show = () => showEvents(rows, filter, list, count, show);
    body.append(eventFilters(filter, count, show), eventTable(list));
    if (D.events_left_out) body.append(leftOutNote());
    show();
});

function whyNoEvents() { return D.events.length ? null : 'The run has logged no event yet.'; }

// What the text filter looks into.
function eventText([, type, round, id, details]) {
    const words = [type, round == null ? '' : 'round ' + round, id || '', id ? label(id) : '', details];
    return words.join(' ').toLowerCase();
}

function eventRow([t, type, round, id, details]) {
    return h(
        'tr', {}, h('td', {class: 'l'}, stamp(ms(t))), h('td', {}, '+' + N(t, 1)), h('td', {class: 'l m'}, type),
        h('td', {}, round == null ? '' : round), h('td', {class: 'l'}, id ? [site[id] && dot(site[id]), label(id)] : ''),
        h('td', {class: 'l m', style: 'white-space:normal'}, details));
}

// Fills the table and the count. Each row is made when it is first shown.
function showEvents(rows, filter, list, count, again) {
    const matches = ({e: [, type, , id], text}) => (!filter.text || text.includes(filter.text)) && (!filter.site || id === filter.site) &&
        (!filter.types.size || filter.types.has(type));
    const found = rows.filter(matches);
    const line = content => h('tr', {}, h('td', {class: 'l', colspan: 6}, content));
    const showAll = () => {
        filter.most = Infinity;
        again();
    };
    list.replaceChildren(...found.slice(0, filter.most).map(row => row.tr = row.tr || eventRow(row.e)));
    if (found.length > filter.most) list.append(line(h('button', {class: 'btn', onclick: showAll}, 'Show all ' + N(found.length))));
    if (!found.length) list.append(line('No event matches this filter.'));
    count.textContent = found.length + ' of ' + rows.length + (D.events_left_out ? ', ' + N(D.events_left_out) + ' left out' : '');
}

// Controls that change `filter` and call `show`.
function eventFilters(filter, count, show) {
    const search = e => {
        filter.text = e.target.value.toLowerCase().trim();
        show();
    };
    const choose = e => {
        filter.site = e.target.value;
        show();
    };
    const types = new Map();
    for (const [, type] of D.events) types.set(type, (types.get(type) || 0) + 1);
    return h(
        'div', {class: 'filters'},
        h('input', {type: 'search', placeholder: 'Filter text', 'aria-label': 'Filter events by text', oninput: search}),
        h('select', {'aria-label': 'Filter events by site', onchange: choose}, h('option', {value: ''}, 'All sites'),
          sites.map(s => h('option', {value: s.id}, s.label))),
        [...types].map(([type, number]) => eventChip(type, number, filter, show)), count);
}

// Several pressed chips show the events of any of them.
function eventChip(type, number, filter, show) {
    const press = e => {
        const on = !filter.types.has(type);
        if (on) filter.types.add(type);
        else filter.types.delete(type);
        e.currentTarget.setAttribute('aria-pressed', String(on));
        show();
    };
    const name = type.toLowerCase().replace(/_/g, ' ');
    return h('button', {class: 'chip', 'aria-pressed': 'false', onclick: press}, name, h('span', {}, number));
}

function eventTable(list) {
    const columns = [
        ['UTC', 'l', severalDays ? 124 : 76],
        ['Elapsed, s', null, 96],
        ['Event', 'l', 190],
        ['Round', null, 64],
        ['Site', 'l', 140],
        ['Details', 'l'],
    ];
    const heading = ([title, cls, width]) =>
        h('th', {scope: 'col', class: cls, style: width && `width:${width}px;min-width:${width}px`}, title);
    return h(
        'div', {class: 'scroll tall', style: 'max-height:330px', tabindex: 0, role: 'region', 'aria-label': 'Events, scrollable'},
        h('table', {class: 't'}, h('caption', {class: 'vh'}, 'Events'), h('thead', {}, h('tr', {}, columns.map(heading))), list));
}

function leftOutNote() {
    const all = D.events.length + D.events_left_out;
    const where = 'in the middle are left out here, and stand in the run\'s events.jsonl files';
    return h('p', {class: 'note'}, `The run logged ${N(all)} events; ${N(D.events_left_out)} ${where}.`);
}
