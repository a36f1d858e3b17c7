import { compare } from '../compare.ts';
import { httpLoad } from '../load.ts';
import type { Row } from '../row.ts';
import { startGw } from '../servers.ts';

const EVENT = { type: 'purged', payload: 'tag:article-4711' };

const PUBLISH = `
  wrk.method = "POST"
  wrk.path = "/events"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = '${JSON.stringify(EVENT)}'`;

/** Publishing into the ring, against a response without any work. */
export const eventsRow: Row = {
  name: 'events',
  async run(bench) {
    const { port, pid } = await startGw(
      bench,
      `location / { return 200 ok; }
       location /events { worker_events_api; worker_events_zone bus; worker_events_channel cache; }`,
    );
    const load = (name: string, script: string) => httpLoad(bench, { name, port, script, servers: [pid] });
    return compare(bench, load('publish', PUBLISH), [
      {
        line: 'event publish / return 200',
        goal: 0.5,
        open: () => Promise.resolve(load('return', 'wrk.path = "/"')),
      },
    ]);
  },
};
