panel(
    'facts', 8, 'Run facts', 'What exactly ran, so that it can be run again?',
    !(D.facts || []).length ? 'Nothing is known of what ran.' : null, (body, ctl) => {
        const copy = (b, t) => {
            const ok = () => {
                const o = b.textContent;
                b.textContent = 'copied';
                setTimeout(() => b.textContent = o, 1200)
            };
            const old = () => {
                const a = h('textarea', {style: 'position:fixed;opacity:0'});
                a.value = t;
                document.body.append(a);
                a.select();
                document.execCommand('copy');
                a.remove();
                ok()
            };
            navigator.clipboard ? navigator.clipboard.writeText(t).then(ok, old) : old()
        };
        ctl.append(
            h('button', {
                class: 'btn',
                onclick: e => copy(
                    e.currentTarget, JSON.stringify(Object.fromEntries(D.facts.map(f => [f.title, Object.fromEntries(f.rows)])), null, 2))
            },
              'Copy all as JSON'));
        body
            .append(
                h(
                    'div', {class: 'facts'},
                    D.facts
                        .map(
                            f =>
                                h(
                                    'div', {class: 'fact' + (f.wide ? ' wide' : '')},
                                    h('h3', {}, f.title,
                                      h(
                                          'button', {
                                              class: 'cp',
                                              'aria-label': 'Copy ' + f.title,
                                              onclick:
                                                  e => copy(
                                                      e.currentTarget,
                                                      f.rows.map(r => r[0] + ': ' + (r[1] == null ? 'not recorded' : r[1])).join('\n'))
                                          },
                                          'copy')),
                                    h('dl', {},
                                      f.rows.map(
                                          r =>
                                              [h('dt', {}, r[0]),
                                               h('dd', {}, r[1] == null ? h('span', {class: 'nr'}, 'not recorded') : nb(r[1]))]))))));
    });

if ((D.notes || []).length)
    panel(
        'notes', '', 'Notes on this data', 'What should be known before quoting these figures?', null,
        body => body.append(h('ol', {class: 'notes'}, D.notes.map(n => h('li', {}, h('b', {}, n[0] + '. '), nb(n[1]))))));
main.append(
    h('footer', {}, h('span', {}, (D.report || {}).program || 'curtail-report'),
      h('span', {}, 'written ' + ((D.report || {}).generated_at || 'at a time not recorded').replace(/^(\d.*)T(.*)Z$/, '$1 $2 UTC')),
      h('span', {}, 'data: ' + D.schema + ', in this page\'s source, element curtail-data'),
      h('span', {}, 'charts: plotly.js ' + Plotly.version)));
