import { execFileSync } from 'node:child_process';
import type { Bench } from '../bench.ts';
import type { Comparison, Contender } from '../compare.ts';
import { startNginx } from '../nginx.ts';
import { countText } from '../quantities.ts';
import type { Row } from '../row.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';
import { series } from './series.ts';

const COUNTS = [10, 100, 1_000, 10_000];
const LOCATION = 'location / { return 200 ok; }';
/** Files that a server and wrk have open besides connections. */
const OTHER_FILES = 100;

/** Thousands of connections take their time to be opened, and wrk counts that. */
const ROUND_SECONDS = 3;

/** Connections that all have a request under way. */
export const connectionsRow: Row = {
  name: 'connections',
  run(bench) {
    const most = mostConnections();
    const sizes = [...new Set(COUNTS.map((count) => Math.min(count, most)))];
    return series(bench, { sizes, name: (count) => `${countText(count)} connections`, open: atOnce });
  },
};

async function atOnce(bench: Bench, connections: number): Promise<Comparison> {
  const load = (name: string, { port, pid }: Server): Contender => {
    const contender = httpLoad(bench, { name, port, requests: [{ path: '/' }], connections, servers: [pid] });
    return { ...contender, round: (seconds) => contender.round(Math.max(seconds, ROUND_SECONDS)) };
  };
  return {
    subject: load('gw', await startGw(bench, LOCATION)),
    peers: [
      {
        line: `${countText(connections)} connections / nginx`,
        ...(COUNTS.includes(connections) ? {} : { note: 'not more, because of ulimit -n' }),
        open: async () => load('nginx', await startNginx(bench, LOCATION)),
      },
    ],
  };
}

/** gw leaves half of the files that it may have open to upstreams, so that is what clients can be. */
function mostConnections(): number {
  const limit = Number(execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }));
  return Number.isNaN(limit) ? Infinity : Math.floor(limit / 2) - OTHER_FILES;
}
