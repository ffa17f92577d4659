// SPDX-License-Identifier: Apache-2.0
// When charts are drawn: one after another once the page is shown, and again for a new size or
// for print.
import {allDrawn, nextToDraw, redrawAll} from './chart.js';
import {addCrossLine, followKeys, followPointer} from './cursor.js';
import {byId, main, root} from './elements.js';
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

export function drawWhenIdle() {
    const next = () => {
        drawNext();
        if (!allDrawn()) setTimeout(next, 0);
    };
    requestAnimationFrame(() => setTimeout(next, 0));
}

export function redrawWhenResized() {
    let timer;
    addEventListener('resize', () => {
        clearTimeout(timer);
        timer = setTimeout(redrawAll, 120);
    });
}

// Prints in the light theme, at the width of A4, with the list of sources open.
export function installPrinting() {
    let before;
    addEventListener('beforeprint', () => {
        while (Plotly && !allDrawn()) drawNext();
        before = currentMode();
        root.dataset.theme = 'light';
        root.classList.add('printing');
        if (byId('provs')) byId('provs').open = true;
        main.style.width = '700px';
        redrawAll();
    });
    addEventListener('afterprint', () => {
        main.style.width = '';
        root.classList.remove('printing');
        setMode(before);
    });
}
