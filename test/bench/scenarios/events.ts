import { call } from '../../harness/http.ts';
import { nchanModule, startNginx } from '../nginx.ts';
import { startBareUws } from '../peers/index.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw } from '../servers.ts';
import { type HttpRequest, httpLoad } from '../target.ts';

/** The default size of gw's ring; nchan gets the same. */
const RING = 1_024;
const READ = 100;
const LOCATION =
  'location /events { worker_events_api; worker_events_zone bus; worker_events_channel cache; }';
const PUBLISH: HttpRequest = {
  method: 'POST',
  path: '/events',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ type: 'purged', payload: 'tag:article-4711' }),
};

/** Publishing where nobody listens. */
export const publish: Scenario = {
  name: 'publish',
  async open(bench) {
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests: [PUBLISH], servers: [pid] });
    const nchan = `location /events {
      nchan_publisher; nchan_channel_id cache; nchan_message_buffer_length ${RING}; nchan_message_timeout 1h; }`;
    return {
      subject: load('gw publish', await startGw(bench, LOCATION)),
      peers: [
        {
          line: 'event publish / nchan',
          goal: 0.8,
          aim: 1,
          note: 'nchan stores the body, gw reads its JSON',
          open: async () => load('nchan', await startNginx(bench, nchan, { modules: nchanModule() })),
        },
      ],
    };
  },
};

/** Reading events that stay the same, beside a program that makes the same JSON anew for each reader. */
export const inspect: Scenario = {
  name: 'inspect',
  async open(bench) {
    const path = `/events?since=0&limit=${READ}`;
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests: [{ path }], servers: [pid] });
    const gw = await startGw(bench, LOCATION);
    for (let event = 0; event < READ; event++) await call(gw.port, PUBLISH.path, PUBLISH);
    const { status, body } = await call(gw.port, path);
    if (status !== 200) throw new Error(`the gateway answers ${path} with ${status}: ${body}`);
    return {
      subject: load('gw inspect', gw),
      peers: [
        {
          line: `inspect ${READ} events / uWebSockets.js + JSON`,
          // Four times what gw served when it made the JSON anew as well.
          goal: 2,
          open: async () =>
            load('uws inspect', await startBareUws(bench, { data: body, body: 'JSON.stringify(data)' })),
        },
      ],
    };
  },
};
