import { freePort } from '../../harness/ports.ts';
import type { Bench } from '../bench.ts';
import type { Contender } from '../compare.ts';
import { startNginx } from '../nginx.ts';
import { startBareUws } from '../peers/index.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

export const RETURN = 'location / { return 200 ok; }';

const load = (bench: Bench, name: string, { port, pid }: Server): Contender =>
  httpLoad(bench, { name, port, requests: [{ path: '/' }], servers: [pid] });

/** The cost that gw adds to a request. */
export const returnText: Scenario = {
  name: 'return',
  async open(bench) {
    return {
      subject: load(bench, 'gw', await startGw(bench, RETURN)),
      peers: [
        {
          line: 'return 200 / nginx',
          goal: 0.95,
          aim: 1,
          open: async () => load(bench, 'nginx', await startNginx(bench, RETURN)),
        },
        {
          line: 'return 200 / bare uWebSockets.js',
          open: async () => load(bench, 'uws', await startBareUws(bench)),
        },
      ],
    };
  },
};

/** The same from the engine that serves TLS and HTTP/2. */
export const returnFromNode: Scenario = {
  name: 'node',
  async open(bench) {
    const port = await freePort();
    const { pid } = await startGw(bench, `listen 127.0.0.1:${port} engine=node; ${RETURN}`);
    return {
      subject: load(bench, 'gw node', { port, pid }),
      peers: [
        {
          line: 'return 200, node engine / nginx',
          goal: 0.55,
          aim: 0.7,
          open: async () => load(bench, 'nginx', await startNginx(bench, RETURN)),
        },
      ],
    };
  },
};
