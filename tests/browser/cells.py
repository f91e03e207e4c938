"""Questions to a page, as JavaScript expressions."""

from __future__ import annotations

# Open what is folded.
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"

# Every cell of every table, as people read it.
TABLES = """
[...document.querySelectorAll('table')].map(table => ({
  caption: table.caption.textContent,
  heads: [...table.tHead.rows[0].cells].map(cell => cell.textContent),
  rows: [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent)),
}))
"""

# Contrast of every text with what lies behind it (WCAG 2.2, relative luminance), the lowest first.
CONTRASTS = """
(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
      if (colour[3] !== 0) throw new Error('a translucent ground');
    }
    throw new Error('no ground');
  };
  const found = [];
  for (const element of document.body.querySelectorAll('*')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const style = getComputedStyle(element);
    if (!own || element.closest('svg, script') || !element.checkVisibility()) continue;
    const [a, b] = [light(parts(style.color)), light(behind(element))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.tagName, element.textContent.slice(0, 40)]);
  }
  for (const element of document.querySelectorAll('svg text')) {
    if (!element.checkVisibility()) continue;
    const [a, b] = [light(parts(getComputedStyle(element).fill)), light(behind(document.body))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), 'text', element.textContent]);
  }
  return found.sort((a, b) => a[0] - b[0]);
})()
"""

# What lies beyond the right edge of the page, or is wider than the box that it is in.
BEYOND = """
[...document.querySelectorAll('body *')].filter(element => {
  const box = element.getBoundingClientRect();
  if (element.closest('.skip, .said') || element.ownerSVGElement) return false;  // a drawing cuts its parts itself
  return box.width > 0
    && (box.right > document.documentElement.clientWidth + 0.5 || box.left < -0.5);
}).map(element => element.tagName + ': ' + element.textContent.slice(0, 60))
"""

# Letters of pictures that are shown and reach beyond the box of their picture, which cuts them; and how many there are.
CUT_LETTERS = """
(() => {
  const texts = [...document.querySelectorAll('svg text')].filter(one => one.checkVisibility());
  const cut = texts.filter(one => {
    const box = one.getBoundingClientRect(), around = one.ownerSVGElement.getBoundingClientRect();
    return box.width > 0 && (box.left < around.left - 0.5 || box.right > around.right + 0.5
      || box.top < around.top - 0.5 || box.bottom > around.bottom + 0.5);
  });
  return {all: texts.length, cut: cut.map(one => one.textContent)};
})()
"""

# Boxes of tables that have to be scrolled, and whether each shows that it goes on.
SCROLLED = """
[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth).map(box => ({
  caption: box.querySelector('caption').textContent,
  hint: getComputedStyle(box).backgroundImage.includes('gradient'),
}))
"""
