import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { wholeConf } from './conf.ts';
import { expectResponse, type Expected } from './expect-response.ts';
import { type ReceivedResponse, call, type CallInit } from './http.ts';
import { describeExit, launch, type Launched } from './launch.ts';
import { type Owner, wholeFile } from './owner.ts';
import { freePort } from './ports.ts';
import { connectRaw, exchangeRaw, type RawConnection } from './raw.ts';

export type { Owner } from './owner.ts';

/** The built program; `npm test` builds it first. */
export const GW = fileURLToPath(new URL('../../dist/bin/gw.js', import.meta.url));

export interface GatewayOptions {
  /** Default 1. */
  readonly workers?: number;
  /** More directives of the main context. */
  readonly main?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Written beside the configuration before the start: path → content. */
  readonly files?: Readonly<Record<string, string>>;
  /** More command-line arguments. */
  readonly args?: readonly string[];
  /** Flags of Node.js. */
  readonly nodeFlags?: readonly string[];
  /** The port, if the configuration names it itself. */
  readonly port?: number;
  /** A program instead of the built gateway; the harness's own tests use one that misbehaves. */
  readonly program?: string;
  /** Runs it under its supervisor, for tests in which processes end or start. */
  readonly supervised?: boolean;
  /** `[alert]` and `[emerg]` lines and an unclean end are expected. */
  readonly expectAlerts?: boolean;
  /** Starts a process instead of reloading an idle one. Default: only if `http` needs it. */
  readonly fresh?: boolean;
}

const WAIT_MS = 15_000;
/** After so many tests a gateway stops, so that its clean end is checked as well. */
const MOST_USES = 80;
const MOST_IDLE = 4;
/** Directives that show counters, which begin with the process, and one that only a start can raise. */
const OF_THE_START =
  /\b(control_\w+|prometheus_metrics|stub_status|health_status|health_metrics|upstream_balancer_status|large_client_header_buffers)\b/;
/** The engine takes the limit of heads from the first configuration: another test would have that of this one. */
const OF_THE_ENGINE = /\blarge_client_header_buffers\b/;
const KEPT_FILES: ReadonlySet<string> = new Set([
  'gw.conf',
  'gw.pid',
  'gw.pid.status',
  'error.log',
  'access.log',
]);
const READY = /start worker processes/;
const RELOADED = /reload (done|refused)/;

/** The content of `http`, which may depend on the test's directory and port. */
export type HttpConf = string | ((dir: string, port: number) => string);

/**
 * Starts the built gateway on `http` and resolves when its workers listen. If an earlier test of this process has left a
 * gateway, that one is reloaded instead, twice: with an empty configuration in between. The test fails when the gateway
 * died, did not end cleanly, or left an `[alert]` or `[emerg]` line in its error log.
 */
export async function startGateway(t: Owner, http: HttpConf, options: GatewayOptions = {}): Promise<Gateway> {
  const { fresh = OF_THE_START.test(String(http)) } = options;
  const kind = reusedKind(options);
  const known = fresh ? -1 : idleGateways.findIndex((one) => one.kind === kind);
  const idle = known < 0 ? undefined : idleGateways.splice(known, 1)[0]?.gateway;
  const gateway = idle ?? (await laidOut(options));
  t.onTestFailed?.(() => {
    gateway.spoil();
    console.error(`gateway in ${gateway.dir}:\n${gateway.output()}${gateway.errorLog()}`);
  });
  t.onTestFinished(async () => {
    let isIdle = false;
    try {
      // A start for one test must not end the idle gateways of others.
      const isWanted =
        !OF_THE_ENGINE.test(String(http)) && (!fresh || !idleGateways.some((one) => one.kind === kind));
      isIdle = kind !== undefined && isWanted && (await gateway.rest());
    } finally {
      if (!isIdle) await endOf(gateway);
    }
    if (!isIdle || kind === undefined) return;
    idleGateways.push({ kind, gateway });
    const oldest = idleGateways.length > MOST_IDLE ? idleGateways.shift() : undefined;
    if (oldest) await endOf(oldest.gateway);
  });
  if (idle) await idle.reuse(http, options.files ?? {}, options.port);
  else await gateway.begin(http, options.files ?? {});
  return gateway;
}

/** Gateways that no test uses at the moment, with the options that a reload cannot change; the oldest first. */
const idleGateways: { readonly kind: string; readonly gateway: Gateway }[] = [];

async function endOf(gateway: Gateway): Promise<void> {
  try {
    await gateway.stop();
    gateway.assertHealthy();
  } finally {
    rmSync(gateway.dir, { recursive: true, force: true });
  }
}

/** `undefined` if no other test can use the gateway. */
function reusedKind(options: GatewayOptions): string | undefined {
  const { workers = 1, main = '', env, args, nodeFlags, program, supervised, expectAlerts } = options;
  if (program || supervised || expectAlerts || /\buser\s/.test(main)) return undefined;
  return JSON.stringify({ workers, main, env, args, nodeFlags });
}

