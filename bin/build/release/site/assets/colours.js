/* The chosen colours, before the page is painted. */
const root = document.documentElement;
try {
  root.dataset.colours = localStorage.getItem('gw-docs-colours') ?? 'auto';
} catch {
  root.dataset.colours = 'auto';
}
