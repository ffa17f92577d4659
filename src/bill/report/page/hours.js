// SPDX-License-Identifier: Apache-2.0
// The switch between the two lengths of the bars of hours.
import {byId, controlsOf, segmentedControl} from './elements.js';

export function addHours() {
    if (!byId('hours-span')) return;
    const modes = [['span', 'Share of the run'], ['alloc', 'Share of allocated time']];
    const show = shown => {
        for (const [mode] of modes) byId('hours-' + mode).hidden = mode !== shown;
    };
    controlsOf('time').append(segmentedControl('tmode', 'Length of the bars', modes, 'span', show));
}