async function laidOut(options: GatewayOptions): Promise<Gateway> {
  const { program = GW } = options;
  if (!existsSync(program)) throw new Error(`"${program}" is missing: npm run build`);
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gw-test-')));
  // Root's embedded PostgreSQL runs as another user, which must be able to pass through this directory.
  chmodSync(dir, 0o711);
  return new Gateway(dir, options.port ?? (await freePort()), options);
}

/** Loads `http`, and the files beside it, into the gateway of the file. The test fails as with `startGateway`. */
export type LoadGateway = (t: Owner, http: HttpConf, files?: GatewayOptions['files']) => Promise<Gateway>;

/**
 * One gateway for the tests of a file, each with its own configuration: the first starts it, the others reload it,
 * which takes a tenth of the time. For tests of responses and logs; state that outlives a reload (zones by name, failed
 * peers, counters) is shared with the next test. Call it at the top level of the file.
 */
export function oneGateway(options: GatewayOptions = {}): LoadGateway {
  const load = gatewayPerOptions();
  return (t, http, files = {}) => load(t, http, { ...options, files });
}

/** `oneGateway` for a file whose tests need several: one for all tests with the same options, `files` aside. */
export function gatewayPerOptions(): (
  t: Owner,
  http: HttpConf,
  options?: GatewayOptions,
) => Promise<Gateway> {
  const file = wholeFile();
  const running = new Map<string, Gateway>();
  return async (t, http, given) => {
    const { files = {}, ...options } = given ?? {};
    const key = JSON.stringify(options);
    const earlier = running.get(key);
    const gw = earlier ?? (await startGateway(file, http, { ...options, files }));
    await earlier?.load(http, files);
    running.set(key, gw);
    t.onTestFailed?.(() => {
      console.error(`gateway in ${gw.dir}:\n${gw.output()}${gw.errorLog()}`);
      // The next test must not inherit a broken gateway.
      running.delete(key);
    });
    t.onTestFinished(async () => gw.assertHealthy());
    return gw;
  };
}

/** A running gateway, its files and its client. */
export class Gateway {
  readonly dir: string;
  /** Path of its configuration file. */
  readonly conf: string;
  #options: GatewayOptions;
  #port: number;
  #process: Launched | undefined;
  #signals = new Set<NodeJS.Signals>();
  #isSpoiled = false;
  /** By how many tests it has been used. */
  #uses = 0;
  /** Characters of its output that an earlier test has caused. */
  #outputBefore = 0;

