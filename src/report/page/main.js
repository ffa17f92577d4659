// SPDX-License-Identifier: Apache-2.0
// Builds the page: text and tables at once, then the charts.
import {addAudit} from './audit.js';
import {addComparison} from './compare.js';
import {data} from './data.js';
import {drawAll, installPrinting, redrawWhenResized} from './drawing.js';
import {byId, h, main, nav} from './elements.js';
import {addEnergy} from './energy.js';
import {addEvents} from './events.js';
import {addChartTools, addTableTools} from './export.js';
import {addFacts, addNotes} from './facts.js';
import {addHeadline} from './headline.js';
import {addHours} from './hours.js';
import {addLoss} from './loss.js';
import {loadPlotly, Plotly} from './plotly.js';
import {installSourceTooltip} from './provenance.js';
import {addRounds} from './rounds.js';
import {installTheme} from './theme.js';
import {addTimeline} from './timeline.js';
import {followAddress, resetZoomOnEscape} from './zoom.js';

function addPanels() {
    addHeadline();
    addTimeline();
    addLoss();
    addHours();
    addEnergy();
    addComparison();
    addAudit();
    addRounds();
    addEvents();
    addFacts();
    addNotes();
}

function footer() {
    const report = data.report || {};
    const written = report.generated_at || 'at an unknown time';
    const parts = [
        report.program || 'curtail-report',
        'written ' + written.replace(/^(\d.*)T(.*)Z$/, '$1 $2 UTC'),
        'data: ' + data.schema + ', in the page source, element curtail-data',
        'charts: plotly.js ' + Plotly.version,
    ];
    return h('footer', {}, parts.map(part => h('span', {}, part)));
}

// Highlights the link of the panel in view.
function highlightLinks() {
    if (!window.IntersectionObserver) return;
    const highlight = id => {
        for (const link of nav.children) link.classList.toggle('on', link.hash === '#' + id);
    };
    const observer = new IntersectionObserver(entries => {
        for (const entry of entries)
            if (entry.isIntersecting) highlight(entry.target.id);
    }, {rootMargin: '-20% 0px -70% 0px'});
    document.querySelectorAll('main>section').forEach(section => observer.observe(section));
}

function addCharts() {
    addChartTools();
    main.append(footer());
    return drawAll();
}

// The tables that the page has for readers without JavaScript, under a message.
function showTablesOnly(error) {
    const tables = h('div', {class: 'static'});
    tables.innerHTML = main.querySelector('noscript').textContent;
    const message = `Cannot draw the charts: ${error.message}. This page shows only the main ` +
        'tables. All data is in the page source, in the element curtail-data, as JSON.';
    tables.querySelector('.empty').textContent = message;
    main.replaceChildren(tables);
    byId('nav').replaceChildren();
}

// Keeps the window's load event back until the function that it returns is called. Without this,
// a program that prints the page, or takes its picture, when it has loaded would miss charts. A
// frame whose document is still being written counts as loading.
function delayLoadEvent() {
    const frame = h('iframe', {hidden: true});
    document.body.append(frame);
    frame.contentDocument.open();
    return () => frame.remove();
}

addPanels();
addTableTools();
followAddress();
installSourceTooltip();
resetZoomOnEscape();
installTheme();
redrawWhenResized();
installPrinting();
highlightLinks();
loadPlotly().then(addCharts).catch(showTablesOnly).finally(delayLoadEvent());
