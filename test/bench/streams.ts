import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender } from './compare.ts';
import { withCpuSeconds } from './process-tree.ts';
import { programPath, runProgram } from './programs.ts';
import type { HttpRequest, Target } from './target.ts';

/** As many requests at once as HTTP/1.1 has connections in the other rows, eight on each connection. */
const LOAD = ['-t', '1', '-c', '8', '-m', '8'] as const;

/** A server that gets one request over and over. */
export type Asked = Omit<Target, 'requests' | 'traffic'> & { readonly request: HttpRequest };

/** A server under the load of h2load. A round with another response than 2xx, or with a broken stream, throws. */
export function streamLoad(bench: Bench, { request, ...server }: Asked): Contender {
  const target: Target = { ...server, traffic: 'http2', requests: [request] };
  const { name, port, servers } = target;
  const h2load = programPath('h2load');
  const asked = [...argumentsOf(bench, request, port), `http://127.0.0.1:${port}${request.path}`];
  const round = async (seconds: number) => {
    const { given: output, cpuSeconds } = await withCpuSeconds(servers, () =>
      runProgram(h2load, [...LOAD, '-D', String(seconds), ...asked]),
    );
    const [, done, succeeded, failed] =
      /requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed/.exec(output) ?? [];
    if (succeeded === undefined) throw new Error(`h2load said something unexpected: ${output}`);
    if (failed !== '0' || done !== succeeded || done === '0')
      throw new Error(`${name}: ${failed} requests failed`);
    return { requests: Number(succeeded), seconds, cpuSeconds };
  };
  return { name, target, round };
}

/** With a body, h2load sends POST. */
function argumentsOf(bench: Bench, { headers = {}, body }: HttpRequest, port: number): readonly string[] {
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  if (body === undefined) return fields;
  const file = join(bench.dir, `body-${port}`);
  writeFileSync(file, body);
  return [...fields, '-d', file];
}
