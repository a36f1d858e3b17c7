import {
  DATA_PATHS,
  type GroupState,
  type PeerChange,
  type PeerState,
  type UpstreamPage,
} from '../../contract.ts';
import { pause, read, write } from '../api.ts';
import { h, plainButton, type Row, Rows, setText, show } from '../dom.ts';
import { ago, count, latency, percent, plural } from '../format.ts';
import { chip, empty, meter } from '../marks.ts';
import { quantile } from '../pace.ts';
import type { OpenView } from '../shell.ts';

/** The style of each state. */
const TONES: Readonly<Record<PeerState['state'], string>> = {
  up: 'ok',
  slow_start: 'moved',
  draining: 'refused',
  checking: 'refused',
  unavailable: 'failed',
  failing: 'failed',
  unhealthy: 'failed',
  down: '',
};

const COLUMNS = ['Peer', 'State', 'Weight', 'Active', 'Share of picks', 'Failures', 'p95', 'Last probe', ''];
const NUMBERS: ReadonlySet<string> = new Set(['Active', 'Failures', 'p95']);

/** A peer, the group that it belongs to, and the time of the page. */
interface ShownPeer {
  /** Its address; a server that is listed several times is a separate peer each time. */
  readonly key: string;
  readonly peer: PeerState;
  readonly group: GroupState;
  readonly nowMs: number;
}

type Change = (change: PeerChange) => void;

/** A row with a peer and the fields that change it. */
class PeerRow implements Row<ShownPeer> {
  readonly element: HTMLElement;
  readonly #state = h('td');
  readonly #weight: HTMLInputElement;
  readonly #fixedWeight = h('span');
  readonly #active = h('td', { class: 'number' });
  readonly #share = h('td');
  readonly #failures = h('td', { class: 'number' });
  readonly #p95 = h('td', { class: 'number' });
  readonly #probe = h('td', { class: 'quiet' });
  readonly #drain: HTMLButtonElement;
  readonly #change: Change;
  #shown: ShownPeer;

