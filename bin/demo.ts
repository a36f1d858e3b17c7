import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { probePort, supervise } from '../src/master/index.ts';
import {
  check,
  type ConfigSource,
  type Finding,
  hasPrograms,
  load,
  loadDbrestTools,
  type Loaded,
} from '../src/pipeline.ts';
import { findAccount, helperEnvironment } from '../src/system/index.ts';
import { VERSION } from '../src/version.ts';
import { packageRoot } from './installation.ts';
import { commandWords } from './invocation.ts';
import { DEMO_DATA } from './options.ts';
import { dataFault, demoSource, registerDemo, runningDemo } from './running-demo.ts';

/** Options of `gw demo`. */
interface DemoOptions {
  readonly port: string;
  readonly data: string;
}

const MAX_PORT = 65_535;
/** A port after which a free one is looked for that needs no root. */
const FIRST_OF_ACCOUNTS = 8079;

/** Runs `conf/demo.conf` on embedded stores with their data in one directory, and prints commands to try. */
export async function demo({ port, data }: DemoOptions): Promise<number> {
  const startedMs = Date.now();
  const fault = await prepareDemo(port, data);
  if (fault !== undefined) {
    process.stderr.write(`gw: ${fault}\n`);
    return 1;
  }
  process.stderr.write(`starting the demo on http://127.0.0.1:${port}/${firstSteps(data)}\n`);
  const forget = registerDemo(data, Number(port));
  const source: ConfigSource = {
    ...demoSource(data, Number(port)),
    // The account "nobody" cannot read a checkout below /root; the demo listens on the loopback interface only.
    globals: canNobodyRead(packageRoot(), resolve(data)) ? undefined : 'user root;',
  };
  let isStopping = false;
  process.once('SIGINT', () => (isStopping = true));
  try {
    return await supervise([JSON.stringify(source)], {
      onReady: () => {
        // A stop waits for the end of the start.
        if (!isStopping) void showBanner({ source, port, data, tookMs: Date.now() - startedMs });
      },
    });
  } finally {
    forget();
  }
}

