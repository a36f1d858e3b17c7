import type { Live, LiveOverview } from './api.ts';
import { h, segmented, setText, show, svg } from './dom.ts';
import { plural, span } from './format.ts';

/** One view of the console, while it is shown. */
interface View {
  readonly title: string;
  readonly element: HTMLElement;
}

/** The values that a view is opened with. */
interface ViewScope {
  readonly live: Live;
  /** Aborted when the view is left. */
  readonly signal: AbortSignal;
}

export type OpenView = (scope: ViewScope) => View;

/** SVG paths on a grid of 20. */
const ICONS = {
  overview: 'M3 12l3.5-4.5 3 3L13 5l4 5M3 16h14',
  routes: 'M5 4v9a3 3 0 003 3h7m0 0l-2.5-2.5M15 16l-2.5 2.5M5 8h5a3 3 0 003-3',
  config: 'M4 5h12M4 10h8M4 15h10',
  data: 'M4 6c0-1.4 2.7-2.5 6-2.5S16 4.600 16 6s-2.700 2.500-6 2.500S4 7.400 4 6zm0 0v8c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500V6M4 10c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500',
  events:
    'M10 10m-1.500 0a1.500 1.500 0 103 0a1.500 1.500 0 10-3 0M6.500 6.500a5 5 0 000 7m7-7a5 5 0 010 7M4 4a8.500 8.500 0 000 12M16 4a8.500 8.500 0 010 12',
  flags: 'M5 17V4m0 0h9l-2 3.500 2 3.500H5',
  log: 'M4 4.500h12v11H4zM7 8l2 2-2 2m4 0h3',
  upstreams: 'M3 10h4m0 0l6-5.500h4M7 10h10M7 10l6 5.500h4',
  caches: 'M4 4.500h12v4H4zM4 11.500h12v4H4zM7 6.500h1M7 13.500h1',
  cluster:
    'M8 5a2 2 0 104 0a2 2 0 10-4 0M2.500 15a2 2 0 104 0a2 2 0 10-4 0M13.500 15a2 2 0 104 0a2 2 0 10-4 0M9 6.800l-3.500 6.400M11 6.800l3.500 6.400M6.500 15h7',
  api: 'M7 5L3 10l4 5M13 5l4 5-4 5M11 4L9 16',
  brand: 'M5 7.500h6m-6 5h4m2 0l4.500-5m0 0h-3.500m3.500 0v3.500',
} as const;

type IconName = keyof typeof ICONS;

function icon(name: IconName): SVGElement {
  return svg(
    'svg',
    { class: 'icon', viewBox: '0 0 20 20', 'aria-hidden': 'true' },
    svg('path', { d: ICONS[name] }),
  );
}

const KEY = 'gw-console-theme';
const THEMES = [
  ['auto', 'Auto'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

/** Returns a switch for light, dark or the system's theme; the choice is kept in this browser. */
function themeSwitch(): HTMLElement {
  const chosen = stored();
  apply(chosen);
  return segmented({
    legend: 'Colours',
    name: 'theme',
    chosen,
    options: THEMES,
    choose: (theme) => {
      store(theme);
      apply(theme);
    },
  });
}

function apply(theme: string): void {
  document.documentElement.dataset['theme'] = theme;
}

function stored(): string {
  try {
    return THEMES.find(([theme]) => theme === localStorage.getItem(KEY))?.[0] ?? 'auto';
  } catch {
    // Storage may be forbidden; then the choice lasts as long as the page.
    return 'auto';
  }
}

function store(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage may be forbidden.
  }
}

/** A view of the console as the navigation names it. */
export interface Page {
  readonly name: IconName;
  readonly label: string;
}

/** The keys of the first views. */
export const DIGITS = '1234567890';

/** The fixed part of the page: navigation, the gateway's state, and room for one view. */
export class Shell {
  readonly #links: ReadonlyMap<string, HTMLAnchorElement>;
  readonly #main = h('main', { id: 'content', tabindex: -1 });
  readonly #dot = h('i', { class: 'dot', 'aria-hidden': 'true' });
  readonly #state = h('b', {}, 'Connecting');
  readonly #facts = h('span', { class: 'facts' });
  readonly #status = h('p', { class: 'status', role: 'status' }, this.#dot, this.#state, this.#facts);

  constructor(pages: readonly Page[]) {
    this.#links = new Map(pages.map((page, index) => [page.name, link(page, DIGITS[index])]));
    this.#tellClusters(false);
    const brand = h('a', { class: 'brand', href: '#overview' }, icon('brand'), 'gw');
    document.body.append(
      h(
        'a',
        { class: 'skip', href: '#content', onclick: (event: Event) => this.#skip(event) },
        'Skip to the content',
      ),
      h(
        'header',
        { class: 'rail' },
        brand,
        h('nav', { 'aria-label': 'Console' }, ...this.#links.values()),
        h('div', { class: 'rail-foot' }, themeSwitch()),
      ),
      h('div', { class: 'stage' }, this.#main),
    );
  }

  /** Shows a view. */
  open(name: string, { title, element }: View): void {
    for (const [page, anchor] of this.#links) {
      if (page === name) anchor.setAttribute('aria-current', 'page');
      else anchor.removeAttribute('aria-current');
    }
    reveal(this.#links.get(name));
    document.title = `${title} · gw console`;
    const heading = h('h1', { tabindex: -1 }, title);
    show(this.#main, h('header', { class: 'page-head' }, heading, this.#status), element);
  }

  /** Shows the state after the gateway has responded. */
  tell({ gateway, configuration, workers, hasClusters, nowMs }: LiveOverview): void {
    this.#tellClusters(hasClusters);
    this.#dot.className = `dot ${gateway.draining ? 'refused' : 'ok'}`;
    setText(this.#state, gateway.draining ? 'Draining' : 'Serving');
    const facts = [
      `up ${span((nowMs - gateway.startedMs) / 1000)}`,
      plural(workers.length, 'worker'),
      `configuration ${configuration.generation}`,
      `gw ${gateway.version}`,
    ];
    setText(this.#facts, facts.join(' · '));
  }

  /** Shows that the gateway has not responded. */
  fail(message: string): void {
    this.#dot.className = 'dot failed';
    setText(this.#state, 'Not connected');
    setText(this.#facts, message);
  }

  /** Shows the link to clusters only if the configuration has some. */
  #tellClusters(hasClusters: boolean): void {
    const anchor = this.#links.get('cluster');
    if (anchor) anchor.hidden = !hasClusters;
  }

  #skip(event: Event): void {
    event.preventDefault();
    this.#main.focus();
  }
}

/** Scrolls the navigation to a link. `scrollIntoView` would also change where the Tab key begins. */
function reveal(link: HTMLElement | undefined): void {
  const nav = link?.parentElement;
  if (!nav) return;
  const room = nav.getBoundingClientRect();
  const { left, right } = link.getBoundingClientRect();
  nav.scrollLeft += Math.min(0, left - room.left) + Math.max(0, right - room.right);
}

function link({ name, label }: Page, digit: string | undefined): HTMLAnchorElement {
  const title = digit === undefined ? label : `${label} (${digit})`;
  return h('a', { href: `#${name}`, 'aria-keyshortcuts': digit, title }, icon(name), h('span', {}, label));
}
