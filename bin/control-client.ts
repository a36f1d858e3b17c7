import { request } from 'node:http';
import type { RequestOptions } from 'node:http';
import { resolve } from 'node:path';
import { formatFaults } from '../grammar/index.ts';
import { load, reachEndpoint } from '../src/pipeline.ts';
import { sourceOf } from './source.ts';

/** Where a command finds the running gateway: by its configuration, or by an address. */
export interface ControlOptions {
  readonly config?: string;
  readonly prefix?: string;
  /** `http://host:port[/path/]`; without a path, the inventory is below `/runtime/`. */
  readonly address?: string;
}

/** An endpoint of a running gateway. */
export interface ControlTarget {
  /** As messages name it. */
  readonly url: string;
  readonly options: RequestOptions;
}

/** What the gateway answered. */
export interface ControlAnswer {
  readonly status: number;
  readonly body: string;
}

const TIMEOUT_MS = 5_000;

/** The endpoint by its name, or a message that says why it is not to be found. */
export function findControl(
  endpoint: string,
  { config, prefix, address }: ControlOptions,
): ControlTarget | string {
  if (address !== undefined) return fromAddress(endpoint, address);
  const source = sourceOf({
    ...(config !== undefined && { confFile: resolve(config) }),
    ...(prefix !== undefined && { prefix }),
  });
  const { plan, report } = load(source);
  if (!plan) return formatFaults(report, { program: 'gw', color: process.stderr.isTTY }).trimEnd();
  const reach = reachEndpoint(plan, endpoint);
  if (!reach)
    return `gw: no location of ${source.name} serves "${endpoint}"\n  add "location = /${endpoint} { control_api ${endpoint}; }", or name a gateway with --address`;
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

/** Who listens everywhere is reached here. */
function loopbackFor(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function fromAddress(endpoint: string, address: string): ControlTarget | string {
  const text = /^[a-z]+:\/\//.test(address) ? address : `http://${address}`;
  if (!URL.canParse(text) || !text.startsWith('http://'))
    return `gw: invalid address "${address}"\n  expected http://host:port/runtime/`;
  const base = new URL(text);
  const directory = base.pathname === '/' ? '/runtime/' : base.pathname.replace(/\/?$/, '/');
  const path = directory + endpoint;
  const host = base.hostname.replace(/^\[(.*)\]$/, '$1');
  return { url: `http://${base.host}${path}`, options: { host, port: base.port || 80, path } };
}

/** One GET. Rejects with one line when nobody answers. */
export function callControl({ url, options }: ControlTarget): Promise<ControlAnswer> {
  return new Promise((settle, reject) => {
    const call = request({ ...options, agent: false, timeout: TIMEOUT_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('end', () => settle({ status: response.statusCode ?? 0, body }));
      response.on('error', fail);
    });
    const fail = (error: NodeJS.ErrnoException): void => {
      reject(new Error(`${url} does not answer: ${error.message || error.code}`, { cause: error }));
    };
    call.on('timeout', () => call.destroy(new Error(`nothing within ${TIMEOUT_MS / 1_000} s`)));
    call.on('error', fail);
    call.end();
  });
}
