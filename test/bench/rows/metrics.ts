import { compare, type Contender } from '../compare.ts';
import type { Bench } from '../bench.ts';
import type { Row } from '../row.ts';
import { startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

const LOCATION = 'location / { return 200 ok; }';
/** Requests are counted by location where some location serves the metrics. */
const METRICS = 'location = /metrics { control_api metrics; }';

/** The cost of counting for the cheapest request. */
export const metricsRow: Row = {
  name: 'metrics',
  async run(bench) {
    return compare(bench, {
      subject: await counted(bench, `${LOCATION} ${METRICS}`),
      peers: [
        {
          line: 'return 200 counted / not counted',
          goal: 0.97,
          open: () => counted(bench, LOCATION),
        },
      ],
    });
  },
};

async function counted(bench: Bench, server: string): Promise<Contender> {
  const { port, pid } = await startGw(bench, server);
  return httpLoad(bench, { name: 'gw', port, requests: [{ path: '/' }], servers: [pid] });
}
