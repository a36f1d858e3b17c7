import { createHash } from 'node:crypto';
import {
  type Build,
  type ExplainedAction,
  type ExplainScope,
  type ExplainedFact,
  type ModuleExplanation,
  moduleFor,
  type Explainer,
  type WorkerScope,
} from '../../contract/index.ts';
import { constantText } from '../../config/index.ts';
import { PieceBuffers } from '../../bodies/index.ts';
import { mayCache } from '../../cache/index.ts';
import {
  type CachingParts,
  compileCaching,
  isCached,
  openTracking,
  type SharedTracking,
  Tracking,
} from './caching/index.ts';
import type { Exchange } from '../../http/index.ts';
import { AddressFault, DEFAULT_PORT, type Endpoint, type RedisAddress } from '../../redis/index.ts';
import { HostPolicy } from '../../upstream/index.ts';
import { addressLabel, parseRequestAddress, requestHostOf } from './address.ts';
import { sendError } from './response.ts';
import { COMMANDS, type Store } from './commands.ts';
import { directives, type KvConfig } from './directives.ts';
import { compileArgs, compileCommand, refuseHost } from './handler.ts';
import { probeStore } from './probe.ts';
import { variables } from './outcome.ts';
import { compileSource, provisionStore, type StoreOrStores, VERSIONS_KEY } from './sources.ts';
import { storeEndpoints, validateKvTls } from './tls.ts';
import { openVersions, type SharedVersions, Versions } from './versions.ts';

/** A store that is not open. */
interface ClosedStore extends Store {
  isBlock(name: string): boolean;
}

function closed(_config: KvConfig, scope: ExplainScope): ClosedStore {
  return {
    label: '',
    identity: '',
    versions: undefined,
    state: 'error',
    counts: () => false,
    run: () => {
      throw new Error('a store that is not open was asked');
    },
    close: () => Promise.resolve(),
    isBlock: (name) => scope.upstream(name) !== undefined,
  };
}

/** Explains the command that would be sent. */
const explanation: ModuleExplanation<KvConfig, Provisioned> = {
  provision: (config, scope) => ({ stores: closed(config, scope), caching: undefined }),
  explain: (config, { stores }, build) => ({ content: tellCommand(config, stores as ClosedStore, build) }),
};

function tellCommand(config: KvConfig, store: ClosedStore, build: Build): Explainer {
  const row = COMMANDS[config.command];
  const argsOf = compileArgs(config, build);
  const addressOf = compileAddress(config, store, build);
  const cached = isCached(config) ? build.value(config.cache) : undefined;
  return (x): ExplainedAction | undefined => {
    const args = argsOf(x);
    if (args === undefined) return undefined;
    const address = addressOf(x);
    if (address === undefined) return undefined;
    const words = [config.command.toUpperCase(), ...args.map((arg) => JSON.stringify(arg.toString()))];
    const cache = cached && cacheFact(x, cached);
    const facts: ExplainedFact[] = [
      ...(cache ? [cache] : []),
      { label: 'command', value: [...words, ...(row.body ? ['<body>'] : [])].join(' ') },
      { label: 'store', value: address },
    ];
    const asks = `asks the store for "${config.command}"`;
    return {
      does: cache ? `uses the cache; otherwise ${asks}` : asks,
      facts,
      unknown: 'the reply of the store',
    };
  };
}

/** Names the cache of a request. Its entries are not looked up: their keys contain versions that only workers know. */
function cacheFact(x: Exchange, cacheOf: (x: Exchange) => string): ExplainedFact | undefined {
  const name = cacheOf(x);
  return name === '' || name === 'off' ? undefined : { label: 'cache', value: name };
}

/** Compiles the address that a request names. It gives `undefined` after the response to one that is not allowed. */
function compileAddress(
  { pass, allowHosts }: KvConfig,
  { isBlock }: ClosedStore,
  build: Build,
): (x: Exchange) => string | undefined {
  if (!pass) return () => '';
  if (pass.kind !== 'variable') {
    const label = addressLabel(pass);
    return () => label;
  }
  const render = build.value(pass.value);
  const policy = HostPolicy.of(pass.value, allowHosts, () => build.origins(pass.value));
  return (x) => {
    const text = render(x);
    const address = parseRequestAddress(text);
    if (!policy || address instanceof AddressFault) return text;
    if (address.kind === 'name' && isBlock(address.name)) return text;
    const named = requestHostOf(address);
    try {
      const isSettled = policy.settles(named, named.port ?? DEFAULT_PORT);
      return isSettled ? text : `${text}, whose addresses are looked up: not all are allowed`;
    } catch (error) {
      refuseHost(x, error);
      return undefined;
    }
  };
}

