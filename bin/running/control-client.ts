import { type ClientRequest, type IncomingMessage, request, type RequestOptions } from 'node:http';
import { existsSync } from 'node:fs';
import { formatFaults } from '../../grammar/index.ts';
import { inventoryPath, reachEndpoint } from '../../src/tools/lookups.ts';
import { type GatewayPlan, load, type LocalAddress } from '../../src/pipeline.ts';
import { chosenSource, refusalOf } from '../chosen-config.ts';
import { visible } from '../terminal.ts';

/** Options that locate the running gateway: by its configuration, or by an address. */
export interface ControlOptions {
  readonly config?: string;
  readonly prefix?: string;
  /** `http://host:port[/path/]`; the default path is `/runtime/`. */
  readonly address?: string;
}

/** An endpoint of a running gateway. */
export interface ControlTarget {
  /** The URL in messages. */
  readonly url: string;
  readonly options: RequestOptions;
}

/** The response of the gateway. */
interface ControlResponse {
  readonly status: number;
  readonly body: string;
}

/** The query, headers and body of a call. */
interface ControlCall {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const TIMEOUT_MS = 5_000;
/** Limits of a whole response: a gateway with 100,000 series has some 50 MB of metrics. */
const WHOLE_MS = 30_000;
const MOST_CHARACTERS = 256 * 1024 * 1024;

/** Returns the endpoint of a name, or a message if it is not found. */
export function findControl(endpoint: string, options: ControlOptions): ControlTarget | string {
  const { address } = options;
  if (address !== undefined) return fromAddress(endpoint, address);
  const loaded = loadPlan(options);
  if (typeof loaded === 'string') return loaded;
  const reach = reachEndpoint(loaded.plan, endpoint);
  if (reach) return targetAt(reach);
  if (loaded.refusal !== undefined) return loaded.refusal;
  return `gw: no location of ${loaded.name} serves "${endpoint}"\n  add "location = /${endpoint} { control_api ${endpoint}; }", or name a gateway with --address`;
}

interface LoadedPlan {
  readonly plan: GatewayPlan;
  readonly name: string;
  /** The message about an endpoint that it lacks, where it may not be a gateway's. */
  readonly refusal?: string;
}

/** Returns the plan of the gateway, or a message: there is none, or its configuration has faults. */
export function loadPlan({ config, prefix }: ControlOptions): LoadedPlan | string {
  const source = chosenSource({ confFile: config, prefix });
  const reason = refusalOf(source, config, 'response');
  const refusal = reason === undefined ? undefined : `gw: ${reason}`;
  // The file of nginx may be that of the gateway that has taken nginx's place.
  if (refusal !== undefined && !existsSync(source.confFile)) return refusal;
  const { plan, report } = load(source);
  if (plan) return { plan, name: source.name, ...(refusal !== undefined && { refusal }) };
  if (refusal !== undefined) return refusal;
  return formatFaults(report, { program: 'gw', color: process.stderr.isTTY }).trimEnd();
}

/** Returns the target for a location that is called from this machine. */
export function targetAt(reach: LocalAddress): ControlTarget {
  const headers = reach.host === '' ? {} : { host: reach.host };
  if (reach.address.kind === 'unix') {
    const { path: socketPath } = reach.address;
    return { url: `unix:${socketPath}:${reach.path}`, options: { socketPath, path: reach.path, headers } };
  }
  const { port } = reach.address;
  const host = loopbackFor(reach.address.host);
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { url: `http://${authority}${reach.path}`, options: { host, port, path: reach.path, headers } };
}

/** Returns the loopback address if the server listens on all addresses. */
function loopbackFor(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function fromAddress(endpoint: string, address: string): ControlTarget | string {
  const base = parseAddress(address);
  if (!base) return `gw: invalid address "${address}"\n  expected http://host:port/runtime/`;
  const directory = base.pathname === '/' ? '/runtime/' : base.pathname.replace(/\/?$/, '/');
  return targetOf(base, inventoryPath(endpoint, directory));
}

/** Returns the URL of an address without or with `http://`; `undefined` if it is invalid. */
export function parseAddress(address: string): URL | undefined {
  const text = /^[a-z]+:\/\//.test(address) ? address : `http://${address}`;
  return URL.canParse(text) && text.startsWith('http://') ? new URL(text) : undefined;
}

/** Returns the target for a path below a URL. */
export function targetOf(base: URL, path: string): ControlTarget {
  const host = base.hostname.replace(/^\[(.*)\]$/, '$1');
  return { url: `http://${base.host}${path}`, options: { host, port: base.port || 80, path } };
}

/** Sends a request. Rejects with a message in one line if there is no response. */
export function callControl(target: ControlTarget, call: ControlCall = {}): Promise<ControlResponse> {
  return new Promise((settle, reject) => {
    const sent = openCall(target, { ...call, timeoutMs: TIMEOUT_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
        if (body.length > MOST_CHARACTERS)
          response.destroy(new Error(`${target.url} responds without an end`));
      });
      response.on('end', () => settle({ status: response.statusCode ?? 0, body }));
      response.on('error', reject);
    });
    const late = setTimeout(
      () => sent.destroy(new Error(`no whole response within ${WHOLE_MS / 1_000} s`)),
      WHOLE_MS,
    );
    sent.on('close', () => clearTimeout(late));
    sent.on('timeout', () => sent.destroy(new Error(`nothing within ${TIMEOUT_MS / 1_000} s`)));
    sent.on('error', (error: NodeJS.ErrnoException) => reject(noResponse(target, error)));
  });
}

