// SPDX-License-Identifier: Apache-2.0
// The times of a figure in the form in which Plotly shows them alike in every time zone.

// Plotly takes a number on a date axis for a time of the reader's zone, and text without a zone as
// it is. `t` is in milliseconds since 1970 UTC.
const dateText = t => Number.isFinite(t) ? new Date(t).toISOString().slice(0, -1) : t;

const withTexts = (object, keys) => {
    const changed = {...object};
    for (const key of keys)
        if (Array.isArray(object[key])) changed[key] = object[key].map(dateText);
        else if (key in object) changed[key] = dateText(object[key]);
    return changed;
};

// Bars have their beginning in `base`, and their length in `x`.
const traceWithTexts = trace => withTexts(trace, [trace.base ? 'base' : 'x']);

const markWithTexts = mark => mark.xref === 'x' ? withTexts(mark, ['x', 'x0', 'x1']) : mark;

// The figure {data, layout} with texts for the times of its date axis.
export function withPlotDates({data, layout}) {
    if (!layout.xaxis || layout.xaxis.type !== 'date') return {data, layout};
    const {xaxis, shapes = [], annotations = []} = layout;
    return {
        data: data.map(traceWithTexts),
        layout: {
            ...layout,
            xaxis: withTexts(xaxis, ['range']),
            shapes: shapes.map(markWithTexts),
            annotations: annotations.map(markWithTexts)
        }
    };
}
