import { startNginx } from '../nginx.ts';
import { memoryOf } from '../process-tree.ts';
import { countText, megabytes } from '../quantities.ts';
import type { Row } from '../row.ts';
import { locations, pathOf } from '../rows/memory.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';
import { series } from './series.ts';

const COUNTS = [10, 1_000, 10_000, 100_000];
/** Locations that are requested in turns, spread evenly: all counts get requests of the same length. */
const ASKED = 10;

export const locationsRow: Row = {
  name: 'locations',
  run: (bench) =>
    series(bench, {
      sizes: COUNTS,
      name: (count) => `${countText(count)} locations / nginx`,
      open: async (own, count) => {
        const requests = Array.from({ length: ASKED }, (_, index) => ({
          path: pathOf((index * count) / ASKED),
        }));
        const load = (name: string, { port, pid }: Server) =>
          httpLoad(own, { name: `${name} ${count} locations`, port, requests, servers: [pid] });
        const startMs = performance.now();
        const gw = await startGw(own, locations(count));
        const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
        return {
          subject: load('gw', gw),
          peers: [
            {
              line: `${countText(count)} locations / nginx`,
              note: `gw: ${megabytes(memoryOf(gw.pid).pssBytes)} PSS, ready after ${seconds} s`,
              open: async () => load('nginx', await startNginx(own, locations(count))),
            },
          ],
        };
      },
    }),
};
