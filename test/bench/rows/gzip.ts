import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { compare } from '../compare.ts';
import { startNginx } from '../nginx.ts';
import type { Row } from '../row.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

const PAGE_BYTES = 32_768;
const REQUEST = { path: '/page.html', headers: { 'Accept-Encoding': 'gzip' } };

/** The cost of compressing a page, at the default level of both. */
export const gzipRow: Row = {
  name: 'gzip',
  async run(bench) {
    const server = `gzip on; root ${pageDirectory(bench)};`;
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests: [REQUEST], servers: [pid] });
    return compare(bench, {
      subject: load('gw gzip', await startGw(bench, server)),
      peers: [
        {
          line: 'gzip of a 32 KB page / nginx',
          goal: 0.7,
          open: async () => load('nginx gzip', await startNginx(bench, server)),
        },
      ],
    });
  },
};

/** A directory with a page of prose: generated text would compress too well. */
function pageDirectory({ dir }: Bench): string {
  const page = readFileSync('conf/reference.md').subarray(0, PAGE_BYTES);
  writeFileSync(join(dir, 'page.html'), page);
  return dir;
}
