// SPDX-License-Identifier: Apache-2.0
// Light or dark: ?theme=, else the reader's last choice, else the system's setting.
import {redrawAll} from './chart.js';
import {byId, darkSystem, root} from './elements.js';

const MODES = ['auto', 'light', 'dark'], KEY = 'curtail-theme';
const requested = new URLSearchParams(location.search).get('theme');
let mode = MODES.includes(requested) ? requested : storedMode() || 'auto';

export const currentMode = () => mode;

export function setMode(newMode) {
    mode = newMode;
    showMode();
    redrawAll();
}

export function installTheme() {
    byId('theme').onclick = () => setMode(MODES[(MODES.indexOf(mode) + 1) % MODES.length]);
    darkSystem.addEventListener('change', redrawAll);
    showMode();
}

function showMode() {
    if (mode === 'auto') delete root.dataset.theme;
    else root.dataset.theme = mode;
    byId('theme').textContent = 'Theme: ' + mode;
    if (mode !== requested) storeMode();
}

// A browser may refuse storage to a page opened from a file.
function storedMode() {
    try {
        return localStorage.getItem(KEY);
    } catch (e) {
        return null;
    }
}

function storeMode() {
    try {
        localStorage.setItem(KEY, mode);
    } catch (e) {
        // The choice then lasts as long as the page.
    }
}
