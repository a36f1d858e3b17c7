import { h, setText, show } from './dom.ts';
import { plural, span } from './format.ts';
import { icon } from './icons.ts';
import type { IconName } from './icons.ts';
import type { Seen } from './live.ts';
import { themeSwitch } from './theme.ts';
import type { View } from './view.ts';

/** A page of the console as the navigation names it. */
export interface Page {
  readonly name: IconName;
  readonly label: string;
}

/** What stays on the screen: navigation, the gateway's state, and room for one view. */
export class Shell {
  readonly #links: ReadonlyMap<string, HTMLAnchorElement>;
  readonly #main = h('main', { id: 'content', tabindex: -1 });
  readonly #dot = h('i', { class: 'dot', 'aria-hidden': 'true' });
  readonly #state = h('b', {}, 'Connecting');
  readonly #facts = h('span', { class: 'facts' });
  readonly #status = h('p', { class: 'status', role: 'status' }, this.#dot, this.#state, this.#facts);

  constructor(pages: readonly Page[]) {
    this.#links = new Map(pages.map((page, index) => [page.name, link(page, index + 1)]));
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

  /** Shows a view under its name. */
  open(name: string, { title, element }: View): void {
    for (const [page, anchor] of this.#links) {
      if (page === name) anchor.setAttribute('aria-current', 'page');
      else anchor.removeAttribute('aria-current');
    }
    this.#links.get(name)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    document.title = `${title} · gw console`;
    const heading = h('h1', { tabindex: -1 }, title);
    show(this.#main, h('header', { class: 'page-head' }, heading, this.#status), element);
  }

  /** The gateway has answered. */
  tell({ gateway, configuration, workers, nowMs }: Seen): void {
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

  /** It has not. */
  fail(message: string): void {
    this.#dot.className = 'dot failed';
    setText(this.#state, 'Not connected');
    setText(this.#facts, message);
  }

  #skip(event: Event): void {
    event.preventDefault();
    this.#main.focus();
  }
}

function link({ name, label }: Page, digit: number): HTMLAnchorElement {
  return h(
    'a',
    { href: `#${name}`, 'aria-keyshortcuts': String(digit), title: `${label} (${digit})` },
    icon(name),
    h('span', {}, label),
  );
}
