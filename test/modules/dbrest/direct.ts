import type { TestContext } from 'vitest';
import type { Build, WorkerScope } from '../../../src/contract/index.ts';
import type { Exchange, ResponseStream } from '../../../src/http/index.ts';
import type { DbrestConfig } from '../../../src/modules/dbrest/directives.ts';
import { readDsn } from '../../../src/modules/dbrest/dsn.ts';
import { openShare } from '../../../src/modules/dbrest/schema/index.ts';
import { dbrest } from '../../../src/modules/dbrest/index.ts';
import { aloneCounters } from '../../harness/counters.ts';

export interface DirectResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** Sent in pieces. */
  readonly streamed?: boolean;
}

/** What the module uses of an exchange, without a transport: the test sees the response, and leaves as a client would. */
export class DirectExchange {
  readonly method: string;
  readonly requestUri: string;
  readonly uri: string;
  readonly args: string;
  readonly host = 'test';
  readonly headers: readonly string[];
  readonly remoteAddress = '127.0.0.1';
  aborted = false;
  done = false;
  /** The connection was closed without the end of the response. */
  cut = false;
  sent: DirectResponse | undefined;
  reason: string | undefined;
  readonly #aborts: (() => void)[] = [];
  #streamed = '';
  #held: { begin(): void; readonly released: Promise<void> } | undefined;
  readonly #headers: [string, string][] = [];
  filter: ((x: never) => void) | undefined;

  constructor(request: string, headers: Record<string, string>) {
    const [method = '', target = ''] = request.split(/ (.*)/s);
    const [path = '', args = ''] = target.split(/\?(.*)/s);
    this.method = method;
    this.requestUri = target;
    this.uri = decodeURIComponent(path);
    this.args = args;
    this.headers = Object.entries(headers).flat();
  }

  get responseHeaders(): string[] {
    return this.#headers.flat();
  }
  leave(): void {
    this.aborted = true;
    for (const listener of this.#aborts) listener();
  }
  header(name: string): string | undefined {
    const at = this.headers.findIndex((word, i) => i % 2 === 0 && word === name);
    return at < 0 ? undefined : this.headers[at + 1];
  }
  setHeader(name: string, value: string): void {
    this.#headers.push([name.toLowerCase(), value]);
  }
  send(status: number, contentType: string, body: string | Uint8Array): void {
    this.filter?.(this as never);
    const headers = { ...Object.fromEntries(this.#headers), 'content-type': contentType };
    this.done = true;
    this.sent = { status, headers, body: Buffer.from(body as string).toString() };
  }
  setReason(phrase: string): void {
    this.reason = phrase;
  }
  stream(status: number, contentType: string): ResponseStream | undefined {
    this.filter?.(this as never);
    const headers = { ...Object.fromEntries(this.#headers), 'content-type': contentType };
    this.done = true;
    if (this.method === 'HEAD') {
      this.sent = { status, headers, body: '', streamed: true };
      return undefined;
    }
    this.#held?.begin();
    return {
      write: (chunk) => {
        this.#streamed += Buffer.from(chunk as string).toString();
        return false;
      },
      drained: () => this.#held?.released ?? new Promise((resolve) => setImmediate(resolve)),
      end: () => (this.sent = { status, headers, body: this.#streamed, streamed: true }),
    };
  }
  abort(): void {
    this.cut = true;
  }
  /** The client takes nothing of an response in pieces until it is told to. */
  holdStream(): { readonly started: Promise<void>; release(): void; bytes(): number } {
    let begin = (): void => undefined;
    let release = (): void => undefined;
    const started = new Promise<void>((resolve) => (begin = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#held = { begin, released };
    return { started, release, bytes: () => this.#streamed.length };
  }
  onAbort(listener: () => void): void {
    this.#aborts.push(listener);
  }
}

/** A `dbrest` location of one worker, without the gateway around it. */
export interface Direct {
  get(target: string, headers?: Record<string, string>): Promise<DirectResponse>;
  /** Starts a request whose client can leave. `done` resolves when the handler is through. */
  start(request: string, headers?: Record<string, string>): { x: DirectExchange; done: Promise<void> };
  readonly log: string[];
}

const DEFAULTS: Omit<DbrestConfig, 'pass'> = {
  aggregates: true,
  errorVerbosity: 'verbose',
  rpc: 'auto',
  openapi: 'follow-privileges',
  corsOrigins: '*',
  poolSize: 4,
  poolTimeoutMs: 5_000,
  poolQueue: 512,
  poolReset: 'discard',
  timeoutMs: 10_000,
  schemas: ['public'],
  extraSearchPath: ['public'],
  anonRole: 'anon',
  jwtRolePath: ['role'],
  jwtInvalid: 'anon',
  txEnd: 'commit',
  plan: false,
  serverTiming: false,
};

/** A worker: locations that name one database share what it opened, until the test ends. */
export function startWorker(t: Pick<TestContext, 'onTestFinished'>): { scope: WorkerScope; log: string[] } {
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
    log: { write: (level, message) => void log.push(`[${level}] ${message}`) },
  };
  t.onTestFinished(async () => {
    for (const close of closers) await close();
  });
  return { scope: scope as WorkerScope, log };
}

/** A location beside its `dbrest_…` settings; those of one worker share what it opens. */
interface LocationOptions extends Partial<DbrestConfig> {
  readonly worker?: ReturnType<typeof startWorker>;
}

/** Compiles the module for the location `/api/`, as the worker would. */
export async function direct(
  t: Pick<TestContext, 'onTestFinished'>,
  dsn: string,
  { worker = startWorker(t), ...config }: LocationOptions = {},
): Promise<Direct> {
  const target = readDsn(dsn);
  if ('fault' in target) throw new Error(target.fault.message);
  const build: Partial<Build> = {
    location: { path: '/api/', kind: 'prefix', place: 'test:1', nameless: false },
    log: worker.scope.log,
    needAllHeaders: () => undefined,
    needPeer: () => undefined,
  };
  const whole: DbrestConfig = { ...DEFAULTS, ...config, pass: { kind: 'server', target } };
  const resources = (await dbrest.provision?.(whole, worker.scope)) as never;
  const { content, filter } = dbrest.compile(whole, resources, build as Build);

  const start: Direct['start'] = (request, headers = {}) => {
    const x = new DirectExchange(request, headers);
    x.filter = filter;
    return { x, done: Promise.resolve(content?.(x as unknown as Exchange)) };
  };
  const get: Direct['get'] = async (path, headers) => {
    const { x, done } = start(`GET ${path}`, headers);
    await done;
    if (!x.sent) throw new Error('no response');
    return x.sent;
  };
  return { get, start, log: worker.log };
}