  constructor(shown: ShownPeer, change: Change) {
    this.#shown = shown;
    this.#change = change;
    const { address, backup } = shown.peer;
    this.#weight = h('input', {
      type: 'number',
      min: 1,
      max: 65_535,
      class: 'weight',
      'aria-label': `Weight of ${address}`,
      onchange: () => this.#weigh(),
    });
    this.#drain = plainButton('', () => this.#toggle());
    this.element = h(
      'tr',
      {},
      h('th', { scope: 'row' }, h('code', {}, address), backup && h('small', {}, 'backup')),
      this.#state,
      h('td', {}, this.#weight, this.#fixedWeight),
      this.#active,
      this.#share,
      this.#failures,
      this.#p95,
      this.#probe,
      h('td', { class: 'end' }, this.#drain),
    );
  }

  update(shown: ShownPeer): void {
    this.#shown = shown;
    const { peer, group, nowMs } = shown;
    const { address, state, sinceMs, weight, requests, picks, share, failures, drains } = peer;
    const since = sinceMs === undefined ? '' : ago(sinceMs, nowMs);
    show(this.#state, chip(state.replace('_', ' '), TONES[state]), h('small', {}, since));
    const isWritable = group.members?.isWritable ?? false;
    this.#weight.hidden = !isWritable;
    this.#fixedWeight.hidden = isWritable;
    if (document.activeElement !== this.#weight) this.#weight.value = String(weight);
    setText(this.#fixedWeight, count(weight));
    setText(this.#active, count(requests));
    const words = `${percent(share)}, ${plural(picks, 'pick')}`;
    show(this.#share, meter(share, words, 'ok'), h('small', {}, words));
    setText(this.#failures, count(failures));
    const { buckets, bounds } = peer.times ?? { buckets: [], bounds: [] };
    setText(this.#p95, latency(quantile(buckets, bounds, 0.95)));
    setText(this.#probe, probeText(peer, nowMs));
    this.#drain.hidden = group.members?.source === undefined;
    setText(this.#drain, drains ? 'Undrain' : 'Drain');
    this.#drain.setAttribute('aria-label', `${drains ? 'Undrain' : 'Drain'} ${address}`);
  }

  #toggle(): void {
    const { peer, group } = this.#shown;
    const { address } = peer;
    this.#change({ upstream: group.name, ...(peer.drains ? { undrain: address } : { drain: address }) });
  }

  #weigh(): void {
    const { peer, group } = this.#shown;
    this.#change({ upstream: group.name, weigh: peer.address, weight: Number(this.#weight.value) });
  }
}

/** Returns a text for the newest of the last probes, or of the failed ones if any has failed. */
function probeText({ probes }: PeerState, nowMs: number): string {
  const failed = probes.filter(({ verdict }) => verdict === 'unhealthy');
  const [newest] = (failed.length > 0 ? failed : probes).toSorted((a, b) => b.probedMs - a.probedMs);
  if (!newest) return '–';
  const { uri, status, probedMs, spentMs } = newest;
  if (probedMs === 0) return 'not yet';
  const result = status === 0 ? 'no response' : `${status} in ${latency(spentMs / 1000)}`;
  return `${result}, ${ago(probedMs, nowMs)} · ${uri}`;
}

/** A group with its peers. */
class GroupCard implements Row<ShownGroup> {
  readonly #facts = h('span', { class: 'quiet' });
  readonly #error = h('p', { class: 'notice refused', hidden: true });
  readonly #body = h('tbody');
  readonly #none = empty('No peers', 'Requests to this upstream get a 502.');
  readonly #table = h(
    'table',
    { class: 'peers' },
    h('thead', {}, h('tr', {}, ...COLUMNS.map(head))),
    this.#body,
  );
  readonly #rows: Rows<ShownPeer>;
  readonly element: HTMLElement;

  constructor({ group: { name } }: ShownGroup, change: Change) {
    this.#rows = new Rows<ShownPeer>(
      this.#body,
      ({ key }) => key,
      (shown) => new PeerRow(shown, change),
    );
    this.element = h(
      'section',
      { class: 'card', 'aria-label': `Upstream ${name}` },
      h('header', { class: 'card-head' }, h('h2', {}, name), this.#facts),
      this.#error,
      h(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Peers of ${name}` },
        this.#table,
        this.#none,
      ),
    );
  }

  update({ group, nowMs }: ShownGroup): void {
    const { peers, members } = group;
    setText(this.#facts, factsOf(group, nowMs));
    const { lastErrorMs = 0, lastSuccessMs = 0, lastErrorCode = 0 } = members ?? {};
    const isFailing = lastErrorMs > lastSuccessMs;
    this.#error.hidden = !isFailing;
    setText(
      this.#error,
      `The last ${members?.isWritable ? 'change' : 'refresh'} failed ${ago(lastErrorMs, nowMs)}, with code ${lastErrorCode}${members?.isWritable ? '' : ': see the log'}.`,
    );
    this.#table.hidden = peers.length === 0;
    this.#none.hidden = peers.length > 0;
    this.#rows.update(keyed(peers).map(([key, peer]) => ({ key, peer, group, nowMs })));
  }
}

interface ShownGroup {
  readonly group: GroupState;
  readonly nowMs: number;
}

/** Adds a unique key to each peer. */
function keyed(peers: readonly PeerState[]): readonly (readonly [key: string, peer: PeerState])[] {
  const seen = new Map<string, number>();
  return peers.map((peer) => {
    const nth = (seen.get(peer.address) ?? 0) + 1;
    seen.set(peer.address, nth);
    return [`${peer.address} ${nth}`, peer] as const;
  });
}

function head(name: string): HTMLElement {
  return h('th', { scope: 'col', ...(NUMBERS.has(name) && { class: 'number' }) }, name);
}

function factsOf({ method, members }: GroupState, nowMs: number): string {
  const selected = method.replaceAll('_', ' ');
  if (!members) return `${selected} · fixed by the configuration`;
  const { generation, source, lastSuccessMs, isRestored } = members;
  return [
    selected,
    `generation ${generation}`,
    source === undefined
      ? 'nothing changes it'
      : source === 'static'
        ? 'changed by the API'
        : `source ${source}`,
    ...(lastSuccessMs > 0
      ? [`${source === 'static' ? 'changed' : 'refreshed'} ${ago(lastSuccessMs, nowMs)}`]
      : []),
    ...(isRestored ? ['restored from its journal'] : []),
  ].join(' · ');
}

const EVERY_MS = 2_000;

/** The view of upstreams, whose peers can be drained and weighed where an API changes them. */
export const openUpstreams: OpenView = ({ signal }) => {
  const list = new UpstreamList();
  void list.run(signal);
  return { title: 'Upstreams', element: list.element };
};

class UpstreamList {
  readonly #message = h('p', { class: 'notice failed', role: 'alert', hidden: true });
  readonly #groups = h('div', { class: 'stack' });
  readonly #none = h(
    'section',
    { class: 'card', hidden: true },
    empty(
      'No upstream groups',
      'They are named by "upstream" blocks: upstream app { server 10.0.0.1:8080; }',
    ),
  );
  readonly #rows = new Rows<ShownGroup>(
    this.#groups,
    ({ group }) => group.name,
    (shown) => new GroupCard(shown, (change) => void this.#change(change)),
  );
  readonly element = h('div', { class: 'stack' }, this.#message, this.#groups, this.#none);

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#show(await read<UpstreamPage>(DATA_PATHS.upstreams, {}, signal));
      } catch (error) {
        if (!signal.aborted) this.#tell((error as Error).message);
      }
      await pause(EVERY_MS, signal);
    }
  }

  #show({ upstreams, nowMs }: UpstreamPage): void {
    this.#rows.update(upstreams.map((group) => ({ group, nowMs })));
    this.#none.hidden = upstreams.length > 0;
    this.#tell(undefined);
  }

  async #change(change: PeerChange): Promise<void> {
    try {
      this.#show(await write<UpstreamPage>(DATA_PATHS.upstreams, change));
    } catch (error) {
      this.#tell((error as Error).message);
    }
  }

  #tell(message: string | undefined): void {
    this.#message.hidden = message === undefined;
    setText(this.#message, message ?? '');
  }
}
