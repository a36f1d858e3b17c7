import type { Build, WorkerScope } from '../../../src/contract/index.ts';
import type { DbrestConfig } from '../../../src/modules/dbrest/directives/index.ts';
import { openShare } from '../../../src/modules/dbrest/schema/index.ts';
import { dbrest } from '../../../src/modules/dbrest/index.ts';
import { readDsn } from '../../../src/postgres/index.ts';
import { aloneCounters } from '../../harness/counters.ts';
import { type Owner, wholeFile } from '../../harness/owner.ts';
import { type SentResponse, TestWire } from '../../harness/test-wire.ts';

/** A `dbrest` location of one worker, without the rest of the gateway. */
export interface Direct {
  get(target: string, headers?: Record<string, string>): Promise<SentResponse>;
  /** Starts a request whose client can leave. `done` resolves when the handler has finished. */
  start(
    request: string,
    headers?: Record<string, string>,
    body?: string,
  ): { x: TestWire; done: Promise<void> };
  readonly log: string[];
}

export const DEFAULTS: Omit<DbrestConfig, 'pass'> = {
  aggregates: true,
  nestedInsert: false,
  errorVerbosity: 'verbose',
  rpc: 'auto',
  batch: false,
  batchMax: 100,
  mcp: 'off',
  openapi: 'follow-privileges',
  openapiVersion: '3.1',
  corsOrigins: '*',
  poolSize: 4,
  poolTimeoutMs: 5_000,
  poolQueue: 512,
  poolLifetimeMs: 1_800_000,
  poolReset: 'discard',
  pipelining: 16,
  preparedStatements: 'auto',
  timeoutMs: 10_000,
  schemas: ['public'],
  extraSearchPath: ['public'],
  anonRole: 'anon',
  jwtRolePath: ['role'],
  jwtInvalid: 'anon',
  txEnd: 'commit',
  plan: false,
  serverTiming: false,
  legacyTargetNames: true,
  etag: true,
  databaseSettings: false,
  requestComment: 'off',
  cache: { parts: ['off'] },
  cacheMinUses: 1,
  cacheLock: false,
  cacheLockTimeoutMs: 5_000,
  cacheLockAgeMs: 5_000,
  cacheBackgroundUpdate: false,
  cachePreRequest: false,
  cacheRpc: false,
  cacheListen: true,
  live: false,
  liveMaxRows: 10_000,
  liveBufferBytes: 1_048_576,
  maxStreams: 10_000,
  maxStreamsPerClient: 100,
};

/** A worker, until the test ends: its locations of one database share resources. */
export function startWorker(t: Pick<Owner, 'onTestFinished'>): { scope: WorkerScope; log: string[] } {
  const log: string[] = [];
  const opened = new Map<string, unknown>();
  const share = openShare();
  const closers: (() => void | Promise<void>)[] = [];
  const scope: Partial<WorkerScope> = {
    share: <T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T => {
      if (!opened.has(key)) {
        const resource = open();
        opened.set(key, resource);
        closers.push(() => close(resource));
      }
      return opened.get(key) as T;
    },
    own: <T>(resource: T): T => resource,
    workerId: 1,
    provided: () => share,
    metrics: aloneCounters(),
    addCheck: () => undefined,
    addTrials: () => undefined,
    log: { write: (level, message) => void log.push(`[${level}] ${message}`) },
  };
  t.onTestFinished(async () => {
    for (const close of closers) await close();
  });
  return { scope: scope as WorkerScope, log };
}

/** The `dbrest_…` settings of a location, and its worker: locations of one worker share resources. */
interface LocationOptions extends Partial<DbrestConfig> {
  readonly worker?: ReturnType<typeof startWorker>;
}

/**
 * `direct` for the tests of a file, which share a worker: it reads the schema once for the locations of a database. Call it at
 * the top level of the file. The log is that of all its tests.
 */
export function sharedDirect(): (dsn: string, config?: LocationOptions) => Promise<Direct> {
  const file = wholeFile();
  const worker = startWorker(file);
  return (dsn, config) => direct(file, dsn, { worker, ...config });
}

/** Compiles the module for the location `/api/`, as the worker would. */
export async function direct(
  t: Pick<Owner, 'onTestFinished'>,
  dsn: string,
  { worker = startWorker(t), ...config }: LocationOptions = {},
): Promise<Direct> {
  const target = readDsn(dsn);
  if ('fault' in target) throw new Error(target.fault.message);
  const build: Partial<Build> = {
    usesFamily: () => false,
    location: { path: '/api/', kind: 'prefix', place: 'test:1', nameless: false },
    log: worker.scope.log,
    needAllHeaders: () => undefined,
    needPeer: () => undefined,
  };
  const whole: DbrestConfig = { ...DEFAULTS, ...config, pass: { kind: 'server', target } };
  const resources = (await dbrest.provision?.(whole, worker.scope)) as never;
  const { content, filter } = dbrest.compile(whole, resources, build as Build);

  const start: Direct['start'] = (request, headers = {}, body = '') => {
    const log = (line: string): void => void worker.log.push(line);
    const wire = new TestWire(request, { headers, body, filter, log });
    return { x: wire, done: Promise.resolve(content?.(wire.x)) };
  };
  const get: Direct['get'] = async (path, headers) => {
    const { x, done } = start(`GET ${path}`, headers);
    await done;
    if (!x.sent) throw new Error('no response');
    return x.sent;
  };
  return { get, start, log: worker.log };
}