/** Calls an API that explains its faults in `error`. Rejects with a message in one line. */
export async function callApi(target: ControlTarget, call: ControlCall): Promise<string> {
  const { status, body } = await callControl(target, call);
  if (status === 200) return body;
  let reason = `${target.url} responds with ${status}`;
  try {
    reason = (JSON.parse(body) as { error?: string }).error ?? reason;
  } catch {
    // The response is not from the API.
  }
  throw new Error(reason);
}

/** Sends a request whose response is read as a stream. */
export function openCall(
  { options }: ControlTarget,
  { query = {}, method = 'GET', headers = {}, body, timeoutMs }: ControlCall & { timeoutMs?: number },
  answered: (response: IncomingMessage) => void,
): ClientRequest {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const pairs = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const path = pairs.length === 0 ? options.path : `${options.path}?${pairs.join('&')}`;
  const sent = request(
    {
      ...options,
      path,
      method,
      headers: { ...(options.headers as Record<string, string>), ...headers },
      agent: false,
      ...(timeoutMs !== undefined && { timeout: timeoutMs }),
    },
    answered,
  );
  sent.end(body);
  return sent;
}

/** Returns the error of a gateway that does not respond, in one line. */
export function noResponse({ url }: ControlTarget, error: NodeJS.ErrnoException): Error {
  return new Error(`${url} does not respond: ${error.message || error.code}`, { cause: error });
}

/** Options of `gw live` and `gw ready`. */
export interface ProbeOptions extends ControlOptions {
  readonly quiet?: boolean;
}

/** Asks the running gateway whether it is live or ready. Exit code 0: yes; 1: no, or there is no response. */
export async function probe(
  endpoint: 'live' | 'ready',
  { quiet, ...options }: ProbeOptions,
): Promise<number> {
  const target = findControl(endpoint, options);
  if (typeof target === 'string') return fail(target);
  try {
    const { status, body } = await callControl(target);
    if (status !== 200)
      return fail(`gw: not ${endpoint}: ${target.url} responds with ${status}${reasonsIn(body)}`);
    if (!quiet) process.stdout.write(`OK: ${target.url}${reasonsIn(body)}\n`);
    return 0;
  } catch (error) {
    return fail(`gw: not ${endpoint}: ${(error as Error).message}`);
  }
}

/** Prints a message that already names the program, and returns the exit code 1. */
export function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}

/** Returns one line for each failed check; '' if the body has another form. */
function reasonsIn(body: string): string {
  try {
    const { checks = {} } = JSON.parse(body) as {
      checks?: Record<string, { status: string; output?: string }[]>;
    };
    return Object.entries(checks)
      .flatMap(([name, results]) => results.map((result) => ({ name, ...result })))
      .filter(({ status }) => status !== 'pass')
      .map(({ name, output }) => `\n  ${visible(name)}: ${visible(output ?? '')}`)
      .join('');
  } catch {
    return '';
  }
}
