import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Finding, Row } from '../row.ts';
import { type Server, startGw, startNginx } from '../servers.ts';

const SIZES = [
  { name: '4 KB', bytes: 4_096, goal: 0.6, connections: 64 },
  { name: '1 MB', bytes: 1_048_576, goal: 0.7, connections: 16 },
] as const;

const CACHED = 'open_file_cache max=100;';

/** Files from the page cache, with the sizes of a site's. */
export const staticRow: Row = {
  name: 'static',
  async run(bench) {
    const findings: Finding[] = [];
    for (const size of SIZES) findings.push(...(await compareSize(bench, size)));
    return findings;
  },
};

async function compareSize(
  bench: Bench,
  { name, bytes, goal, connections }: (typeof SIZES)[number],
): Promise<Finding[]> {
  const file = `${bytes}.bin`;
  writeFileSync(join(bench.dir, file), Buffer.alloc(bytes, 'x'));
  const root = `root ${bench.dir};`;
  const script = `wrk.path = "/${file}"`;
  const load = (who: string, { port, pid }: Server) =>
    httpLoad(bench, { name: `${who} ${name}`, port, script, connections, servers: [pid] });
  const fresh = await compare(bench, load('gw', await startGw(bench, root)), [
    {
      line: `a file of ${name} / nginx`,
      goal,
      open: async () => load('nginx', await startNginx(bench, root)),
    },
  ]);
  const cached = await compare(bench, load('gw cached', await startGw(bench, root + CACHED)), [
    {
      line: `a file of ${name} with open_file_cache / nginx`,
      goal,
      open: async () => load('nginx cached', await startNginx(bench, root + CACHED)),
    },
  ]);
  return [...fresh, ...cached];
}
