import { onTestFinished } from 'vitest';
import {
  ClusterNode,
  type ClusterStore,
  keyedFields,
  type SealedEntry,
  sealEntry,
  type KeyChange,
  type KeyedSubject,
  type KeyState,
  type KeyWrite,
} from '../../src/cluster/index.ts';
import { storeAt, type TestStore } from './stores.ts';

let sequences = 0;

interface KeyEntry extends Partial<KeyWrite> {
  readonly origin?: string;
  readonly incarnation?: string;
  readonly sequence?: number;
}

/** An entry of the keyed stream `di:a`, sealed at a time. */
export function keyEntryOf(
  { seal }: Pick<TestStore, 'seal'>,
  { key = 'k', value, seen = 0, ttlMs = 0, origin = 'gw-a', incarnation = 'i1', sequence }: KeyEntry,
  madeMs = Date.now(),
): SealedEntry {
  const fields = keyedFields({ key, value, seen, ttlMs });
  const entry = { origin, incarnation, sequence: sequence ?? (sequences += 1), fields };
  return sealEntry({ ...seal, madeMs }, 'di:a', entry);
}

/** Values by key in the memory of a test. */
export class TestKeys implements KeyedSubject {
  readonly stream: string = 'di:a';
  readonly digest = 'test';
  readonly incarnation = `i${(sequences += 1)}`;
  birth = 0;
  readonly values = new Map<string, string>();
  readonly #waiting = new Map<string, KeyChange>();
  #position = 0;
  #sequence = 0;
  #listener: () => void = () => undefined;

  /** Changes a key here; without a value, it is deleted. */
  set(key: string, value?: string, ttlMs = 0): void {
    this.#keep(key, value);
    this.#waiting.delete(key);
    this.#waiting.set(key, { key, value, ttlMs, seen: this.#position, sequence: (this.#sequence += 1) });
    this.#listener();
  }

  watch(listener: () => void): () => void {
    this.#listener = listener;
    return () => (this.#listener = () => undefined);
  }

  changes(most: number): readonly KeyChange[] {
    return [...this.#waiting.values()].slice(0, most);
  }

  acknowledged({ key, sequence }: KeyChange): void {
    if (this.#waiting.get(key)?.sequence === sequence) this.#waiting.delete(key);
  }

  superseded({ key, sequence }: KeyChange): boolean {
    return this.#waiting.get(key)?.sequence === sequence && this.#waiting.delete(key);
  }

  renew({ key, value, ttlMs }: KeyChange): void {
    if (!this.#waiting.has(key)) this.set(key, value, ttlMs);
  }

  forget(): boolean {
    this.#position = 0;
    for (const [key, change] of this.#waiting) this.#waiting.set(key, { ...change, seen: 0 });
    return true;
  }

  repair(keys: ReadonlySet<string>): boolean {
    for (const key of keys) if (!this.#waiting.has(key)) this.set(key, this.values.get(key));
    return true;
  }

  renewOthers(keys: ReadonlySet<string>): boolean {
    for (const [key, value] of this.values)
      if (!keys.has(key) && !this.#waiting.has(key)) this.set(key, value);
    return true;
  }

  accepts({ value }: KeyWrite): boolean {
    return value !== 'refused';
  }

  apply(states: readonly KeyState[], position: number | undefined): readonly string[] {
    const overtaken: string[] = [];
    for (const { key, value, counter, isOwn } of states) {
      const waiting = this.#waiting.get(key);
      if (waiting && (isOwn || counter <= waiting.seen)) continue;
      if (waiting && this.#waiting.delete(key) && value !== waiting.value) overtaken.push(key);
      this.#keep(key, value);
    }
    this.#position = position ?? this.#position;
    return overtaken;
  }

  keepOnly(keys: ReadonlySet<string>): boolean {
    for (const key of this.values.keys())
      if (!keys.has(key) && !this.#waiting.has(key)) this.values.delete(key);
    return true;
  }

  #keep(key: string, value: string | undefined): void {
    if (value === undefined) this.values.delete(key);
    else this.values.set(key, value);
  }
}

export interface TestNode {
  readonly node: ClusterNode;
  readonly log: readonly string[];
  readonly events: readonly string[];
  /** What was counted, by name. */
  readonly counts: Readonly<Record<string, number>>;
  close(): Promise<void>;
}

interface LightNodeOptions {
  readonly url: string;
  readonly namespace: string;
  readonly timeoutMs?: number;
  readonly secret?: string;
  readonly incarnation?: string;
  /** Returns what the node gets in place of its store. */
  readonly through?: (store: ClusterStore) => ClusterStore;
}

/** A node without a gateway, which ends with the test. */
export function startLightNode(
  id: string,
  {
    url,
    namespace,
    timeoutMs = 500,
    secret = 'sesame',
    incarnation = `${id}-${(sequences += 1)}`,
    through = (store) => store,
  }: LightNodeOptions,
): TestNode {
  const log: string[] = [];
  const events: string[] = [];
  const counts: Record<string, number> = {};
  const count = (name: string) => (by?: number) => void (counts[name] = (counts[name] ?? 0) + (by ?? 1));
  const node = new ClusterNode({
    plan: { name: 'main', secret, namespace, bufferBytes: 1_000_000, batchMs: 5, heartbeatMs: 100 },
    nodeId: id,
    incarnation,
    facts: () => ({ version: '0', configuration: '', loadedAgeMs: 0 }),
    open: (owner) => through(storeAt(url, { namespace, retain: 1_000, timeoutMs }, owner)),
    backend: url,
    log: { write: (level, message) => void log.push(`${level}: ${message}`) },
    metrics: {
      sent: count('sent'),
      received: count('received'),
      duplicate: count('duplicate'),
      rejected: count('rejected'),
      gap: count('gap'),
      resynced: count('resynced'),
      dropped: count('dropped'),
      conflict: count('conflict'),
    },
    announce: (type, facts) => void events.push(`${type} ${JSON.stringify(facts)}`),
    changed: () => undefined,
  });
  onTestFinished(() => node.close());
  return { node, log, events, counts, close: () => node.close() };
}

/** A node that shares keys. */
export function startKeyedNode(
  id: string,
  options: Parameters<typeof startLightNode>[1],
  keys = new TestKeys(),
): TestNode & { readonly keys: TestKeys } {
  const started = startLightNode(id, options);
  started.node.addKeyed(keys);
  return { ...started, keys };
}
