import { h, svg } from './dom.ts';
import { count } from './format.ts';
import { sum } from './pace.ts';

const WIDTH = 96;
const HEIGHT = 24;

/** Returns a small chart without axes; the last point is the newest. */
export function sparkline(values: readonly number[], tone = 'accent'): SVGElement {
  const top = Math.max(...values, 1e-9);
  const step = WIDTH / Math.max(values.length - 1, 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)},${(HEIGHT - 2 - (value / top) * (HEIGHT - 5)).toFixed(1)}`,
  );
  return svg(
    'svg',
    {
      class: `spark ${tone}`,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    svg('polygon', {
      class: 'area',
      points: [`0,${HEIGHT - 2}`, ...points, `${WIDTH},${HEIGHT - 2}`].join(' '),
    }),
    svg('polyline', { class: 'line', points: points.join(' ') }),
  );
}

/** Returns the style class for a status code. */
export function toneOf(code: string): string {
  const tones: Readonly<Record<string, string>> = { '2': 'ok', '3': 'moved', '4': 'refused', '5': 'failed' };
  return tones[code[0] ?? ''] ?? 'other';
}

/** Returns a bar that shows the share of each status class, with the codes as text. */
export function codeBar(codes: Readonly<Record<string, number>>): HTMLElement {
  const entries = Object.entries(codes).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return shareBar(entries.map(([name, value]) => ({ name, value, tone: toneOf(name) })));
}

/** A part of a whole, with its style class. */
interface Share {
  readonly name: string;
  readonly value: number;
  readonly tone: string;
}

/** Returns a bar that shows the shares of a whole, with the first ones as text. */
export function shareBar(shares: readonly Share[], { most = 4, look = 'codes' } = {}): HTMLElement {
  const total = sum(shares.map(({ value }) => value));
  if (total === 0) return h('span', { class: 'quiet' }, '–');
  const words = shares.map(({ name, value }) => `${name} × ${count(value)}`).join(', ');
  let at = 0;
  const parts = shares.map(({ value, tone }) => {
    const width = (value / total) * WIDTH;
    const part = svg('rect', { class: tone, x: at, y: 0, width: Math.max(width - 1, 1), height: 6 });
    at += width;
    return part;
  });
  return h(
    'span',
    { class: look, title: words, role: 'img', 'aria-label': words },
    svg('svg', { viewBox: `0 0 ${WIDTH} 6`, preserveAspectRatio: 'none' }, ...parts),
    ...shares
      .slice(0, most)
      .map(({ name, value, tone }) =>
        h('span', { class: `code ${tone}` }, `${name} `, h('b', {}, count(value))),
      ),
  );
}

/** Returns a bar that shows how much is in use; its tone changes if little is left. */
export function meter(share: number, label: string, tone = share > 0.9 ? 'refused' : 'ok'): HTMLElement {
  const width = Math.max(0, Math.min(1, share)) * 100;
  return h(
    'span',
    { class: 'meter', role: 'img', 'aria-label': label },
    svg(
      'svg',
      { viewBox: '0 0 100 6', preserveAspectRatio: 'none' },
      svg('rect', { width, height: 6, class: tone }),
    ),
  );
}

export function chip(text: string, tone = ''): HTMLElement {
  return h('span', { class: tone === '' ? 'chip' : `chip toned ${tone}` }, text);
}

/** Returns the text that is shown if there is nothing else to show. */
export function empty(title: string, text: string): HTMLElement {
  return h('div', { class: 'empty' }, h('b', {}, title), h('p', {}, text));
}
