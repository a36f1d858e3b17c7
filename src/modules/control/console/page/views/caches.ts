import {
  type CachePage,
  type CachePurge,
  type CachePurged,
  type CacheState,
  DATA_PATHS,
  type LargeEntry,
} from '../../contract.ts';
import { pause, read, write } from '../api.ts';
import { h, plainButton, primaryButton, type Row, Rows, setText, show, textInput } from '../dom.ts';
import { ago, bytes, count, percent, plural, span } from '../format.ts';
import { empty, meter, shareBar } from '../marks.ts';
import { sum } from '../pace.ts';
import type { OpenView } from '../shell.ts';

/** The cache statuses, each with its style and whether the response came from the cache. */
const STATUSES: Readonly<Record<string, { readonly tone: string; readonly served: boolean }>> = {
  HIT: { tone: 'ok', served: true },
  REVALIDATED: { tone: 'soft', served: true },
  UPDATING: { tone: 'moved', served: true },
  STALE: { tone: 'moved', served: true },
  EXPIRED: { tone: 'refused', served: false },
  MISS: { tone: 'other', served: false },
  BYPASS: { tone: 'other', served: false },
};
const ORDER = Object.keys(STATUSES);

const MATCHES = [
  ['key', 'Key'],
  ['prefix', 'Keys that begin with'],
  ['tag', 'Tag'],
] as const;

const COLUMNS = ['Key', 'Size', 'Uses', 'Last use', 'Fresh', ''];
const NUMBERS: ReadonlySet<string> = new Set(['Size', 'Uses']);

type Purge = (purge: CachePurge) => Promise<boolean>;

/** An entry of a cache; responses to the same key differ in their variants. */
interface ShownEntry {
  readonly id: string;
  readonly entry: LargeEntry;
  readonly nowMs: number;
}

class EntryRow implements Row<ShownEntry> {
  readonly element: HTMLElement;
  readonly #size = h('td', { class: 'number' });
  readonly #uses = h('td', { class: 'number' });
  readonly #used = h('td', { class: 'quiet' });
  readonly #fresh = h('td', { class: 'quiet' });

