import type { Contender } from './compare.ts';
import { withCpuSeconds } from './process-tree.ts';
import { programPath, runProgram } from './programs.ts';
import type { Asked } from './streams.ts';
import type { Target } from './target.ts';

/** Connections that are opened at the same time, each by a process of its own. */
const CLIENTS = 4;

/** A second has some hundreds of connections: as many rounds as elsewhere would end while V8 still compiles. */
const WARM_UP_ROUNDS = 6;

/**
 * A server with TLS under the load of `openssl s_time`, which opens one connection after the other, asks for the path
 * with HTTP/1.0, and reads until the server closes it. (wrk resumes the session of the connection before.)
 */
export function handshakeLoad({ request, ...server }: Asked, kind: 'full' | 'resumed'): Contender {
  const target: Target = { ...server, traffic: 'handshakes', requests: [request] };
  const { name, port, servers } = target;
  const openssl = programPath('openssl');
  const how = kind === 'full' ? '-new' : '-reuse';
  const args = ['s_time', '-connect', `127.0.0.1:${port}`, '-www', request.path, how, '-time'];
  const round = async (seconds: number) => {
    // The program stops when a whole second is over, so the duration is measured here.
    const startMs = performance.now();
    const { given: outputs, cpuSeconds } = await withCpuSeconds(servers, () =>
      Promise.all(Array.from({ length: CLIENTS }, () => runProgram(openssl, [...args, String(seconds)]))),
    );
    const tookMs = performance.now() - startMs;
    const requests = outputs.reduce((sum, output) => sum + connectionsOf(name, output, kind), 0);
    return { requests, seconds: tookMs / 1_000, cpuSeconds };
  };
  return { name, target, warmUpRounds: WARM_UP_ROUNDS, round };
}

/** It prints `*` for a full handshake and `r` for a resumed one, then the number of connections. */
function connectionsOf(name: string, output: string, kind: 'full' | 'resumed'): number {
  const [, marks = '', count] = /^([*r]*)\n[^]*?(\d+) connections in /m.exec(output) ?? [];
  const expected = kind === 'full' ? '*' : 'r';
  const others = [...marks].filter((mark) => mark !== expected).length;
  // The session to be resumed comes with a full handshake of its own.
  if (count === undefined || Number(count) === 0 || others > 1)
    throw new Error(`${name}: openssl said something unexpected: ${output.slice(-200)}`);
  return Number(count);
}
