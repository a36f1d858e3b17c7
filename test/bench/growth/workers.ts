import { startNginx } from '../nginx.ts';
import type { Row } from '../row.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';
import { series } from './series.ts';

const LOCATION = 'location / { return 200 ok; }';

/** With two workers on two cores, the load generator takes its share of both sides. */
export const workersRow: Row = {
  name: 'workers',
  run: (bench) =>
    series(bench, {
      sizes: [1, 2],
      name: (workers) => `workers: ${workers}`,
      open: async (own, workers) => {
        const load = (name: string, { port, pid }: Server) =>
          httpLoad(own, { name, port, requests: [{ path: '/' }], servers: [pid] });
        return {
          subject: load('gw', await startGw(own, LOCATION, workers)),
          peers: [
            {
              line: `return 200, workers: ${workers} / nginx`,
              open: async () => load('nginx', await startNginx(own, LOCATION, { workers })),
            },
          ],
        };
      },
    }),
};