  constructor({ entry: { key, tags, isWhole } }: ShownEntry, purge: (key: string) => void) {
    this.element = h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row' },
        h('code', { title: key }, key),
        tags.length > 0 && h('small', {}, tags.join(', ')),
      ),
      this.#size,
      this.#uses,
      this.#used,
      this.#fresh,
      h('td', { class: 'end' }, isWhole && plainButton('Purge', () => purge(key), `Purge ${key}`)),
    );
  }

  update({ entry: { sizeBytes, uses, usedMs, validMs }, nowMs }: ShownEntry): void {
    setText(this.#size, bytes(sizeBytes));
    setText(this.#uses, count(uses));
    setText(this.#used, ago(usedMs, nowMs));
    setText(this.#fresh, validMs > nowMs ? `for ${span((validMs - nowMs) / 1000)}` : 'stale');
  }
}

interface ShownCache {
  readonly cache: CacheState;
  readonly nowMs: number;
}

/** A cache with its contents and counts, and the form that purges it. */
class CacheCard implements Row<ShownCache> {
  readonly element: HTMLElement;
  readonly #facts = h('span', { class: 'quiet' });
  readonly #trouble = h('p', { class: 'notice refused', hidden: true });
  readonly #figures = h('dl', { class: 'figures' });
  readonly #body = h('tbody');
  readonly #table = h(
    'table',
    { class: 'stored' },
    h('thead', {}, h('tr', {}, ...COLUMNS.map(head))),
    this.#body,
  );
  readonly #none = empty('Nothing is stored', 'Responses are kept while they are fresh or requested.');
  readonly #rows: Rows<ShownEntry>;

  constructor({ cache: { name } }: ShownCache, purge: Purge) {
    this.#rows = new Rows<ShownEntry>(
      this.#body,
      ({ id }) => id,
      (shown) => new EntryRow(shown, (text) => void purge({ cache: name, match: 'key', text })),
    );
    this.element = h(
      'section',
      { class: 'card stack tight', 'aria-label': `Cache ${name}` },
      h('header', { class: 'card-head' }, h('h2', {}, name), this.#facts),
      this.#trouble,
      this.#figures,
      purgeForm(name, purge),
      h(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Largest responses of ${name}` },
        this.#table,
        this.#none,
      ),
    );
  }

  update({ cache, nowMs }: ShownCache): void {
    setText(this.#facts, factsOf(cache));
    const trouble = troubleOf(cache, nowMs);
    this.#trouble.hidden = trouble === undefined;
    setText(this.#trouble, trouble ?? '');
    show(this.#figures, ...figuresOf(cache));
    this.#table.hidden = cache.largest.length === 0;
    this.#none.hidden = cache.largest.length > 0;
    this.#rows.update(
      identified(cache.largest).map(({ id, entry }) => ({ id: `${entry.isWhole} ${id}`, entry, nowMs })),
    );
  }
}

/** Numbers entries with the same key and tags, which a row does not change. */
function identified(
  entries: readonly LargeEntry[],
): readonly { readonly id: string; readonly entry: LargeEntry }[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const text = [entry.key, ...entry.tags].join('\n');
    const nth = (seen.get(text) ?? 0) + 1;
    seen.set(text, nth);
    return { id: `${nth} ${text}`, entry };
  });
}

function head(name: string): HTMLElement {
  return h('th', { scope: 'col', ...(NUMBERS.has(name) && { class: 'number' }) }, name);
}

function purgeForm(cache: string, purge: Purge): HTMLElement {
  const options = MATCHES.map(([match, label]) => h('option', { value: match }, label));
  const match = h('select', { 'aria-label': `What to purge in ${cache}` }, ...options);
  const text = textInput(`Key, beginning or tag in ${cache}`, {
    required: true,
    maxlength: 4096,
    placeholder: 'httpexample.com/news',
  });
  const submit = async (): Promise<void> => {
    const wanted = { cache, match: match.value as CachePurge['match'], text: text.value };
    if (await purge(wanted)) text.value = '';
  };
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    void submit();
  };
  return h('form', { class: 'line', onsubmit }, match, text, primaryButton('Purge'));
}

function factsOf({ directory, notStored, evictions, purged, faults }: CacheState): string {
  return [
    directory,
    ...(purged > 0 ? [`${count(purged)} purged`] : []),
    ...reasons('left', evictions),
    ...reasons('not stored', notStored),
    ...reasons('faults', faults),
  ].join(' · ');
}

/** `3 left (size 2, inactive 1)`. */
function reasons(what: string, counts: Readonly<Record<string, number>>): readonly string[] {
  const known = Object.entries(counts).filter(([, value]) => value > 0);
  if (known.length === 0) return [];
  const words = known.map(([reason, value]) => `${reason} ${count(value)}`).join(', ');
  return [`${count(sum(known.map(([, value]) => value)))} ${what} (${words})`];
}

function troubleOf({ isLoading, failingSinceMs }: CacheState, nowMs: number): string | undefined {
  if (failingSinceMs > 0)
    return `Writing to the disk fails; the first time was ${ago(failingSinceMs, nowMs)}. See the log.`;
  if (isLoading) return 'The directory is being read: more is stored than these numbers show.';
  return undefined;
}

function figuresOf(cache: CacheState): readonly HTMLElement[] {
  const { requests, entries, bytes: used, maxBytes, indexBytes, indexFreeBytes } = cache;
  const statuses = Object.entries(requests).toSorted(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const total = sum(Object.values(requests));
  const served = sum(statuses.map(([status, value]) => (STATUSES[status]?.served ? value : 0)));
  const shares = statuses.map(([name, value]) => ({ name, value, tone: STATUSES[name]?.tone ?? 'other' }));
  const inIndex = indexBytes === 0 ? 0 : 1 - indexFreeBytes / indexBytes;
  const size = maxBytes === 0 ? 'no limit' : `of ${bytes(maxBytes)}`;
  return [
    figure('Served without the upstream', total === 0 ? '–' : percent(served / total), [
      total > 0 && shareBar(shares, { most: shares.length, look: 'codes wide' }),
    ]),
    figure('Stored responses', count(entries), [
      h('small', {}, entries === 0 ? '' : `${bytes(used / entries)} each`),
    ]),
    figure('Size', bytes(used), [
      maxBytes > 0 && meter(used / maxBytes, `${percent(used / maxBytes)} of the limit in use`),
      h('small', {}, size),
    ]),
    figure('Index', `${percent(inIndex)} in use`, [
      meter(inIndex, `${percent(inIndex)} of the index in use`),
      h('small', {}, `${bytes(indexFreeBytes)} of ${bytes(indexBytes)} free`),
    ]),
  ];
}

function figure(name: string, value: string, more: readonly (Node | false)[]): HTMLElement {
  return h('div', {}, h('dt', {}, name), h('dd', {}, h('b', {}, value), ...more));
}

const EVERY_MS = 2_000;

/** The view of caches, which can be purged for all workers at once. */
export const openCaches: OpenView = ({ signal }) => {
  const list = new CacheList();
  void list.run(signal);
  return { title: 'Caches', element: list.element };
};

class CacheList {
  readonly #message = h('p', { class: 'notice', role: 'alert', hidden: true });
  readonly #cards = h('div', { class: 'stack' });
  readonly #none = h(
    'section',
    { class: 'card', hidden: true },
    empty('No caches', 'Declare one in the http block: proxy_cache_path /var/cache/gw keys_zone=pages:10m;'),
  );
  readonly #rows = new Rows<ShownCache>(
    this.#cards,
    ({ cache }) => cache.name,
    (shown) => new CacheCard(shown, (purge) => this.#purge(purge)),
  );
  readonly element = h('div', { class: 'stack' }, this.#message, this.#cards, this.#none);
  #hasFailed = false;

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#show(await read<CachePage>(DATA_PATHS.caches, {}, signal));
        if (this.#hasFailed) this.#tell(undefined);
      } catch (error) {
        if (!signal.aborted) this.#fail(error as Error);
      }
      await pause(EVERY_MS, signal);
    }
  }

  #show({ caches, nowMs }: CachePage): void {
    this.#rows.update(caches.map((cache) => ({ cache, nowMs })));
    this.#none.hidden = caches.length > 0;
  }

  async #purge(purge: CachePurge): Promise<boolean> {
    try {
      const page = await write<CachePurged>(DATA_PATHS.caches, purge);
      this.#show(page);
      this.#tell(
        `${plural(page.purged, 'response')} removed from "${purge.cache}": ${purge.match} ${purge.text}`,
      );
      return true;
    } catch (error) {
      this.#fail(error as Error);
      return false;
    }
  }

  #fail({ message }: Error): void {
    this.#tell(message, 'failed');
    this.#hasFailed = true;
  }

  #tell(message: string | undefined, tone = 'ok'): void {
    this.#hasFailed = false;
    this.#message.className = `notice ${tone}`;
    this.#message.hidden = message === undefined;
    setText(this.#message, message ?? '');
  }
}
