import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Build, Check, WorkerScope } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import {
  AddressFault,
  DEFAULT_PORT,
  type Endpoint,
  endpointsOf,
  type RedisAddress,
} from '../../redis/index.ts';
import { type AddressRule, admits, HostPolicy, HostRefused, lookUpHost } from '../../upstream/index.ts';
import { addressLabel, parseRequestAddress, type RequestAddress, requestHostOf } from './address.ts';
import type { KvConfig, StoreSettings } from './directives.ts';
import { EmbeddedStore } from './embedded-store.ts';
import type { StoreSource } from './handler.ts';
import { RedisStore, type RedisStoreParts } from './redis-store.ts';
import type { Store, StoreFault } from './commands.ts';
import { type KvTlsConfig, storeEndpoints } from './tls.ts';
import { type SharedVersions, Versions } from './versions.ts';

/** Maximum number of stores that variables may have opened at a time, per worker and location. */
const MAX_REQUEST_STORES = 64;

/** Prefix of the keys of stores whose addresses are checked; no address begins like this. */
const CHECKED = 'checked ';

/** The store of the location, or the stores that requests name. */
export type StoreOrStores = Store | RequestStores;

/** Opens the location's store, or shares that of another location. */
export async function provisionStore(config: KvConfig, worker: WorkerScope): Promise<StoreOrStores> {
  const { pass } = config;
  if (!pass) throw new Error('a location without "kv_pass" has no store');
  if (pass.kind === 'embedded') {
    const embedded = await shareEmbedded(resolve(worker.prefix, pass.dir), config, worker);
    worker.addCheck(`kv:embedded:${basename(pass.dir)}`, checkOf(embedded));
    return embedded;
  }
  if (pass.kind === 'variable') return worker.own(new RequestStores(config, worker), closeStore);
  const parts = redisParts(pass, { config, worker });
  const store = worker.share(shareKey(parts), () => new RedisStore(parts), closeStore);
  worker.addCheck(`kv:${store.label}`, checkOf(store));
  return store;
}

const REASONS: Readonly<Record<StoreFault['code'], string>> = {
  connection_failed: 'not connected',
  timeout: 'no reply in time',
  kv_error: 'refuses "ping"',
};

/** Returns the readiness check of a store. Stores that requests name have none: they say nothing about this gateway. */
function checkOf(store: Store): Check {
  return () =>
    new Promise((settle) => {
      store.run('ping', [], (fault) => settle(fault && REASONS[fault.code]));
    });
}

async function shareEmbedded(dir: string, { timeoutMs }: KvConfig, worker: WorkerScope): Promise<Store> {
  const { open } = await import('lmdb');
  const { log, isFirst } = worker;
  const versions = versionsOf(`embedded:${dir}`, worker);
  const parts = { dir, settings: { timeoutMs }, open, sweeps: isFirst, log, versions };
  return worker.share(
    `kv ${dir} ${timeoutMs} ${versions?.epoch ?? ''}`,
    () => new EmbeddedStore(parts),
    closeStore,
  );
}

function closeStore(store: { close(): Promise<void> }): Promise<void> {
  return store.close();
}

/**
 * Locations with the same addresses and settings share connections. The key is hashed: it may be logged, passwords must
 * not be.
 */
function shareKey({ endpoints, settings, versions }: RedisStoreParts): string {
  const { timeoutMs, connectTimeoutMs, connections, pipelining, maxValueBytes } = settings;
  // A setting that is missing here does not compile.
  const all: Required<StoreSettings> = {
    timeoutMs,
    connectTimeoutMs,
    connections,
    pipelining,
    maxValueBytes,
  };
  const facts = [endpoints, all, versions?.epoch];
  return `kv ${createHash('sha256').update(JSON.stringify(facts)).digest('hex')}`;
}

/** Compiles the source of the handler's store. */
export function compileSource(
  provisioned: StoreOrStores,
  { pass, allowHosts }: KvConfig,
  build: Build,
): StoreSource {
  if (!(provisioned instanceof RequestStores)) return () => provisioned;
  if (pass?.kind !== 'variable') throw new Error('only a "kv_pass" with variables has stores by request');
  const address = build.value(pass.value);
  const policy = HostPolicy.of(pass.value, allowHosts, () => build.origins(pass.value));
  if (!policy) return (x: Exchange) => provisioned.named(address(x));
  return (x: Exchange) => provisioned.allowed(address(x), policy);
}

/** The stores of a location whose address has variables: opened at their first use; the least recently used are closed. */
class RequestStores {
  readonly #config: Opening['config'];
  readonly #worker: WorkerScope;
  /** By address as requests name it. */
  readonly #stores = new LRUCache<string, RedisStore>({ max: MAX_REQUEST_STORES });
  #closed = false;
  readonly #checking = new Map<string, Promise<Store | undefined>>();