  constructor(dir: string, port: number, options: GatewayOptions) {
    this.dir = dir;
    this.#port = port;
    this.conf = join(dir, 'gw.conf');
    this.#options = options;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  start(): void {
    // What an earlier process got and wrote tells nothing about this one.
    this.#signals.clear();
    this.#outputBefore = 0;
    const { env, args = [], nodeFlags = [], program = GW } = this.#options;
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(VITEST|NODE_|DATABASE_URL)/.test(name),
    );
    this.#process = launch(
      process.execPath,
      [...nodeFlags, program, '-p', this.dir, '-c', this.conf, ...args],
      {
        cwd: this.dir,
        env: { ...Object.fromEntries(inherited), ...env },
      },
    );
  }

  /** Writes files below the test's directory. */
  lay(files: Readonly<Record<string, string>>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.dir, path)), { recursive: true });
      // Another test may have left a link under this name.
      rmSync(join(this.dir, path), { force: true });
      writeFileSync(join(this.dir, path), content);
    }
  }

  confOf(http: HttpConf): string {
    return typeof http === 'string' ? http : http(this.dir, this.port);
  }

  /** As `replace`; then the logs are empty. */
  async load(http: HttpConf, files: Readonly<Record<string, string>>): Promise<void> {
    await this.replace(http, files);
    this.#emptyLogs();
  }

  /** Reloads with other files and another configuration, on another port: `port`, or a free one. */
  async replace(http: HttpConf, files: Readonly<Record<string, string>>, port?: number): Promise<void> {
    this.lay(files);
    // A port keeps its engine, and being open on all addresses, until a restart.
    this.#port = port ?? (await freePort());
    const verdict = await this.reload(this.confOf(http));
    if (verdict === 'refused')
      throw new Error(`the configuration is refused:\n${this.output()}${this.errorLog()}`);
  }

  /** As `replace`, for another test: what the former one has left behind may still have logged something. */
  async reuse(http: HttpConf, files: Readonly<Record<string, string>>, port?: number): Promise<void> {
    this.assertHealthy();
    this.#emptyLogs();
    await this.replace(http, files, port);
  }

  #emptyLogs(): void {
    for (const log of ['error.log', 'access.log']) {
      if (existsSync(join(this.dir, log))) truncateSync(join(this.dir, log));
    }
  }

  /** Starts on a configuration, and resolves when the workers listen. */
  async begin(http: HttpConf, files: Readonly<Record<string, string>>): Promise<void> {
    this.lay(files);
    this.write(this.confOf(http));
    this.start();
    await this.waitForLog(READY);
  }

  /** The test failed: nobody knows in which state the gateway is. */
  spoil(): void {
    this.#isSpoiled = true;
  }

  /**
   * Loads an empty configuration and clears the directory. Returns false if the gateway must not be used again: a test
   * failed, it has ended, or it got another signal than that of a reload.
   */
  async rest(): Promise<boolean> {
    const isAsStarted = [...this.#signals].every((signal) => signal === 'SIGHUP');
    if (this.#isSpoiled || !isAsStarted || this.#running.exit() || ++this.#uses > MOST_USES) return false;
    this.assertHealthy();
    if ((await this.reload('')) !== 'done') return false;
    this.assertHealthy();
    for (const name of readdirSync(this.dir))
      if (!KEPT_FILES.has(name)) rmSync(join(this.dir, name), { recursive: true });
    this.#emptyLogs();
    this.#outputBefore += this.output().length;
    return true;
  }

  /** Replaces the content of `http` in the configuration file. */
  write(http: string): void {
    const { workers = 1, main = '', supervised = false } = this.#options;
    writeFileSync(this.conf, wholeConf({ http, dir: this.dir, port: this.port, workers, main, supervised }));
  }

  /** The process that takes signals. */
  get pid(): number {
    return Number(this.read('gw.pid')) || this.#running.pid;
  }

  /** One request on a connection of its own. */
  fetch(path: string, init?: CallInit): Promise<ReceivedResponse> {
    return call(this.port, path, init);
  }

  /** `await gw.expect('GET /a?n=1', { status: 200, body: 'x' })` */
  async expect(line: string, expected: Expected, init?: CallInit): Promise<ReceivedResponse> {
    const [, method, path = '/'] = /^(\S+) (.*)$/.exec(line) ?? [];
    const response = await this.fetch(path, { ...init, ...(method && { method }) });
    expectResponse(line, response, expected);
    return response;
  }

  /** Sends the bytes on a new connection, and returns everything received until the gateway closes or is silent. */
  raw(bytes: string | Uint8Array): Promise<string> {
    return exchangeRaw(this.port, bytes);
  }

  connect(): Promise<RawConnection> {
    return connectRaw(this.port);
  }

  /** Content of a file below the test's directory; empty when it does not exist. */
  read(path: string): string {
    const file = resolve(this.dir, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  errorLog(): string {
    return this.read('error.log');
  }

  accessLog(): string {
    return this.read('access.log');
  }

  /** Standard output and standard error. */
  output(): string {
    return this.#running.output().slice(this.#outputBefore);
  }

  /** Waits until the error log matches after `from` characters, and returns the match. */
  async waitForLog(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    return this.#waitFor('error.log', pattern, from);
  }

  /** A line is written after the end of its request, so a test waits for it. */
  async waitForAccessLog(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#waitFor('access.log', pattern, 0);
  }

  signal(signal: NodeJS.Signals): void {
    this.#signals.add(signal);
    process.kill(this.pid, signal);
  }

  /** Resolves when the gateway has taken or refused the new content of `http`. */
  async reload(http: string): Promise<'done' | 'refused'> {
    const from = this.errorLog().length;
    this.write(http);
    this.signal('SIGHUP');
    const [, verdict] = await this.waitForLog(RELOADED, from);
    return verdict as 'done' | 'refused';
  }

  /** Ends the gateway (if it still runs) and waits until every process of it is gone. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.#running.exit()) this.#signals.add(signal);
    await this.#running.stop(signal);
  }

  /** Resolves when the gateway ends by itself. */
  async ended(): Promise<void> {
    await this.#running.exited;
  }

  /** Throws if the gateway ended in an unexpected way, or left alerts. */
  assertHealthy(): void {
    if (this.#options.expectAlerts) return;
    const exit = this.#running.exit();
    const asked = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGKILL'].some((signal) =>
      this.#signals.has(signal as NodeJS.Signals),
    );
    if (exit && !asked) throw new Error(`the gateway ended by itself: ${describeExit(exit)}`);
    if (exit && exit.code !== 0 && !this.#signals.has('SIGKILL'))
      throw new Error(`the gateway ended with ${describeExit(exit)}`);
    // A refused reload prints its faults on standard error; an alert there could not be written to a log.
    const alerts = [
      ...this.errorLog().matchAll(/^.*\[(?:alert|emerg)\].*$/gm),
      ...this.output().matchAll(/^.*\[alert\].*$/gm),
    ];
    if (alerts.length > 0) throw new Error(`the gateway left alerts:\n${alerts.join('\n')}`);
  }

  get #running(): Launched {
    if (!this.#process) throw new Error('the gateway was not started');
    return this.#process;
  }

  async #waitFor(file: string, pattern: RegExp, from: number): Promise<RegExpExecArray> {
    const deadlineMs = Date.now() + WAIT_MS;
    for (;;) {
      const found = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).exec(
        this.read(file).slice(from),
      );
      if (found) return found;
      const exit = this.#running.exit();
      const log = () => `${this.output()}${this.read(file).slice(from)}`;
      if (exit)
        throw new Error(`the gateway ended (${describeExit(exit)}) before ${file} had ${pattern}:\n${log()}`);
      if (Date.now() > deadlineMs) throw new Error(`${file} did not get ${pattern}:\n${log()}`);
      await sleep(10);
    }
  }
}
