import { createHash } from 'node:crypto';
import type { WorkerScope } from '../../contract/index.ts';
import { endpointsOf } from '../../redis/index.ts';
import { readParsed, WatchedFiles } from '../../system/index.ts';
import { type Dictionary, DictionaryFault, openDictionary, zoneIdentity } from '../../zone/index.ts';
import type { AuthApiKeyConfig } from './directives.ts';
import { type KeyEntries, type KeyEntry, parseKeyEntry, parseKeyLines } from './key-lines.ts';
import { type Found, RedisKeys } from './redis-keys.ts';

const FORM = { parse: parseKeyLines, what: 'API keys', mostBytes: 4_194_304 };

/** The result of looking up a key: its entry, or why sources could not tell. */
export interface Lookup {
  readonly entry?: KeyEntry;
  readonly faults: readonly string[];
}

/** The fault of a file of keys, if it has one. */
export function fileFault(path: string): string | undefined {
  const content = readParsed(path, FORM);
  return 'fault' in content ? content.fault : undefined;
}

/** Where the keys of a location are: files, a dictionary and a store, asked in this order. */
export class KeySources {
  readonly #config: AuthApiKeyConfig;
  readonly #files: WatchedFiles<KeyEntries>;
  readonly #dictionary: Dictionary | undefined;
  readonly #redis: RedisKeys | undefined;
  /** An explanation reads files alone. */
  readonly #isPartly: boolean;

  constructor(config: AuthApiKeyConfig, worker: WorkerScope, { isRunning }: { readonly isRunning: boolean }) {
    this.#config = config;
    this.#files = openFiles(worker);
    this.#dictionary = isRunning ? openKeys(config, worker) : undefined;
    this.#redis = isRunning ? openRedis(config, worker) : undefined;
    this.#isPartly = !isRunning && (config.dictionary !== undefined || config.redis !== undefined);
  }

  /** Looks up a key by its digest. The result is a promise if the store has to be asked; it never rejects. */
  find(digest: string, nowMs: number): Lookup | Promise<Lookup> {
    const faults: string[] = [];
    for (const path of this.#config.files ?? []) {
      const content = this.#files.content(path, 0, nowMs);
      const entry = 'fault' in content ? undefined : content.value.get(digest);
      if (entry) return { entry, faults };
      if ('fault' in content) faults.push(content.fault);
    }
    const inDictionary = this.#dictionary && this.#findIn(this.#dictionary, digest);
    if (inDictionary) {
      if ('fault' in inDictionary) faults.push(inDictionary.fault);
      else if (inDictionary.entry) return { entry: inDictionary.entry, faults };
    }
    if (this.#isPartly) return { faults: [...faults, UNASKED] };
    if (!this.#redis) return { faults };
    const found = this.#redis.find(digest);
    return found instanceof Promise ? found.then((one) => joined(one, faults)) : joined(found, faults);
  }

  #findIn(dictionary: Dictionary, digest: string): Found {
    const zone = this.#config.dictionary ?? '';
    try {
      const value = dictionary.get(digest);
      if (value === undefined) return { entry: undefined };
      const entry = parseKeyEntry(String(value));
      return entry
        ? { entry }
        : { fault: `the value of an API key in the dictionary "${zone}" is malformed` };
    } catch (error) {
      if (!(error instanceof DictionaryFault)) throw error;
      return { fault: `the dictionary "${zone}" of API keys cannot be read: ${error.message}` };
    }
  }
}

const UNASKED = 'only a running gateway knows all API keys';

function joined(found: Found, faults: readonly string[]): Lookup {
  if ('fault' in found) return { faults: [...faults, found.fault] };
  return found.entry ? { entry: found.entry, faults } : { faults };
}

function openFiles(worker: WorkerScope): WatchedFiles<KeyEntries> {
  const files = worker.share(
    'auth_api_key',
    () => new WatchedFiles({ ...FORM, tell: (fault) => worker.log.write('error', fault) }),
    () => undefined,
  );
  // A reload reads changed files at once.
  files.expire();
  return files;
}

function openKeys({ dictionary: zone }: AuthApiKeyConfig, worker: WorkerScope): Dictionary | undefined {
  if (zone === undefined) return undefined;
  const memory = worker.zone(zone);
  return worker.share(
    `auth_api_key ${zoneIdentity(memory)}`,
    () => openDictionary(memory, worker.workerId),
    () => undefined,
  );
}

/** Locations with the same store share connections and what is known. The key is hashed: it may be logged. */
function openRedis({ redis, cacheMs }: AuthApiKeyConfig, worker: WorkerScope): RedisKeys | undefined {
  if (!redis) return undefined;
  const endpoints = endpointsOf(redis.address, (name) => worker.upstream(name));
  const { prefix } = redis;
  const facts = createHash('sha256').update(JSON.stringify([endpoints, prefix, cacheMs]));
  return worker.share(
    `auth_api_key redis ${facts.digest('hex')}`,
    () => new RedisKeys({ endpoints, prefix, cacheMs, log: worker.log }),
    (keys) => keys.close(),
  );
}
