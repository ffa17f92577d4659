const D = JSON.parse(document.getElementById('curtail-data').textContent);
for (const k of ['sites', 'windows', 'rounds', 'events', 'facts', 'comparison', 'provenance', 'notes', 'decisions']) D[k] = D[k] || [];
for (const k of ['run', 'states', 'missing']) D[k] = D[k] || {};
const $ = id => document.getElementById(id), root = document.documentElement;
const N = (x, d = 0) => x == null || !isFinite(x) || x === '' ?
    '–' :
    x.toLocaleString('en-US', {minimumFractionDigits: d, maximumFractionDigits: d}).replace('-', '−');
const S = (x, d) => (x > 0 ? '+' : '') + N(x, d), times = (x, k) => x == null ? null : x * k,
      pct = (x, d = 1) => x == null ? '–' : N(x * 100, d) + ' %';
const T0 = D.run && D.run.time_zero ? Date.parse(D.run.time_zero) : 0, ms = s => T0 + s * 1000, pad = x => String(x).padStart(2, '0');
const MON = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const hm = t => {
    const d = new Date(t);
    return pad(d.getUTCHours()) + ':' + pad(d.getUTCMinutes())
}, hms = t => hm(t) + ':' + pad(new Date(t).getUTCSeconds());
const day = t => {
    const d = new Date(t);
    return d.getUTCDate() + ' ' + MON[d.getUTCMonth()]
}, dayy = t => day(t) + ' ' + new Date(t).getUTCFullYear();
const multi = D.run && dayy(ms(0)) !== dayy(ms(D.run.end_s || 0)), stamp = t => (multi ? day(t) + ' ' : '') + hms(t);
const nb = t =>
    String(t).replace(/(\d) (?=(%|kWh|kW|kg|g|h|s|min|GB|G|M|k|ms)(?![A-Za-z]))/g, '$1\u00a0').replace(/ ± /g, '\u00a0±\u00a0');
const dur = s => {
    s = Math.round(s);
    const h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60);
    return h ? h + ' h ' + pad(m) + ' m' : m ? m + ' m ' + pad(s % 60) + ' s' : s + ' s'
};
const TOTAL = (D.headline || {}).tokens || 0,
      TOK = TOTAL >= 1e9   ? [1e-9, 'G'] :
    TOTAL >= 1e6 || !TOTAL ? [1e-6, 'M'] :
                             [1e-3, 'k'],
      tokens = (x, d = 2) => x == null ? '–' : N(x * TOK[0], d) + '\u00a0' + TOK[1];
// A sum of which a part is not known is not known; a part that is not there is 0.
const sumOrNull = xs => xs.reduce((t, x) => t === null || x === null ? null : t + (x || 0), 0);
// Carbon of energy whose intensity is known only in part is a least value.
const least = (kwh, unknown) => unknown > .005 * kwh ? '≥ ' : '', carbonUnknown = () => D.missing.carbon || 'intensity is not known';
const SERIES = (D.signals || {}).series || {};
// What all sites have in common, else the words for what each has of its own.
const common = (key, own, unit, k = 1) => new Set(sites.map(s => s[key])).size === 1 ? sites[0][key] * k + ' ' + unit : own;
const FACTOR = D.run.clock_factor || 1, REAL = FACTOR === 1 ? 's' : 'real s', finished = ['finished', 'complete'].includes(D.run.status);
const gramsOrKg = g => g == null ? '–' : g >= 1000 ? N(g / 1000, 3) + ' kg' : N(g, g < 10 ? 1 : 0) + ' g';
function h(tag, at, ...kids) {
    const e = document.createElement(tag);
    for (const k in at || {}) {
        const v = at[k];
        if (v == null || v === false) continue;
        if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
        else e.setAttribute(k, v === true ? '' : v)
    }
    for (const k of kids.flat(9))
        if (k != null && k !== false) e.append(k.nodeType ? k : String(k));
    return e
}
const add = (e, ...k) => e.append(...k.flat(9).filter(x => x != null && x !== false));
const css = v => getComputedStyle(root).getPropertyValue(v).trim();
const rgba = (hex, a) => {
    const n = parseInt(hex.slice(1), 16);
    return `rgba(${n >> 16},${n >> 8 & 255},${n & 255},${a})`
};
const sites = D.sites || [], site = Object.fromEntries(sites.map(s => [s.id, s])), cvar = s => `var(--s${s.color % 8})`,
      col = s => css('--s' + s.color % 8);