/** Fetches PostgreSQL if it is needed and there is none. Returns the reason if that fails. */
async function postgresFault(data: string): Promise<string | undefined> {
  if (process.env['DATABASE_URL'] !== undefined || hasPrograms()) return undefined;
  const { ensurePrograms } = await loadDbrestTools();
  const onFetch = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    await ensurePrograms(resolve(data, 'pg'), { onFetch });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What the first start does and a later one does not. */
function firstSteps(data: string): string {
  const isFirst = process.env['DATABASE_URL'] === undefined && !existsSync(join(data, 'pg'));
  return isFirst ? `: its PostgreSQL is created in ${data}/pg, once` : '';
}

/** Prepares the data directory. Returns the reason if the demo cannot run, and then leaves no new directory. */
async function prepareDemo(port: string, data: string): Promise<string | undefined> {
  const wanted = Number(port);
  if (!/^\d+$/.test(port) || wanted < 1 || wanted > MAX_PORT) return `invalid port "${port}"`;
  const elsewhere = `${demoCommand()} --data DIR takes another directory`;
  let first: string | undefined;
  try {
    // The embedded server runs under another account if we are root, which must be able to pass through the directory.
    first = mkdirSync(data, { recursive: true, mode: 0o711 });
  } catch (error) {
    return `cannot create "${data}": ${(error as Error).message}; ${elsewhere}`;
  }
  const fault = dataFault(data);
  if (fault !== undefined) return `${fault}; ${elsewhere}`;
  const other = runningDemo(data);
  if (other)
    return `a demo runs on "${data}" already: http://127.0.0.1:${other.port}/, process ${other.pid}; ${elsewhere}`;
  const reason = (await portFault(wanted, data)) ?? (await postgresFault(data));
  if (reason !== undefined && first !== undefined) removeEmpty(resolve(data), first);
  return reason;
}

/** Removes a directory and those above it, up to the first one that was created, unless there is something in them. */
function removeEmpty(directory: string, first: string): void {
  try {
    rmdirSync(directory);
  } catch {
    return;
  }
  if (directory !== first) removeEmpty(dirname(directory), first);
}

async function portFault(port: number, data: string): Promise<string | undefined> {
  const trouble = await bindFault(port);
  if (trouble === undefined) return undefined;
  const needsRoot = trouble.includes(`(${constants.errno.EACCES}:`);
  const free = await nextFree(needsRoot ? FIRST_OF_ACCOUNTS : port);
  const advice = `port ${free} is free: ${demoCommand()} --port ${free}${option('--data', data)}`;
  return needsRoot
    ? `port ${port} needs root, or "sysctl net.ipv4.ip_unprivileged_port_start=${port}"; ${advice}`
    : `port ${port} is in use; ${advice}`;
}

/** The words that start the demo as it was started. */
function demoCommand(): string {
  return process.env['npm_lifecycle_event'] === 'start' ? 'npm start --' : `${commandWords()} demo`;
}

/** An option for the data directory in a command to copy; '' for the directory that is taken without it. */
function option(name: string, data: string): string {
  if (resolve(data) === resolve(DEMO_DATA)) return '';
  return ` ${name} ${/^[\w./-]+$/.test(data) ? data : `'${data.replaceAll("'", "'\\''")}'`}`;
}

/** Tells whether the default serving account can read these directories. */
function canNobodyRead(...directories: readonly string[]): boolean {
  const nobody = process.getuid?.() === 0 ? findAccount('nobody') : undefined;
  if (!nobody) return true;
  const options = { uid: nobody.uid, gid: nobody.gid, env: helperEnvironment() };
  return directories.every((directory) => spawnSync('test', ['-x', directory], options).status === 0);
}

async function nextFree(port: number): Promise<number> {
  for (let next = port + 1; next <= MAX_PORT; next++) if ((await bindFault(next)) === undefined) return next;
  return 0;
}

function bindFault(port: number): Promise<string | undefined> {
  return probePort({ kind: 'inet', host: '127.0.0.1', port }).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

interface BannerFacts {
  readonly source: ConfigSource;
  readonly port: string;
  readonly data: string;
  readonly tookMs: number;
}

async function showBanner(facts: BannerFacts): Promise<void> {
  const loaded = load(facts.source);
  process.stdout.write(banner(facts, loaded, await check(loaded)));
}

function banner(
  { source, port, data, tookMs }: BannerFacts,
  { plan }: Loaded,
  findings: readonly Finding[],
): string {
  const count = (severity: string): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const url = `http://127.0.0.1:${port}`;
  const database =
    process.env['DATABASE_URL'] === undefined
      ? `embedded, ${data}/pg   roles: authenticator, anon, web_user`
      : 'DATABASE_URL   served: schema api, as role anon';
  return `gw ${VERSION} · node ${process.versions.node} · ${plan?.main.workers} workers · conf ${source.name} (gw check: ${count('error')} errors, ${count('warning')} warnings)
  postgres  ${database}
  kv        embedded lmdb, ${data}/kv
  console   ${url}/_gw/
  REST      curl '${url}/rest/todos?select=id,task&done=is.false&order=id'
  KV        curl -X POST --data world ${url}/kv/set/hello && curl ${url}/kv/hello
  events    curl -N -H 'Accept: text/event-stream' ${url}/events
  publish   curl -H 'Content-Type: application/json' --data '{"type":"hello"}' ${url}/events
  upstream  curl -i ${url}/pages/1   twice: the second response is that of the cache
  control   ${commandWords()} status${option('-p', data)} && curl ${url}/runtime/describe
ready in ${(tookMs / 1000).toFixed(1)} s · Ctrl-C stops everything · data stays in ${data}
`;
}
