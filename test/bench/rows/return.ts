import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Row } from '../row.ts';
import { type Server, startBareUws, startGw, startNginx } from '../servers.ts';

const LOCATION = 'location / { return 200 ok; }';

/** The cost that gw adds to a request. */
export const returnRow: Row = {
  name: 'return',
  async run(bench) {
    const load = (name: string, { port, pid }: Server) => httpLoad(bench, { name, port, servers: [pid] });
    return compare(bench, load('gw', await startGw(bench, LOCATION)), [
      {
        line: 'return 200 / bare uWebSockets.js',
        goal: 0.85,
        open: async () => load('uws', await startBareUws(bench)),
      },
      {
        line: 'return 200 / nginx',
        goal: 0.85,
        open: async () => load('nginx', await startNginx(bench, LOCATION)),
      },
    ]);
  },
};
