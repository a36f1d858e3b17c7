import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender } from './compare.ts';
import { withCpuSeconds } from './process-tree.ts';
import { programPath, runProgram } from './programs.ts';

export interface HttpRequest {
  /** Default GET. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * How requests reach a server, with TLS under whatever certificate. For `handshakes` each has a connection with TLS of its own,
 * for `websocket` it is a message that comes back, and `http2` begins without TLS (prior knowledge).
 */
export type Traffic = 'http' | 'https' | 'http2' | 'handshakes' | 'websocket';

/** A server on 127.0.0.1, and the requests that it gets. */
export interface Target {
  readonly name: string;
  readonly port: number;
  /** Default `http`. */
  readonly traffic?: Traffic;
  /** Sent in turns, on each connection one at a time. */
  readonly requests: readonly HttpRequest[];
  /** Requests under way at the same time, each on a connection that is kept; default 64. */
  readonly connections?: number;
  /** The processes that serve, without their descendants. */
  readonly servers: readonly number[];
}

export const CONNECTIONS = 64;

/** A server of HTTP/1.1 under the load of wrk. A round with another response than 2xx, or with a broken connection, throws. */
export function httpLoad(bench: Bench, target: Target): Contender {
  const { name, port, traffic = 'http', requests, connections = CONNECTIONS, servers } = target;
  const wrk = programPath('wrk');
  const file = join(bench.dir, `${name.replaceAll(/\W+/g, '-')}-${port}.lua`);
  writeFileSync(file, scriptOf(requests));
  const round = async (seconds: number) => {
    const args = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '10s', '-s', file];
    const { given: output, cpuSeconds } = await withCpuSeconds(servers, () =>
      runProgram(wrk, [...args, `${traffic}://127.0.0.1:${port}/`]),
    );
    const faults = /^ *(?:Non-2xx|Socket errors).*$/m.exec(output);
    if (faults) throw new Error(`${name}: ${faults[0].trim()}`);
    const seen = readWrk(output);
    if (seen.requests === 0) throw new Error(`${name}: no response in ${seconds} s`);
    return { ...seen, cpuSeconds };
  };
  return { name, target, round };
}

/** Lua for wrk (https://github.com/wg/wrk/blob/master/SCRIPTING), which makes the text of each request once. */
function scriptOf(requests: readonly HttpRequest[]): string {
  const [first, ...others] = requests.map(({ method = 'GET', path, headers = {}, body }) => {
    const fields = Object.entries(headers).map(([name, value]) => `[ ${quoted(name)} ] = ${quoted(value)}`);
    const text = body === undefined ? 'nil' : quoted(body);
    return [quoted(method), quoted(path), `{ ${fields.join(', ')} }`, text];
  });
  if (first === undefined) throw new Error('there is no request');
  // A function that is called for each request would cost the generator time.
  if (others.length === 0) return `wrk.method, wrk.path, wrk.headers, wrk.body = ${first.join(', ')}\n`;
  const formats = [first, ...others].map(
    (request) => `requests[#requests + 1] = wrk.format(${request.join(', ')})`,
  );
  return `local requests, turn = {}, 0
    function init()
      ${formats.join('\n')}
    end
    function request() turn = turn % #requests + 1; return requests[turn] end\n`;
}

/** A string of Lua that may hold anything but its own end. */
const quoted = (text: string): string => `[==[${text}]==]`;

function readWrk(output: string): { requests: number; seconds: number } {
  const [, requests, time, unit] = /(\d+) requests in ([\d.]+)(ms|s|m),/.exec(output) ?? [];
  if (requests === undefined) throw new Error(`wrk said something unexpected: ${output}`);
  const factor = { ms: 0.001, s: 1, m: 60 }[unit as 'ms' | 's' | 'm'];
  return { requests: Number(requests), seconds: Number(time) * factor };
}
