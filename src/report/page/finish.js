const tip = $('tip');
function showTip(a) {
    const p = PROV.find(p => p.key === a.dataset.prov);
    tip.replaceChildren(h('b', {}, p.title), ' ', h('span', {class: 'tag'}, (MARK[p.kind] || '○') + ' ' + p.kind), h('br'), nb(p.text));
    tip.style.display = 'block';
    const r = a.getBoundingClientRect(), w = Math.min(380, innerWidth - 24);
    tip.style.width = w + 'px';
    tip.style.left = Math.max(12, Math.min(r.left + scrollX - 20, scrollX + innerWidth - w - 12)) + 'px';
    tip.style.top = r.bottom + scrollY + 8 + 'px'
}
document.addEventListener('mouseover', e => {
    const a = e.target.closest && e.target.closest('[data-prov]');
    a ? showTip(a) : tip.style.display = 'none'
});
document.addEventListener('focusin', e => {
    const a = e.target.closest('[data-prov]');
    a ? showTip(a) : tip.style.display = 'none'
});
document.addEventListener('keydown', e => {
    if (e.key === 'Escape') {
        tip.style.display = 'none';
        if (view.range) zoom(null)
    }
});
document.addEventListener('click', e => {
    if (e.target.closest('[data-prov]')) $('provs').open = true
});
const redrawAll = () => charts.forEach(c => c.draw());
const modes = ['auto', 'light', 'dark'];
let mode = 'auto';
const asked = new URLSearchParams(location.search).get('theme');
try {
    mode = localStorage.getItem('curtail-theme') || 'auto'
} catch (e) {
}
if (modes.includes(asked)) mode = asked;
function setMode(m, quiet) {
    mode = m;
    if (m === 'auto') delete root.dataset.theme;
    else root.dataset.theme = m;
    $('theme').textContent = 'Theme: ' + m;
    if (!quiet) redrawAll();
    if (m !== asked) try {
            localStorage.setItem('curtail-theme', m)
        } catch (e) {
        }
}
$('theme').onclick = () => setMode(modes[(modes.indexOf(mode) + 1) % 3]);
setMode(mode, true);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
let rt;
addEventListener('resize', () => {
    clearTimeout(rt);
    rt = setTimeout(redrawAll, 120)
});
const drawNext = () => {
    const f = queue.shift();
    if (f) try {
            f()
        } catch (e) {
            console.error(e)
        }
    if (!queue.length) root.dataset.ready = '1';
    return queue.length
};
const drain = () => drawNext() && setTimeout(drain, 0);
requestAnimationFrame(() => setTimeout(drain, 0));
let before;
addEventListener('beforeprint', () => {
    while (queue.length) drawNext();
    before = mode;
    root.dataset.theme = 'light';
    root.classList.add('printing');
    $('provs') && ($('provs').open = true);
    main.style.width = '700px';
    redrawAll()
});
addEventListener('afterprint', () => {
    main.style.width = '';
    root.classList.remove('printing');
    setMode(before)
});
if (window.IntersectionObserver) {
    const io = new IntersectionObserver(es => {
        for (const e of es)
            if (e.isIntersecting)
                for (const a of nav.children) a.classList.toggle('on', a.hash === '#' + e.target.id)
    }, {rootMargin: '-20% 0px -70% 0px'});
    document.querySelectorAll('main>section').forEach(s => io.observe(s))
}
