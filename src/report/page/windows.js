// A window that is still open lasts to the end of the record.
const windowEnd = w => w.close_s == null ? D.run.end_s : w.close_s;
// The windows and the decisions as tables.
function windowTables(body) {
    const length = w => (windowEnd(w) - w.open_s) / 3600, last = w => w.closing_s[w.closing_s.length - 1];
    const kwh = est('kWh', 'energy'), grams = est('g', 'co2');
    if (D.windows.length)
        body.append(
            table(
                'Windows',
                [
                    ['Window', '', w => [dot(site[w.site]), label(w.site)], 'l'],
                    ['Opened', 'UTC', w => stamp(ms(w.open_s))],
                    ['Closing began', 'UTC', w => last(w) ? stamp(ms(last(w)[0])) + (w.close_s == null ? ' *' : '') : '–'],
                    ['Closed', 'UTC', w => w.close_s == null ? 'run ended first' : stamp(ms(w.close_s))],
                    ['Open for', 'h', w => N(length(w), 2)],
                    ['To first step', REAL, w => N(w.startup_s, 1)],
                    ['Steps', '', w => N(w.steps)],
                    ['Energy', kwh, w => N(w.kwh, 2)],
                    ['above threshold', kwh, w => N(w.kwh_outside, 2)],
                    ['CO₂', grams, w => N(w.gco2, 1)],
                    ['above threshold', grams, w => N(w.gco2_outside, 1)]
                ],
                D.windows, {id: 'windows', wrap: D.windows.length > 12 ? 'tall' : ''}),
            D.windows.some(w => w.close_s == null && last(w)) ?
                h('p', {class: 'note'}, '* The window had not closed when the record ends: the delay was running, or intensity fell below the threshold again.') :
                '');
    else body.append(h('p', {class: 'empty'}, 'No window has opened: no decision to open is recorded.'));
    if (D.decisions.length)
        body.append(
            h('details', {}, h('summary', {}, 'Decisions (' + N(D.decisions.length) + ')'),
              table(
                  'Decisions',
                  [
                      ['Site', '', d => [site[d.site] && dot(site[d.site]), label(d.site)], 'l'],
                      ['Decided', 'UTC', d => stamp(ms(d.t))],
                      ['Elapsed', 's', d => N(d.t)],
                      ['Intensity', 'g/kWh', d => d.intensity == null ? 'no signal' : N(d.intensity)],
                      ['From', '', d => d.from, 'l'],
                      ['To', '', d => d.to, 'l'],
                      ['Reason', '', d => d.reason, 'l']
                  ],
                  D.decisions, {id: 'decisions', wrap: 'tall'})));
}
