// SPDX-License-Identifier: Apache-2.0
// What charts look like, and how one is put on the page. Times are milliseconds since 1970 in UTC, as Date has them.

const charts = [];  // all of the page, as chart() answers them
const queue = [];   // what is still to be drawn: charts come after the page, one at a time

const narrow = () => main.clientWidth < 680;
const font = () => ({family: css('--sans'), size: 12, color: css('--muted')});
const axis = o => Object.assign(
    {
        gridcolor: css('--grid'),
        linecolor: css('--rule'),
        tickcolor: css('--rule'),
        zeroline: false,
        fixedrange: true,
        ticks: '',
        tickfont: {size: 11.5}
    },
    o);
const timeAxis = o => axis(Object.assign(
    {
        type: 'date',
        range: visibleRange().slice(),
        fixedrange: false,
        tickformat: '%H:%M\n%-d %b',
        ticks: 'outside',
        ticklen: 4,
        tickangle: 0
    },
    o));
// How many ticks of time have room beside margins of `margins` pixels.
const fit = (gd, margins) => Math.max(3, Math.floor((gd.clientWidth - margins) / 86));

// Spans {x, y, q, last, n} of the visible rows, at most one per `gap` milliseconds: neighbours that are closer are drawn, and counted, as
// one; zooming in separates them. `start` and `end` answer a row's moments on the signal's clock, in seconds.
function pack(rows, start, end, gap) {
    const [from, to] = visibleRange(), spans = [];
    for (const q of rows) {
        const x = ms(start(q)), y = ms(end(q));
        if (y < from || x > to) continue;
        const before = spans[spans.length - 1];
        if (before && x - before.y < gap && (x - before.x < gap || y - x < gap)) {
            before.y = Math.max(before.y, y);
            before.last = q;
            before.n++;
        } else spans.push({x, y, q, last: q, n: 1});
    }
    return spans;
}

const layout = o => Object.assign(
    {
        paper_bgcolor: 'rgba(0,0,0,0)',
        plot_bgcolor: 'rgba(0,0,0,0)',
        font: font(),
        showlegend: false,
        dragmode: 'zoom',
        hoverlabel: {
            bgcolor: css('--raise'),
            bordercolor: css('--rule'),
            font: {family: css('--sans'), size: 12, color: css('--ink')},
            align: 'left'
        }
    },
    o);
// Shapes and texts in plotly's words; `o` overrides.
const band = (x0, x1, fillcolor, o) =>
    Object.assign({type: 'rect', xref: 'x', yref: 'paper', x0, x1, y0: 0, y1: 1, fillcolor, line: {width: 0}, layer: 'below'}, o);
const verticalLine = (x, line, o) => Object.assign({type: 'line', xref: 'x', yref: 'paper', x0: x, x1: x, y0: 0, y1: 1, line}, o);
const horizontalLine = (y, yref, line, o) => Object.assign({type: 'line', xref: 'paper', yref, x0: 0, x1: 1, y0: y, y1: y, line}, o);
const chartText = (text, o) => Object.assign({xref: 'paper', yref: 'paper', text, showarrow: false}, o);
const zone = slim => chartText(
    'UTC',
    Object.assign(
        {y: 0, yanchor: 'top', font: {size: 11.5}},
        slim ? {x: 1, xanchor: 'right', yshift: -19} : {x: 0, xanchor: 'right', xshift: -18, yshift: -4}));

// Puts a chart on the page, to be drawn by `figure(element)` -> {data, layout} when its turn comes and with every draw().
// `time`: it takes part in zoom and cursor while its horizontal axis is one of time.
function chart(where, height, alt, figure, time) {
    const gd = h('div', {class: 'plot', role: 'img', 'aria-label': alt, style: 'height:' + height + 'px'});
    const c = {gd, cross: null};
    c.isTime = () => time && gd._fullLayout && gd._fullLayout.xaxis.type === 'date';
    c.draw = () => {
        const drawn = figure(gd);
        drawn.layout.height = gd.clientHeight;
        drawn.layout.width = gd.clientWidth;
        return Plotly.react(gd, drawn.data, drawn.layout, {displayModeBar: false, doubleClick: false, responsive: false, showTips: false});
    };
    where.append(gd);
    charts.push(c);
    queue.push(() => {
        c.draw();
        if (time) c.cross = gd.appendChild(h('div', {class: 'cross'}));
        followZoom(c);
    });
    followPointer(c);
    if (time) followKeys(c);
    return c;
}
