// SPDX-License-Identifier: Apache-2.0
panel('facts', 8, 'Run facts', 'What exactly ran, so that it can be run again?', whyNoFacts(), (body, ctl) => {
    const all = () => JSON.stringify(Object.fromEntries(D.facts.map(f => [f.title, Object.fromEntries(f.rows)])), null, 2);
    ctl.append(h('button', {class: 'btn', onclick: e => copy(e.currentTarget, all())}, 'Copy all as JSON'));
    body.append(h('div', {class: 'facts'}, D.facts.map(factGroup)));
});

function whyNoFacts() { return D.facts.length ? null : 'Nothing is known of what ran.'; }

function factGroup({title, rows, wide}) {
    const text = () => rows.map(([name, value]) => name + ': ' + (value == null ? 'not recorded' : value)).join('\n');
    const button = h('button', {class: 'cp', 'aria-label': 'Copy ' + title, onclick: e => copy(e.currentTarget, text())}, 'copy');
    const fact =
        ([name, value]) => [h('dt', {}, name), h('dd', {}, value == null ? h('span', {class: 'nr'}, 'not recorded') : unbroken(value))];
    return h('div', {class: 'fact' + (wide ? ' wide' : '')}, h('h3', {}, title, button), h('dl', {}, rows.map(fact)));
}

// The button says so for a moment. Where a page that is a file may not use the clipboard, an older way is left.
function copy(button, text) {
    const say = () => {
        const before = button.textContent;
        button.textContent = 'copied';
        setTimeout(() => {
            button.textContent = before;
        }, 1200);
    };
    const older = () => {
        const area = h('textarea', {style: 'position:fixed;opacity:0'});
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand('copy');
        area.remove();
        say();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(say, older);
    else older();
}

if (D.notes.length)
    panel('notes', '', 'Notes on this data', 'What should be known before quoting these figures?', null, body => {
        const note = ([title, text]) => h('li', {}, h('b', {}, title + '. '), unbroken(text));
        body.append(h('ol', {class: 'notes'}, D.notes.map(note)));
    });
