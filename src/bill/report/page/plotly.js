// SPDX-License-Identifier: Apache-2.0
// Unpacks plotly.js, which the page carries gzip-compressed.
import {byId} from './elements.js';

export let Plotly = null;  // until loadPlotly() has succeeded

// Runs plotly.js as an inline script: the page's content security policy lists its digest.
// Rejects with an Error that says what to do.
export async function loadPlotly() {
    if (!window.DecompressionStream)
        throw new Error('this browser has no DecompressionStream; use a newer one');
    const script = document.createElement('script');
    script.textContent = await unpack(byId('plotly').textContent).catch(e => {
        throw new Error(`this file is damaged (${e.message}); write the report again`);
    });
    document.head.append(script);
    script.remove();
    if (!window.Plotly) throw new Error('plotly.js did not run; write the report again');
    Plotly = window.Plotly;
}

// Text from gzip in base64.
async function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
}
