import type { Contender } from './compare.ts';
import { cpuSeconds } from './process-tree.ts';
import { programPath, runProgram } from './programs.ts';

/** A server of HTTP/2 on 127.0.0.1 that begins with it (prior knowledge), and what is asked of it. */
interface StreamTarget {
  readonly name: string;
  readonly port: number;
  readonly path: string;
  /** The processes that serve, without their descendants. */
  readonly servers: readonly number[];
}

/** As many requests at once as HTTP/1.1 has connections in the other rows, eight on each connection. */
const LOAD = ['-t', '1', '-c', '8', '-m', '8'] as const;

/** A server under the load of h2load. A round with another response than 2xx, or with a broken stream, throws. */
export function streamLoad({ name, port, path, servers }: StreamTarget): Contender {
  const h2load = programPath('h2load');
  const round = async (seconds: number) => {
    const before = cpuSeconds(servers);
    const args = [...LOAD, '-D', String(seconds), `http://127.0.0.1:${port}${path}`];
    const output = await runProgram(h2load, args);
    const used = cpuSeconds(servers) - before;
    const [, done, succeeded, failed] =
      /requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed/.exec(output) ?? [];
    if (succeeded === undefined) throw new Error(`h2load said something unexpected: ${output}`);
    if (failed !== '0' || done !== succeeded || done === '0')
      throw new Error(`${name}: ${failed} requests failed`);
    return { requests: Number(succeeded), seconds, cpuSeconds: used };
  };
  return { name, round };
}
