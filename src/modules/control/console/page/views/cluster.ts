import { type ClusterPage, type ClusterState, DATA_PATHS, type SharedStreamState } from '../../contract.ts';
import { pause, read } from '../api.ts';
import { h, type Row, Rows, setText, show } from '../dom.ts';
import { ago, bytes, count, latency, percent, plural } from '../format.ts';
import { chip, empty, meter } from '../marks.ts';
import { sum } from '../pace.ts';
import type { OpenView } from '../shell.ts';

const TONES: Readonly<Record<ClusterState['state'], string>> = {
  up: 'ok',
  starting: 'refused',
  down: 'failed',
};

const NODE_COLUMNS = ['Node', 'Version', 'Last heartbeat'];
const STREAM_COLUMNS = ['Stream', 'Carries', 'Position', 'Lag', 'Gaps'];
const NUMBERS: ReadonlySet<string> = new Set(['Position', 'Lag', 'Gaps']);

/** A row of texts, the first of which is its name. */
interface TextItem {
  readonly name: string;
  /** Beneath the name. */
  readonly note?: string;
  readonly texts: readonly string[];
}

class TextRow implements Row<TextItem> {
  readonly element: HTMLElement;
  readonly #cells: readonly HTMLElement[];

  constructor({ name, note }: TextItem, columns: readonly string[]) {
    this.#cells = columns.slice(1).map((column) => h('td', NUMBERS.has(column) ? { class: 'number' } : {}));
    const first = h('th', { scope: 'row' }, h('code', {}, name), note !== undefined && h('small', {}, note));
    this.element = h('tr', {}, first, ...this.#cells);
  }

  update({ texts }: TextItem): void {
    for (const [nth, cell] of this.#cells.entries()) setText(cell, texts[nth] ?? '');
  }
}

/** A table of texts, with a note while it is empty. */
class TextTable {
  readonly element: HTMLElement;
  readonly #table: HTMLElement;
  readonly #none: HTMLElement;
  readonly #rows: Rows<TextItem>;

  constructor(label: string, { columns, none }: { columns: readonly string[]; none: HTMLElement }) {
    const body = h('tbody');
    this.#none = none;
    this.#table = h('table', {}, h('thead', {}, h('tr', {}, ...columns.map(head))), body);
    this.#rows = new Rows<TextItem>(
      body,
      ({ name }) => name,
      (item) => new TextRow(item, columns),
    );
    const region = { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label };
    this.element = h('div', region, this.#table, none);
  }

  update(items: readonly TextItem[]): void {
    this.#rows.update(items);
    this.#table.hidden = items.length === 0;
    this.#none.hidden = items.length > 0;
  }
}

function head(name: string): HTMLElement {
  return h('th', { scope: 'col', ...(NUMBERS.has(name) && { class: 'number' }) }, name);
}

/** A cluster with its store, its nodes and its streams. */
class ClusterCard implements Row<ClusterState> {
  readonly element: HTMLElement;
  readonly #store = h('span', { class: 'chips' });
  readonly #notices = h('div', { class: 'notices' });
  readonly #figures = h('dl', { class: 'figures' });
  readonly #nodes: TextTable;
  readonly #more = h('p', { class: 'quiet', hidden: true });
  readonly #streams: TextTable;

  constructor({ name }: ClusterState) {
    this.#nodes = new TextTable(`Nodes of ${name}`, {
      columns: NODE_COLUMNS,
      none: empty('No nodes', 'They are listed once the store can be reached.'),
    });
    this.#streams = new TextTable(`Streams of ${name}`, {
      columns: STREAM_COLUMNS,
      none: empty('No streams', 'Event rings and purges have one each: worker_events_zone bus cluster=…;'),
    });
    this.element = h(
      'section',
      { class: 'card stack tight', 'aria-label': `Cluster ${name}` },
      h('header', { class: 'card-head' }, h('h2', {}, name), this.#store),
      this.#notices,
      this.#figures,
      this.#nodes.element,
      this.#more,
      this.#streams.element,
    );
  }

  update(cluster: ClusterState): void {
    const { state, store = '', nodeId, nodes, nodesTotal, streams } = cluster;
    show(this.#store, h('code', {}, store), chip(state, TONES[state]));
    show(this.#notices, ...noticesOf(cluster));
    show(this.#figures, ...figuresOf(cluster));
    this.#nodes.update(nodes.map((node) => nodeItem(node, nodeId)));
    this.#more.hidden = nodes.length >= nodesTotal;
    setText(this.#more, `${count(nodes.length)} of ${plural(nodesTotal, 'node')} are listed.`);
    this.#streams.update(streams.map(streamItem));
  }
}

function noticesOf({ reason, conflicts, warnings }: ClusterState): readonly HTMLElement[] {
  const told = [
    ...warnings.map((warning) => `${warning.slice(0, 1).toUpperCase()}${warning.slice(1)}.`),
    ...conflicts.map(
      ({ subject, node }) =>
        `Node ${node} has other parameters for ${subject}: give all the same configuration.`,
    ),
  ].map((text) => notice('refused', text));
  if (reason === undefined) return told;
  return [notice('failed', `The store cannot be used: ${reason}. This gateway goes on alone.`), ...told];
}

function notice(tone: string, text: string): HTMLElement {
  return h('p', { class: `notice ${tone}` }, text);
}

function figuresOf(cluster: ClusterState): readonly HTMLElement[] {
  const { nodeId, nodesTotal, streams, bufferBytes, mostBufferBytes } = cluster;
  const lagMs = Math.max(0, ...streams.map((stream) => stream.lagMs));
  const used = mostBufferBytes === 0 ? 0 : bufferBytes / mostBufferBytes;
  return [
    figure('Live nodes', count(nodesTotal), h('small', {}, `this one is ${nodeId || 'not named yet'}`)),
    figure('Longest lag', lagText(lagMs), h('small', {}, plural(streams.length, 'stream'))),
    figure(
      'Gaps',
      count(sum(streams.map(({ gaps }) => gaps))),
      h('small', {}, 'times that entries were missing'),
    ),
    figure(
      'Waits for the store',
      bytes(bufferBytes),
      meter(used, `${percent(used)} of the buffer in use`),
      h('small', {}, `of ${bytes(mostBufferBytes)}`),
    ),
  ];
}

function figure(name: string, value: string, ...more: readonly Node[]): HTMLElement {
  return h('div', {}, h('dt', {}, name), h('dd', {}, h('b', {}, value), ...more));
}

function nodeItem({ name, version, ageMs }: ClusterState['nodes'][number], own: string): TextItem {
  return {
    name,
    ...(name === own && { note: 'this gateway' }),
    texts: [version, ago(-ageMs, 0)],
  };
}

function streamItem({ name, subject, position, lagMs, gaps }: SharedStreamState): TextItem {
  return { name, texts: [subject, count(position), lagText(lagMs), count(gaps)] };
}

function lagText(lagMs: number): string {
  return lagMs === 0 ? 'none' : latency(lagMs / 1000);
}

const EVERY_MS = 2_000;

/** The view of clusters: the nodes, the store, and how far this gateway has read the streams. */
export const openCluster: OpenView = ({ signal }) => {
  const list = new ClusterList();
  void list.run(signal);
  return { title: 'Cluster', element: list.element };
};

class ClusterList {
  readonly #message = h('p', { class: 'notice failed', role: 'alert', hidden: true });
  readonly #cards = h('div', { class: 'stack' });
  readonly #none = h(
    'section',
    { class: 'card', hidden: true },
    empty(
      'No cluster',
      'Gateways share what they know through a store: cluster main { backend redis://…; secret …; }',
    ),
  );
  readonly #rows = new Rows<ClusterState>(
    this.#cards,
    ({ name }) => name,
    (cluster) => new ClusterCard(cluster),
  );
  readonly element = h('div', { class: 'stack' }, this.#message, this.#cards, this.#none);

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { clusters } = await read<ClusterPage>(DATA_PATHS.clusters, {}, signal);
        this.#rows.update(clusters);
        this.#none.hidden = clusters.length > 0;
        this.#tell(undefined);
      } catch (error) {
        if (!signal.aborted) this.#tell((error as Error).message);
      }
      await pause(EVERY_MS, signal);
    }
  }

  #tell(message: string | undefined): void {
    this.#message.hidden = message === undefined;
    setText(this.#message, message ?? '');
  }
}
