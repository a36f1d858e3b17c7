import type { EventEntry } from '../../contract.ts';
import { h, type Row, Rows, setText } from '../dom.ts';
import { plural } from '../format.ts';
import { empty } from '../marks.ts';

const MAX_KEPT = 1_000;
const MAX_SHOWN = 200;

interface FeedListOptions {
  /** The text of the empty list. */
  readonly none: readonly [title: string, text: string];
  readonly label: string;
  readonly row: (entry: EventEntry) => HTMLElement;
  /** Tells whether an entry is shown. */
  readonly wanted: (entry: EventEntry) => boolean;
}

/** A list of entries, the newest first, which can be paused. */
export class FeedList {
  readonly element: HTMLElement;
  readonly pause = h(
    'button',
    { type: 'button', 'aria-pressed': 'false', onclick: () => this.#toggle() },
    'Pause',
  );
  readonly #options: FeedListOptions;
  readonly #count = h('p', { class: 'quiet', role: 'status' });
  readonly #list: HTMLElement;
  readonly #none: HTMLElement;
  readonly #rows: Rows<EventEntry>;
  #entries: readonly EventEntry[] = [];
  #isHeld = false;

  constructor(options: FeedListOptions) {
    this.#options = options;
    this.#list = h('ol', { class: 'feed', 'aria-label': options.label });
    this.#none = empty(...options.none);
    const make = (entry: EventEntry): Row<EventEntry> => ({
      element: options.row(entry),
      update: () => undefined,
    });
    this.#rows = new Rows<EventEntry>(this.#list, ({ generation }) => String(generation), make);
    this.element = h('section', { class: 'card flush' }, this.#count, this.#list, this.#none);
    this.show();
  }

  add(entries: readonly EventEntry[]): void {
    const last = this.#entries.at(-1)?.generation ?? 0;
    // Generations that start again come from another process.
    const before = (entries[0]?.generation ?? last + 1) > last ? this.#entries : [];
    this.#entries = [...before, ...entries].slice(-MAX_KEPT);
    if (!this.#isHeld) this.show();
  }

  clear(): void {
    this.#entries = [];
    this.show();
  }

  /** To be called after the filter has changed. */
  show(): void {
    const wanted = this.#entries.filter(this.#options.wanted);
    const shown = wanted.slice(-MAX_SHOWN).toReversed();
    this.#rows.update(shown);
    this.#none.hidden = shown.length > 0;
    const hidden = this.#entries.length - wanted.length;
    setText(
      this.#count,
      `${plural(wanted.length, 'entry').replace('entrys', 'entries')}${hidden > 0 ? `, ${hidden} filtered out` : ''}`,
    );
  }

  #toggle(): void {
    this.#isHeld = !this.#isHeld;
    this.pause.setAttribute('aria-pressed', String(this.#isHeld));
    setText(this.pause, this.#isHeld ? 'Go on' : 'Pause');
    if (!this.#isHeld) this.show();
  }
}