const label = id => site[id] ? site[id].label : id, regionColor = reg => {
    const s = sites.find(s => s.region === reg);
    return s ? cvar(s) : 'var(--faint)'
};
const esc = t => String(t).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;'),
      short = s => esc(s.label.length > 20 ? s.label.slice(0, 19) + '…' : s.label);  // chart texts are parsed as markup by plotly
const dot = s => h('span', {class: 'dot', style: 'background:' + cvar(s), 'aria-hidden': 'true'});
const PROV = D.provenance || [], letter = k => 'abcdefghijklmnopqrstuvwxyz'[PROV.findIndex(p => p.key === k)];
const fn = k =>
    letter(k) && h('sup', {class: 'fn'}, h('a', {href: '#prov-' + k, 'data-prov': k, 'aria-label': 'provenance ' + letter(k)}, letter(k)));
const MARK = {
    measured: '●',
    logged: '●',
    derived: '◐',
    modelled: '○',
    estimated: '○'
},
      prov = k => PROV.find(p => p.key === k), est = (u, k) => {
          const p = prov(k);
          return p && MARK[p.kind] === '○' ?
              [u, ' ', h('span', {class: 'est', title: p.kind + ': ' + p.source, 'aria-label': p.kind}, '○')] :
              u
      };
const kindTag = p => h('span', {class: 'tag'}, (MARK[p.kind] || '○') + ' ' + p.kind);
const kindLine = k => {
    const p = prov(k);
    return p &&
        h('p', {class: 'kind'}, h('i', {'aria-hidden': 'true'}, MARK[p.kind] || '○'), ' ', p.kind + ': ' + (p.source || 'see below'))
};
const STATES = [
    ['training', 'training'], ['starting', 'starting'], ['exchange', 'round exchange'], ['draining', 'draining'],
    ['idle', 'idle, devices held'], ['closed', 'closed']
];
const GROUP = {
    provision: 'starting',
    starting: 'starting',
    training: 'training',
    exchange: 'exchange',
    contribute: 'exchange',
    merge: 'exchange',
    adopt: 'exchange',
    draining: 'draining',
    idle: 'idle'
};
const DETAIL = {
    provision: 'provisioning',
    starting: 'starting',
    training: 'training',
    exchange: 'exchanging with other sites',
    contribute: 'contributing, waiting for the merge',
    merge: 'merging',
    adopt: 'adopting the new base, restarting',
    draining: 'draining',
    idle: 'idle, provisioned'
};
const seg = (name, opts, cur, on) =>
    h('fieldset', {class: 'seg'}, h('legend', {class: 'vh'}, name),
      opts.map(
          ([v, t]) =>
              [h('input', {type: 'radio', name, id: name + v, value: v, checked: v === cur, onchange: () => on(v)}),
               h('label', {'for': name + v}, t)]));

const main = $('main'), nav = $('nav'), SHORT = {
    time: 'Time',
    energy: 'Energy',
    compare: 'Comparison',
    facts: 'Facts',
    notes: 'Notes'
};
function panel(id, n, title, question, why, build) {
    const body = h('div'), ctl = h('div', {class: 'ctl'}),
          sec = h(
              'section', {class: 'panel', id, 'aria-labelledby': id + '-h'},
              h('header', {}, h('h2', {id: id + '-h'}, n && h('span', {class: 'n'}, n), title), h('p', {class: 'q'}, question), ctl), body);
    main.append(sec);
    nav.append(h('a', {href: '#' + id}, SHORT[id] || title));
    if (why) {
        body.append(h('p', {class: 'empty'}, why));
        return
    }
    try {
        build(body, ctl)
    } catch (e) {
        console.error(e);
        body.replaceChildren(
            h('p', {class: 'empty'},
              'This panel could not be drawn from the data: ' + e.message +
                  '. The data itself is in the page\'s source, element curtail-data.'))
    }
}

// A table of columns [title, unit, cell(row), class] and rows. o: id, wrap (class of the scrolling box), rowClass(row).
function table(caption, columns, rows, o = {}) {
    const head =
        columns.map(([title, unit, , cls]) => h('th', {scope: 'col', class: cls}, title, h('span', {class: 'u'}, unit || '\u00a0')));
    const body =
        rows.map(r => h('tr', {class: o.rowClass && o.rowClass(r)}, columns.map(([, , cell, cls]) => h('td', {class: cls}, cell(r)))));
    return h(
        'div', {class: 'scroll ' + (o.wrap || ''), tabindex: o.wrap ? 0 : null, style: 'margin-top:10px'},
        h('table', {class: 't ' + (o.cls || ''), id: o.id}, h('caption', {class: 'vh'}, caption), h('thead', {}, h('tr', {}, head)),
          h('tbody', {}, body)));
}
