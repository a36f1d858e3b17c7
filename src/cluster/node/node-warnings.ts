import type { ErrorLog } from '../../log/index.ts';
import { EVENT_LIMITS } from '../../zone/index.ts';
import type { ClusterMetrics } from './metrics.ts';
import type { StreamCounts } from './node-stream.ts';
import type { Gap } from './subject.ts';

/** Maximum different warnings until the store is reached again. */
const MOST_WARNED = 100;
/** Maximum conflicts that are logged, and announced, between two heartbeats: the rings must have room for others. */
const MOST_CONFLICTS = 10;
const MOST_ANNOUNCED = 100;
/** Maximum characters of a key that is shown. */
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

/** Logs and counts for a node, and tells the users of its rings. A warning that is repeated is logged once. */
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

  /** Called when the store is reached again: each warning may be logged once more. */
  begin(): void {
    this.#warned.clear();
  }

  /** Called with each heartbeat. Reports the number of conflicts beyond the limits. */
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

/** Returns as much of the beginning of a key as an event can hold. */
function shownKey(stream: string, key: string): string {
  let shown = key.slice(0, LONGEST_KEY);
  const isTooLarge = (): boolean =>
    Buffer.byteLength(JSON.stringify({ stream, key: shown })) > EVENT_LIMITS.payloadBytes;
  while (shown !== '' && isTooLarge()) shown = shown.slice(0, -10);
  return shown;
}
