import { freePort } from '../../harness/ports.ts';
import { startNginx } from '../nginx.ts';
import { startBareUws } from '../peers/index.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

const LOCATION = 'location / { return 200 ok; }';

/** The same from the engine that serves TLS and HTTP/2. */
export const returnFromNode: Scenario = {
  name: 'node',
  async open(bench) {
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests: [{ path: '/' }], servers: [pid] });
    const port = await freePort();
    const { pid } = await startGw(bench, `listen 127.0.0.1:${port} engine=node; ${LOCATION}`);
    return {
      subject: load('gw node', { port, pid }),
      peers: [
        {
          line: 'return 200, node engine / nginx',
          goal: 0.55,
          aim: 0.7,
          open: async () => load('nginx', await startNginx(bench, LOCATION)),
        },
      ],
    };
  },
};

/** The cost that gw adds to a request. */
export const returnText: Scenario = {
  name: 'return',
  async open(bench) {
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests: [{ path: '/' }], servers: [pid] });
    return {
      subject: load('gw', await startGw(bench, LOCATION)),
      peers: [
        {
          line: 'return 200 / nginx',
          goal: 0.95,
          aim: 1,
          open: async () => load('nginx', await startNginx(bench, LOCATION)),
        },
        {
          line: 'return 200 / bare uWebSockets.js',
          open: async () => load('uws', await startBareUws(bench)),
        },
      ],
    };
  },
};
