import { svg } from './dom.ts';

/** Strokes on a grid of 20. */
const ICONS = {
  overview: 'M3 12l3.5-4.5 3 3L13 5l4 5M3 16h14',
  routes: 'M5 4v9a3 3 0 003 3h7m0 0l-2.5-2.5M15 16l-2.5 2.5M5 8h5a3 3 0 003-3',
  config: 'M4 5h12M4 10h8M4 15h10',
  data: 'M4 6c0-1.4 2.7-2.5 6-2.5S16 4.600 16 6s-2.700 2.500-6 2.500S4 7.400 4 6zm0 0v8c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500V6M4 10c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500',
  events:
    'M10 10m-1.500 0a1.500 1.500 0 103 0a1.500 1.500 0 10-3 0M6.500 6.500a5 5 0 000 7m7-7a5 5 0 010 7M4 4a8.500 8.500 0 000 12M16 4a8.500 8.500 0 010 12',
  flags: 'M5 17V4m0 0h9l-2 3.500 2 3.500H5',
  log: 'M4 4.500h12v11H4zM7 8l2 2-2 2m4 0h3',
  brand: 'M5 7.500h6m-6 5h4m2 0l4.500-5m0 0h-3.500m3.500 0v3.500',
} as const;

export type IconName = keyof typeof ICONS;

export function icon(name: IconName): SVGElement {
  return svg(
    'svg',
    { class: 'icon', viewBox: '0 0 20 20', 'aria-hidden': 'true' },
    svg('path', { d: ICONS[name] }),
  );
}
