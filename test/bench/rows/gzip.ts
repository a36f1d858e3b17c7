import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Row } from '../row.ts';
import { type Server, startGw, startNginx } from '../servers.ts';

const PAGE_BYTES = 32_768;
const SCRIPT = `wrk.path = "/page.html"
  wrk.headers["Accept-Encoding"] = "gzip"`;

/** The cost of compressing a page, at the default level of both. */
export const gzipRow: Row = {
  name: 'gzip',
  async run(bench) {
    const server = `gzip on; root ${pageDirectory(bench)};`;
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, script: SCRIPT, servers: [pid] });
    return compare(bench, load('gw gzip', await startGw(bench, server)), [
      {
        line: 'gzip of a 32 KB page / nginx',
        goal: 0.7,
        open: async () => load('nginx gzip', await startNginx(bench, server)),
      },
    ]);
  },
};

/** A directory with a page of prose: generated text would compress too well. */
function pageDirectory({ dir }: Bench): string {
  const page = readFileSync('conf/reference.md').subarray(0, PAGE_BYTES);
  writeFileSync(join(dir, 'page.html'), page);
  return dir;
}
