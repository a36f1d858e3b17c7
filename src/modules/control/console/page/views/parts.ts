import type { CommandLoad, DatabaseLoad, UpstreamLoad, WorkerLoad } from '../../contract.ts';
import type { QuotaLoad } from '../../part-loads.ts';
import { quantile } from '../pace.ts';
import { type Child, h } from '../dom.ts';
import { ago, bytes, clock, count, latency, percent, plural, span } from '../format.ts';
import type { LiveOverview } from '../api.ts';
import { meter } from '../marks.ts';

/** Returns the parts that the gateway depends on: databases, stores, rings, workers, upstreams, configuration. */
export function partCards(seen: LiveOverview): readonly HTMLElement[] {
  const { databases, stores, rings, quotas, issuers, certificates, workers, upstreams, bounds } = seen;
  return [
    card(
      'Databases',
      'No location uses a database.',
      databases.map((load) => databaseRow(load, bounds)),
    ),
    card(
      'Key-value commands',
      'No command has been sent yet.',
      stores.map((load) => commandRow(load, bounds)),
    ),
    card('Workers', 'No worker has reported yet.', workers.map(workerRow)),
    card(
      'Event rings',
      'No location publishes events.',
      rings.map(({ name, published, dropped }) =>
        row(name, { value: plural(published, 'event'), detail: `${count(dropped)} overwritten` }),
      ),
    ),
    ...(quotas.length > 0 ? [card('Quotas', '', quotas.map(quotaRow))] : []),
    ...(issuers.length > 0 ? [card('Issuers of tokens', '', issuers.map(issuerRow))] : []),
    ...(certificates.length > 0
      ? [
          card(
            'Certificates',
            '',
            certificates.map((one) => certificateRow(one, seen.nowMs)),
          ),
        ]
      : []),
    card('Upstreams', 'This configuration has no upstream groups.', upstreams.map(upstreamRow)),
    configurationCard(seen),
  ];
}

function card(title: string, none: string, rows: readonly HTMLElement[]): HTMLElement {
  return h(
    'section',
    { class: 'card part' },
    h('header', { class: 'card-head' }, h('h2', {}, title)),
    rows.length === 0 ? h('p', { class: 'none' }, none) : h('dl', {}, ...rows),
  );
}

function row(
  name: string,
  { value, detail, mark }: { value: string; detail: string; mark?: Child },
): HTMLElement {
  return h(
    'div',
    { class: 'fact' },
    h('dt', { title: name }, shortened(name)),
    h('dd', {}, mark, h('b', {}, value), h('small', {}, detail)),
  );
}

function databaseRow(
  { name, max, available, waiting, queries, timeouts, unreached, buckets }: DatabaseLoad,
  bounds: readonly number[],
): HTMLElement {
  const used = max - available;
  const late = timeouts > 0 ? ` · ${plural(timeouts, 'timeout')}` : '';
  const away = unreached > 0 ? ` · ${plural(unreached, 'request')} failed while it was away` : '';
  return row(name, {
    value: `${count(used)} of ${count(max)} in use`,
    detail: `${count(waiting)} waiting · ${plural(queries, 'batch').replace('batchs', 'batches')} · p95 ${latency(quantile(buckets, bounds, 0.95))}${late}${away}`,
    mark: meter(max > 0 ? used / max : 0, `${used} of ${max} connections in use`),
  });
}

function commandRow(
  { command, sent, errors, hits, misses, buckets }: CommandLoad,
  bounds: readonly number[],
): HTMLElement {
  const found = hits + misses > 0 ? ` · ${percent(hits / (hits + misses))} found` : '';
  const failed = errors > 0 ? ` · ${plural(errors, 'error')}` : '';
  return row(command, {
    value: count(sent),
    detail: `p95 ${latency(quantile(buckets, bounds, 0.95))}${found}${failed}`,
  });
}

function workerRow({ id, lagMs, heapBytes, restarts }: WorkerLoad): HTMLElement {
  return row(`worker ${id}`, {
    value: `${bytes(heapBytes)} heap`,
    detail: `event loop ${latency(lagMs / 1000)} late · ${restarts === 0 ? 'never restarted' : plural(restarts, 'restart')}`,
  });
}

function quotaRow({ name, passed, refused, failed }: QuotaLoad): HTMLElement {
  const broken = failed > 0 ? ` · ${count(failed)} failed` : '';
  return row(name, {
    value: plural(passed, 'request'),
    detail: `${count(refused)} refused${broken}`,
  });
}

function issuerRow({ name, keysAgeMs }: LiveOverview['issuers'][number]): HTMLElement {
  return row(name, {
    value: keysAgeMs === null ? 'no keys' : 'keys',
    detail: keysAgeMs === null ? 'never fetched' : `fetched ${Math.round(keysAgeMs / 1_000)} s ago`,
  });
}

function certificateRow(
  { name, state, notAfterMs, isOrdered, nextMs = 0, fault }: LiveOverview['certificates'][number],
  nowMs: number,
): HTMLElement {
  const left = notAfterMs === undefined ? 0 : (notAfterMs - nowMs) / 1_000;
  const ends = {
    missing: 'there is none',
    expired: `expired ${span(-left)} ago`,
    valid: `ends in ${span(left)}`,
  };
  const next =
    nextMs === 0
      ? ''
      : nextMs > nowMs
        ? `next order in ${span((nextMs - nowMs) / 1_000)}`
        : 'an order is due';
  const detail = [isOrdered === true ? 'it is being ordered' : next, fault].filter(Boolean).join(' · ');
  return row(name, { value: ends[state], detail });
}

function upstreamRow({ name, peers }: UpstreamLoad): HTMLElement {
  const up = peers.filter(({ state }) => state === 'up').length;
  const shown = peers.map(({ address, state, requests }) => {
    const busy = requests > 0 ? ` · ${plural(requests, 'request')}` : '';
    return state === 'up' ? address + busy : `${address} (${state})${busy}`;
  });
  return row(name, {
    value: `${count(up)} of ${plural(peers.length, 'peer')} up`,
    detail: shown.join(', '),
  });
}

function configurationCard({ configuration, gateway, nowMs }: LiveOverview): HTMLElement {
  const { generation, isNewest, loadedMs, findings } = configuration;
  const { emerg, warn, notice } = findings;
  const found = emerg + warn + notice;
  return card('Configuration', '', [
    row('last load', {
      value: isNewest ? 'succeeded' : 'refused',
      detail: `generation ${generation}, active since ${clock(loadedMs)}, ${ago(loadedMs, nowMs)}`,
    }),
    row('findings', {
      value: found === 0 ? 'none' : count(found),
      detail: `${count(emerg)} errors · ${count(warn)} warnings`,
    }),
    row('process', { value: `pid ${gateway.pid}`, detail: `Node.js ${gateway.node}` }),
  ]);
}

/** Shortens a path to its last two names: the name of a database may be the path of its socket. */
function shortened(name: string): string {
  return name.startsWith('/') ? `…/${name.split('/').slice(-2).join('/')}` : name;
}
