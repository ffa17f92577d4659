// SPDX-License-Identifier: Apache-2.0
// When charts are drawn: one after another once the page is shown, and again for a new size or
// for print.
import {allDrawn, nextToDraw, redrawAll} from './chart.js';
import {addCrossLine, followKeys, followPointer} from './cursor.js';
import {main, root} from './elements.js';
import {Plotly} from './plotly.js';
import {currentMode, setMode} from './theme.js';
import {followZoom} from './zoom.js';

// A chart that fails must not keep the others from being drawn.
function drawNext() {
    const chart = nextToDraw();
    try {
        if (chart) drawFirstTime(chart);
    } catch (e) {
        console.error(e);
    }
    if (allDrawn()) root.dataset.ready = '1';
}

function drawFirstTime(chart) {
    followPointer(chart);
    if (chart.time) followKeys(chart);
    chart.draw();
    if (chart.time) addCrossLine(chart);
    followZoom(chart);
}

// Draws one chart after another, so that the page stays responsive. Waits neither for scrolling nor
// for the page to be visible: both may never happen.
export async function drawAll() {
    do {
        await new Promise(resolve => setTimeout(resolve, 0));
        drawNext();
    } while (!allDrawn());
}

export function redrawWhenResized() {
    let timer;
    addEventListener('resize', () => {
        clearTimeout(timer);
        timer = setTimeout(redrawAll, 120);
    });
}

// Prints in the light theme, at the width of A4, with all lists open.
export function installPrinting() {
    let before, closed = [];
    addEventListener('beforeprint', () => {
        while (Plotly && !allDrawn()) drawNext();
        before = currentMode();
        root.dataset.theme = 'light';
        root.classList.add('printing');
        closed = [...main.querySelectorAll('details:not([open])')];
        for (const details of closed) details.open = true;
        main.style.width = '700px';
        redrawAll();
    });
    addEventListener('afterprint', () => {
        main.style.width = '';
        for (const details of closed) details.open = false;
        root.classList.remove('printing');
        setMode(before);
    });
}