/** The resources of a location. */
interface Provisioned {
  readonly stores: StoreOrStores;
  readonly caching: (CachingParts & { changes(): 'live' | 'down' | 'untracked' }) | undefined;
}

/** The key differs for other servers and logins. It is hashed, since it may be logged. */
const trackingKey = (endpoints: readonly Endpoint[]): string =>
  `kv:tracking:${createHash('sha256').update(JSON.stringify(endpoints)).digest('hex')}`;

/** Opens the resources of a cache. Stores that requests name are not tracked. */
function openCaching(config: KvConfig, worker: WorkerScope): Provisioned['caching'] {
  const { pass } = config;
  const buffers = worker.share(
    'kv: cache buffers',
    () => new PieceBuffers(),
    () => undefined,
  );
  const parts = { caches: worker.caches, buffers };
  // Only this process writes to the embedded store.
  if (pass?.kind === 'embedded') return { ...parts, changes: () => 'live' };
  const tracking = pass && pass.kind !== 'variable' ? openTracker(pass, config, worker) : undefined;
  return { ...parts, changes: () => tracking?.state ?? 'untracked' };
}

function openTracker(address: RedisAddress, config: KvConfig, worker: WorkerScope): Tracking {
  const endpoints = storeEndpoints(address, config, (name) => worker.upstream(name));
  const key = trackingKey(endpoints);
  const { workerId, log } = worker;
  return worker.share(
    `${key} ${config.connectTimeoutMs}`,
    () =>
      new Tracking({
        shared: worker.provided(key) as SharedTracking,
        versions: new Versions(worker.provided(VERSIONS_KEY) as SharedVersions, addressLabel(address)),
        endpoints,
        connectTimeoutMs: config.connectTimeoutMs,
        workerId,
        log,
      }),
    (tracking) => tracking.close(),
  );
}

/** Key-value access: each location runs one command of Redis, Valkey or the embedded store. */
export const kv = moduleFor<KvConfig>()({
  name: 'kv',
  summary: 'Runs one command of Redis, Valkey or the embedded store.',
  directives,
  variables,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  sensitive: ({ command }) => {
    const { methods } = COMMANDS[command];
    return methods.includes('GET') ? undefined : { rule: 'kv-write-public', field: 'command', methods };
  },
  writes: ({ pass }) => ({ directories: pass?.kind === 'embedded' ? [pass.dir] : [] }),
  probe: probeStore,
  uses(config) {
    const name = mayCache(config) ? constantText(config.cache) : undefined;
    return name === undefined ? [] : [{ kind: 'cache', name, field: 'cache' }];
  },
  prepare(configs, master) {
    if (master.isUpgrade && configs.some(({ pass }) => pass?.kind === 'embedded'))
      throw new Error('an embedded store belongs to one program at a time: restart needed');
    if (!configs.some(mayCache)) return;
    const share = <T>(key: string, open: () => T): void =>
      master.provide(
        key,
        master.share(key, open, () => undefined),
      );
    share(VERSIONS_KEY, openVersions);
    for (const { pass, ...config } of configs)
      if (pass && pass.kind !== 'variable' && pass.kind !== 'embedded')
        share(trackingKey(storeEndpoints(pass, config, (name) => master.upstream(name))), openTracking);
  },
  validate(config, report) {
    const { pass } = config;
    if (pass && (pass.kind === 'variable' || (pass.kind !== 'embedded' && pass.tls)))
      validateKvTls(config, report);
  },
  async provision(config, worker) {
    return {
      stores: await provisionStore(config, worker),
      caching: mayCache(config) ? openCaching(config, worker) : undefined,
    };
  },
  compile: (config, { stores, caching }, build) => ({
    content: compileCommand(
      config,
      {
        source: compileSource(stores, config, build),
        caching: caching && compileCaching(config, caching, build),
        changes: () => caching?.changes() ?? 'untracked',
      },
      build,
    ),
    tooLarge: (x) => sendError(x, 'body_too_large'),
  }),
  explanation,
  rules: () => import('./rules.ts'),
});
