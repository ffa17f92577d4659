// SPDX-License-Identifier: Apache-2.0
// Unpacks plotly.js, which the page carries gzip-compressed.
import {byId} from './elements.js';

export let Plotly = null;  // until loadPlotly() has succeeded

// Runs plotly.js as an inline script: the page's content security policy lists its digest.
// Rejects with an Error that a reader can act on.
export async function loadPlotly() {
    if (!window.DecompressionStream)
        throw new Error('this browser cannot unpack them (it has no DecompressionStream)');
    const script = document.createElement('script');
    script.textContent = await unpack(byId('plotly').textContent);
    document.head.append(script);
    script.remove();
    if (!window.Plotly) throw new Error('plotly.js did not run; this file is damaged');
    Plotly = window.Plotly;
}

// Text from gzip in base64.
async function unpack(packed) {
    const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
}