  constructor(config: Opening['config'], worker: WorkerScope) {
    this.#config = config;
    this.#worker = worker;
  }

  /** Returns the store of an address; `undefined` if the address is refused, which is logged. */
  named(text: string): Store | undefined {
    const known = this.#stores.get(text);
    if (known) return known;
    const address = this.#read(text);
    return address && this.#open(text, address);
  }

  /** Returns the store of an address that `policy` allows. Throws, or rejects with, a `HostRefused`. */
  allowed(text: string, policy: HostPolicy): Store | undefined | Promise<Store | undefined> {
    const address = this.#read(text);
    if (!address) return undefined;
    const isBlock = address.kind === 'name' && this.#worker.upstream(address.name) !== undefined;
    const named = requestHostOf(address);
    if (isBlock || policy.settles(named, named.port ?? DEFAULT_PORT))
      return this.#stores.get(text) ?? this.#open(text, address);
    const key = `${CHECKED}${text}`;
    return this.#stores.get(key) ?? this.#check(key, address, policy.addresses);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const store of this.#stores.values()) await store.close();
    this.#stores.clear();
  }

  #read(text: string): RequestAddress | undefined {
    const address = parseRequestAddress(text);
    if (!(address instanceof AddressFault)) return address;
    this.#worker.log.write('error', `kv: "kv_pass" ${address.predicate} in an address from variables`);
    return undefined;
  }

  /**
   * Opens a store if all addresses of its name are allowed; its connections check them again. Concurrent checks of one
   * address are shared.
   */
  #check(key: string, address: RequestAddress, rule: AddressRule): Promise<Store | undefined> {
    const known = this.#checking.get(key);
    if (known) return known;
    const checked = this.#look(key, address, rule).finally(() => this.#checking.delete(key));
    this.#checking.set(key, checked);
    return checked;
  }

  async #look(key: string, address: RequestAddress, rule: AddressRule): Promise<Store | undefined> {
    if (this.#checking.size >= MAX_REQUEST_STORES) return this.#tooMany();
    const { host, port = DEFAULT_PORT } = requestHostOf(address);
    const ips = await lookUpHost(host).catch(() => undefined);
    if (!ips) this.#worker.log.write('error', `kv: host not found in "kv_pass ${host}"`);
    else if (!ips.every((ip) => admits(rule, ip, port))) throw new HostRefused(host);
    return ips && !this.#closed ? (this.#stores.get(key) ?? this.#open(key, address, rule)) : undefined;
  }

  #tooMany(): undefined {
    this.#worker.log.write('error', `kv: ${MAX_REQUEST_STORES} addresses from variables are in use already`);
    return undefined;
  }

  #open(key: string, address: RequestAddress, within?: AddressRule): RedisStore | undefined {
    if (this.#stores.size >= MAX_REQUEST_STORES && !this.#evict()) return this.#tooMany();
    const opening = { config: this.#config, worker: this.#worker };
    const parts = redisParts(address, opening);
    const endpoints = parts.endpoints.map((endpoint): Endpoint =>
      within && endpoint.kind === 'inet' ? { ...endpoint, within } : endpoint,
    );
    const store = new RedisStore({ ...parts, endpoints });
    this.#stores.set(key, store);
    return store;
  }

  /** Closes the store that has been idle for longest; false if all are busy. */
  #evict(): boolean {
    for (const text of this.#stores.rkeys()) {
      const store = this.#stores.peek(text);
      if (store?.busy) continue;
      this.#stores.delete(text);
      void store?.close();
      return true;
    }
    return false;
  }
}

interface Opening {
  readonly config: StoreSettings & KvTlsConfig;
  readonly worker: WorkerScope;
}

function redisParts(address: RedisAddress, { config, worker }: Opening): RedisStoreParts {
  const upstream = (name: string): readonly string[] | undefined => worker.upstream(name);
  const label = addressLabel(address);
  // The password and the TLS settings are left out: they do not change the contents of the store.
  const identity = JSON.stringify([label, endpointsOf(address, upstream)], (name, value: unknown) =>
    name === 'password' ? undefined : value,
  );
  const endpoints = storeEndpoints(address, config, upstream);
  const versions = versionsOf(label, worker);
  return { label, identity, versions, endpoints, settings: config, log: worker.log };
}

/** The key under which the master provides the versions of all keys. */
export const VERSIONS_KEY = 'kv:versions';

function versionsOf(label: string, worker: WorkerScope): Versions | undefined {
  const shared = worker.provided(VERSIONS_KEY) as SharedVersions | undefined;
  return shared && new Versions(shared, label);
}
