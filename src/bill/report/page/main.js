// SPDX-License-Identifier: Apache-2.0
// Adds to the page what needs a script: charts, controls and tools.
import {data} from './data.js';
import {drawAll, installPrinting, redrawWhenResized} from './drawing.js';
import {h, main, nav} from './elements.js';
import {addEnergy} from './energy.js';
import {addEvents} from './events.js';
import {addChartTools, addTableTools} from './export.js';
import {addCopyButtons} from './facts.js';
import {addHours} from './hours.js';
import {addLoss} from './loss.js';
import {loadPlotly, Plotly} from './plotly.js';
import {addRounds} from './rounds.js';
import {installTheme} from './theme.js';
import {addTimeline} from './timeline.js';
import {installSourceTooltip} from './tooltip.js';
import {followAddress, resetZoomOnEscape} from './zoom.js';

// One broken panel must not take the others with it.
function addToPanels() {
    for (const addPart
             of [addTimeline, addLoss, addHours, addEnergy, addRounds, addEvents, addCopyButtons])
        try {
            addPart();
        } catch (e) {
            console.error(e);
        }
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
    main.querySelector('footer').append(h('span', {}, 'charts: plotly.js ' + Plotly.version));
    return drawAll();
}

// The page then has its tables only, under a message.
function removeCharts(error) {
    const message = `Cannot draw the charts: ${error.message}. All data is in the page source, ` +
        'in the element curtail-data, as JSON.';
    for (const place of main.querySelectorAll('.charts')) place.replaceChildren();
    main.prepend(h('p', {class: 'empty'}, message));
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

document.title = (data.run.name || 'Run') + ' · Curtail run report';
addToPanels();
addTableTools();
followAddress();
installSourceTooltip();
resetZoomOnEscape();
installTheme();
redrawWhenResized();
installPrinting();
highlightLinks();
loadPlotly().then(addCharts).catch(removeCharts).finally(delayLoadEvent());
