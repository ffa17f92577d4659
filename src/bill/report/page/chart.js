// SPDX-License-Identifier: Apache-2.0
// The page's charts: their elements and how they are drawn.
import {h} from './elements.js';
import {withPlotDates} from './plot_dates.js';
import {Plotly} from './plotly.js';

export const charts = [];
const waiting = [];  // charts still to be drawn for the first time, one at a time

const CONFIGURATION = {
    displayModeBar: false,
    doubleClick: false,
    responsive: false,
    showTips: false
};

// Puts a chart on the page. `figure(element)` gives {data, layout} each time that it is drawn.
// `time`: the chart takes part in zoom and cursor while its horizontal axis shows time.
export function addChart({where, height, alt, figure, time}) {
    const style = 'height:' + height + 'px';
    const gd = h('div', {class: 'plot', role: 'img', 'aria-label': alt, style});
    const chart = {gd, time, cross: null};
    chart.isTime = () => time && gd._fullLayout && gd._fullLayout.xaxis.type === 'date';
    chart.draw = () => {
        const {data, layout} = withPlotDates(figure(gd));
        layout.height = gd.clientHeight;
        layout.width = gd.clientWidth;
        return Plotly.react(gd, data, layout, CONFIGURATION);
    };
    where.append(gd);
    charts.push(chart);
    waiting.push(chart);
    return chart;
}

export const nextToDraw = () => waiting.shift();
export const allDrawn = () => !waiting.length;
// Draws again what has been drawn before.
export function redrawAll() {
    for (const chart of charts)
        if (!waiting.includes(chart)) chart.draw();
}
export const drawnTimeCharts = () => charts.filter(c => c.isTime());
