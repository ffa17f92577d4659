// SPDX-License-Identifier: Apache-2.0
// The charts of cumulative energy and carbon: the sites' shares stacked, always-on as lines.

// What a chart shows: `key` of the series, in thousandths of what is drawn.
const ENERGY = {
    key: 'wh',
    name: 'energy',
    digits: 2
},
      CARBON = {
          key: 'g',
          name: 'CO2',
          digits: 3
      };

// `shown`: {alwaysOn}, read at each drawing.
function energyChart(where, quantity, shown) {
    const alt = 'Cumulative ' + quantity.name + ' by site; totals in the table below.';
    return chart(where, 250, alt, gd => energyFigure(gd, quantity, shown), true);
}

function energyFigure(gd, quantity, shown) {
    const f = energyFrame(gd, quantity);
    const parts = addSiteStack(f);
    const total = parts.reduce((t, part) => t + part.value, 0);
    const lines = shown.alwaysOn ? addAlwaysOn(f) : [];
    const greatest = Math.max(total, ...lines.map(line => line.last)) || 1;
    f.layout.yaxis = axis({range: [0, greatest * 1.08], nticks: 5});
    if (quantity === CARBON) shadeClosingDelays(f);
    if (!f.slim) addAlwaysOnLabels(f, lines, greatest);
    f.layout.shapes.push(verticalLine(f.end, {color: css('--rule'), width: 1}));
    addTotal(f, total);
    if (!shown.alwaysOn) addPartLabels(f, parts, total);
    if (f.unknown.length) addUnknown(f);
    f.layout.annotations.push(zone(f.slim));
    return {data: f.data, layout: f.layout};
}

// The empty figure, and what its parts share: `slim` for a narrow page, the end of the record, `unknown` sites of which there is no series.
function energyFrame(gd, quantity) {
    const slim = narrow();
    const lay = layout({margin: {l: slim ? 36 : 50, r: slim ? 6 : 108, t: 8, b: 40}, hovermode: false, shapes: [], annotations: []});
    lay.xaxis = timeAxis({nticks: fit(gd, 156)});
    const unknown = sites.filter(s => !D.energy.cumulative.sites[s.id][quantity.key]);
    return {slim, quantity, unknown, end: ms(D.run.end_s), data: [], layout: lay};
}

// Answers each site's part: {site, from, value}.
function addSiteStack(f) {
    const C = D.energy.cumulative;
    const points = C.sites[sites[0].id].wh.length;
    const x = Array.from({length: points}, (_, i) => ms(Math.min(i * C.step_s, D.run.end_s)));
    const parts = [];
    let from = 0;
    for (const s of sites.filter(s => !f.unknown.includes(s))) {
        const y = C.sites[s.id][f.quantity.key].map(v => v / 1000), value = y[y.length - 1];
        f.data.push({
            type: 'scatter',
            mode: 'lines',
            stackgroup: 'a',
            x,
            y,
            line: {width: value > 0 ? 1.2 : 0, color: siteColorNow(s)},
            fillcolor: rgba(siteColorNow(s), .42),
            hoverinfo: 'skip'
        });
        parts.push({site: s, from, value});
        from += value;
    }
    return parts;
}

// Always-on emits as its region does, and draws what its site does: one line where that is the same everywhere.
// Answers each line: {text, last, atRight}.
function addAlwaysOn(f) {
    const C = D.energy.cumulative.always_on, series = C[f.quantity.key];
    const right = sinceZero(visibleRange()[1]);
    const line = (region, text, color) => {
        const start = C.start_s[region], y = series[region].map(v => v / 1000), x = y.map((_, i) => ms(start + i * C.step_s));
        f.data.push({type: 'scatter', mode: 'lines', x, y, line: {color, width: 1.5, dash: '6px,3px'}, hoverinfo: 'skip'});
        const shown = Math.round((right - start) / C.step_s);
        return {text, last: y[y.length - 1], atRight: y[Math.max(0, Math.min(y.length - 1, shown))]};
    };
    const regions = Object.keys(series).filter(region => series[region]);
    const different = new Set(regions.map(region => C.start_s[region] + ': ' + series[region]));
    if (f.quantity === ENERGY && different.size === 1) return [line(regions[0], 'always on', css('--muted'))];
    return regions.map(region => {
        const s = sites.find(s => s.region === region);
        const name = region.length > 10 ? region.slice(0, 9) + '…' : region;
        return line(region, esc(name), s ? siteColorNow(s) : css('--muted'));
    });
}

// At the right of the lines, from the lowest up, none over another.
function addAlwaysOnLabels(f, lines, greatest) {
    const apart = greatest * 1.08 * 13 / 200;
    let y = -1e9;
    for (const line of lines.slice().sort((p, q) => p.atRight - q.atRight)) {
        y = Math.max(line.atRight, y + apart);
        f.layout.annotations.push(chartText(line.text, {yref: 'y', x: 1, y, xanchor: 'left', xshift: 4, font: {size: 11}}));
    }
}

function shadeClosingDelays(f) {
    for (const w of D.windows)
        for (const [from, to] of w.closing_s) f.layout.shapes.push(band(ms(from), ms(to), rgba(siteColorNow(site[w.site]), .22)));
}

// A text at the end of the record, in the height `y` of the stack.
const atEnd = (f, y, text, o) => chartText(text, {xref: 'x', yref: 'y', x: f.end, y, xanchor: 'left', xshift: 5, ...o});

// No number where a site's part is not known.
function addTotal(f, total) {
    const text = f.unknown.length ? '' : N(total, f.quantity.digits);
    f.layout.annotations.push(atEnd(f, total, '<b>' + text + '</b>', {yanchor: 'middle', font: {size: 12, color: css('--ink')}}));
}

function addPartLabels(f, parts, total) {
    for (const {site: s, from, value} of parts) {
        if (!(total > 0 && value / total > .07)) continue;
        const text = N(value, f.quantity.digits) + (f.slim ? '' : ' ' + short(s));
        f.layout.annotations.push(atEnd(f, from + value / 2, text, {font: {size: 11}}));
    }
}

function addUnknown(f) {
    const text = 'not known: ' + f.unknown.map(short).join(', ');
    f.layout.annotations.push(chartText(text, {x: .02, xanchor: 'left', y: .98, yanchor: 'top', font: {size: 12}}));
}
