// SPDX-License-Identifier: Apache-2.0
// What comes after the panels: footer, explanations of figures, theme, drawing of the charts, print.

main.append(footer());
explainFigures();
document.addEventListener('keydown', e => {
    if (e.key === 'Escape' && view.range) zoom(null);
});
const theme = makeTheme();
drawWhenIdle();
drawAgainWhenResized();
printInLight();
markPanelInView();

function footer() {
    const report = D.report || {};
    const written = (report.generated_at || 'at a time not recorded').replace(/^(\d.*)T(.*)Z$/, '$1 $2 UTC');
    const parts = [
        report.program || 'curtail-report',
        'written ' + written,
        'data: ' + D.schema + ', in this page\'s source, element curtail-data',
        'charts: plotly.js ' + Plotly.version,
    ];
    return h('footer', {}, parts.map(part => h('span', {}, part)));
}

// The letter beside a figure shows where it comes from while it is pointed at or has the focus; a click opens the whole list.
function explainFigures() {
    const tip = $('tip');
    const figureOf = e => e.target.closest && e.target.closest('[data-prov]');
    const hide = () => {
        tip.style.display = 'none';
    };
    const follow = e => {
        const mark = figureOf(e);
        if (mark) showTip(tip, mark);
        else hide();
    };
    document.addEventListener('mouseover', follow);
    document.addEventListener('focusin', follow);
    document.addEventListener('keydown', e => {
        if (e.key === 'Escape') hide();
    });
    document.addEventListener('click', e => {
        if (figureOf(e)) $('provs').open = true;
    });
}

function showTip(tip, mark) {
    const p = prov(mark.dataset.prov);
    tip.replaceChildren(h('b', {}, p.title), ' ', kindTag(p), h('br'), unbroken(p.text));
    tip.style.display = 'block';
    const box = mark.getBoundingClientRect(), width = Math.min(380, innerWidth - 24);
    const rightmost = scrollX + innerWidth - width - 12;
    tip.style.width = width + 'px';
    tip.style.left = Math.max(12, Math.min(box.left + scrollX - 20, rightmost)) + 'px';
    tip.style.top = box.bottom + scrollY + 8 + 'px';
}

function drawAll() { charts.forEach(c => c.draw()); }

// The theme: as the system has it until the button or ?theme= says otherwise. Answers {current(), set(mode)}.
function makeTheme() {
    const modes = ['auto', 'light', 'dark'], key = 'curtail-theme', button = $('theme');
    const asked = new URLSearchParams(location.search).get('theme');
    let mode = modes.includes(asked) ? asked : remembered(key) || 'auto';
    const show = () => {
        if (mode === 'auto') delete root.dataset.theme;
        else root.dataset.theme = mode;
        button.textContent = 'Theme: ' + mode;
        if (mode !== asked) remember(key, mode);
    };
    const set = m => {
        mode = m;
        show();
        drawAll();
    };
    button.onclick = () => set(modes[(modes.indexOf(mode) + 1) % modes.length]);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
    show();
    return {current: () => mode, set};
}

// Browsers may keep storage from a page that is a file.
function remembered(key) {
    try {
        return localStorage.getItem(key);
    } catch (e) {
        return null;
    }
}

function remember(key, value) {
    try {
        localStorage.setItem(key, value);
    } catch (e) {
        // The choice lasts as long as the page.
    }
}

// Answers whether another is waiting. A chart that fails leaves the others alone.
function drawNext() {
    const draw = queue.shift();
    try {
        if (draw) draw();
    } catch (e) {
        console.error(e);
    }
    if (!queue.length) root.dataset.ready = '1';
    return queue.length > 0;
}

function drawWhenIdle() {
    const next = () => {
        if (drawNext()) setTimeout(next, 0);
    };
    requestAnimationFrame(() => setTimeout(next, 0));
}

function drawAgainWhenResized() {
    let timer;
    addEventListener('resize', () => {
        clearTimeout(timer);
        timer = setTimeout(drawAll, 120);
    });
}

// Paper is light and as wide as A4, and has the list of sources open.
function printInLight() {
    let before;
    addEventListener('beforeprint', () => {
        while (queue.length) drawNext();
        before = theme.current();
        root.dataset.theme = 'light';
        root.classList.add('printing');
        if ($('provs')) $('provs').open = true;
        main.style.width = '700px';
        drawAll();
    });
    addEventListener('afterprint', () => {
        main.style.width = '';
        root.classList.remove('printing');
        theme.set(before);
    });
}

// In the bar at the top.
function markPanelInView() {
    if (!window.IntersectionObserver) return;
    const mark = id => {
        for (const link of nav.children) link.classList.toggle('on', link.hash === '#' + id);
    };
    const observer = new IntersectionObserver(entries => {
        for (const entry of entries)
            if (entry.isIntersecting) mark(entry.target.id);
    }, {rootMargin: '-20% 0px -70% 0px'});
    document.querySelectorAll('main>section').forEach(section => observer.observe(section));
}
