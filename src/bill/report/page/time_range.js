// SPDX-License-Identifier: Apache-2.0
// The range that all time charts show.
import {data} from './data.js';
import {timeOf} from './format.js';

let zoomed = null;  // [from, to], or null while the charts show everything

export function fullRange() {
    return [timeOf(0), timeOf(Math.max(data.run.trace_end_s || 0, data.run.end_s || 0))];
}
export const visibleRange = () => zoomed || fullRange();
export const zoomedRange = () => zoomed;
export function setZoomedRange(range) { zoomed = range; }
