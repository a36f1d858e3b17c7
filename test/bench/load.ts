import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender } from './compare.ts';
import { cpuSeconds } from './process-tree.ts';
import { programPath, runProgram } from './programs.ts';

export interface HttpLoad {
  readonly name: string;
  readonly port: number;
  /** Lua for wrk, default `GET /`: https://github.com/wg/wrk/blob/master/SCRIPTING */
  readonly script?: string;
  /** Keep-alive connections, each with one request under way; default 64. */
  readonly connections?: number;
  /** The processes that serve, without their descendants. */
  readonly servers: readonly number[];
}

/** A server under the load of wrk. A round with another response than 2xx, or with a broken connection, throws. */
export function httpLoad(bench: Bench, load: HttpLoad): Contender {
  const { name, port, script = 'wrk.path = "/"', connections = 64, servers } = load;
  const wrk = programPath('wrk');
  const file = join(bench.dir, `${name.replaceAll(/\W+/g, '-')}.lua`);
  writeFileSync(file, script);
  const round = async (seconds: number) => {
    const before = cpuSeconds(servers);
    const args = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '-s', file];
    const output = await runProgram(wrk, [...args, `http://127.0.0.1:${port}/`]);
    const used = cpuSeconds(servers) - before;
    const faults = /^ *(?:Non-2xx|Socket errors).*$/m.exec(output);
    if (faults) throw new Error(`${name}: ${faults[0].trim()}`);
    return { ...readWrk(output), cpuSeconds: used };
  };
  return { name, round };
}

function readWrk(output: string): { requests: number; seconds: number } {
  const [, requests, time, unit] = /(\d+) requests in ([\d.]+)(ms|s|m),/.exec(output) ?? [];
  if (requests === undefined) throw new Error(`wrk said something unexpected: ${output}`);
  const factor = { ms: 0.001, s: 1, m: 60 }[unit as 'ms' | 's' | 'm'];
  return { requests: Number(requests), seconds: Number(time) * factor };
}
