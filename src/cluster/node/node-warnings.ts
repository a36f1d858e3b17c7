import type { ErrorLog } from '../../log/index.ts';
import { EVENT_LIMITS } from '../../zone/index.ts';
import type { ClusterMetrics } from './metrics.ts';
import type { StreamCounts } from './node-stream.ts';
import type { Gap } from './subject.ts';

/** Different warnings until the store is reached anew. */
const MOST_WARNED = 100;
/** Conflicts that are logged between two heartbeats, and those that are announced: there are other events in the rings. */
const MOST_CONFLICTS = 10;
const MOST_ANNOUNCED = 100;
/** Characters of a key. */
const LONGEST_KEY = 200;

interface WarningParts {
  /** The name of the cluster. */
  readonly name: string;
  readonly log: ErrorLog;
  readonly metrics: ClusterMetrics;
  readonly announce: (type: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Called when the status has changed. */
  readonly changed: () => void;
}

/** What a node logs, counts, and tells the users of its rings; what happens again and again is logged once. */
export class NodeWarnings implements StreamCounts {
  readonly #parts: WarningParts;
  /** Warnings that were logged. */
  readonly #warned = new Set<string>();
  #conflicts = 0;

  constructor(parts: WarningParts) {
    this.#parts = parts;
  }

  write(level: 'error' | 'warn' | 'notice', message: string): void {
    this.#parts.log.write(level, `cluster "${this.#parts.name}": ${message}`);
  }

  once(key: string, message: string): void {
    if (this.#warned.has(key) || this.#warned.size >= MOST_WARNED) return;
    this.#warned.add(key);
    this.write('warn', message);
  }

  /** The store is reached anew. */
  begin(): void {
    this.#warned.clear();
  }

  /** With each heartbeat. */
  beat(): void {
    const more = this.#conflicts - MOST_CONFLICTS;
    if (more > 0) this.write('warn', `${more} more changes of keys were given up`);
    const untold = this.#conflicts - MOST_ANNOUNCED;
    if (untold > 0) this.#parts.announce('cluster_conflict', { more: untold });
    this.#conflicts = 0;
  }

  sent(count: number): void {
    this.#parts.metrics.sent(count);
  }

  received(count: number): void {
    this.#parts.metrics.received(count);
  }

  duplicate(): void {
    this.#parts.metrics.duplicate();
  }

  rejected(stream: string): void {
    this.#parts.metrics.rejected();
    const why = 'they were made with another secret, or are beyond the limits';
    this.once(`rejected ${stream}`, `entries of "${stream}" are dropped: ${why}`);
  }

  gap(stream: string, { from, to }: Gap): void {
    this.#parts.metrics.gap();
    this.write('warn', `entries ${from} to ${to} of "${stream}" are missing`);
    this.#parts.changed();
  }

  resynced(): void {
    this.#parts.metrics.resynced();
  }

  keysMissed(stream: string, gap: Gap): void {
    this.gap(stream, gap);
    this.#parts.announce('cluster_gap', { stream, ...gap });
  }

  dropped(stream: string, count: number): void {
    this.#parts.metrics.dropped(count);
    this.once(`full ${stream}`, `the buffer is full: the oldest entries of "${stream}" are dropped`);
  }

  forged(stream: string): void {
    const why = 'another node has this id, or somebody else writes into the store';
    this.once(`forged ${stream}`, `the store refuses new entries of "${stream}" as old ones: ${why}`);
  }

  conflict(stream: string, key: string): void {
    this.#parts.metrics.conflict();
    const shown = shownKey(stream, key);
    this.#conflicts += 1;
    if (this.#conflicts <= MOST_ANNOUNCED) this.#parts.announce('cluster_conflict', { stream, key: shown });
    if (this.#conflicts > MOST_CONFLICTS) return;
    this.write(
      'warn',
      `the change of "${shown}" in "${stream}" was given up: another node had changed it first`,
    );
  }
}

/** The beginning of a key, as much as fits an event. */
function shownKey(stream: string, key: string): string {
  let shown = key.slice(0, LONGEST_KEY);
  const isTooLarge = (): boolean =>
    Buffer.byteLength(JSON.stringify({ stream, key: shown })) > EVENT_LIMITS.payloadBytes;
  while (shown !== '' && isTooLarge()) shown = shown.slice(0, -10);
  return shown;
}
