import type { HonestRequest, Turn } from '../actor.ts';
import { ask } from '../client.ts';
import { judge } from '../judge.ts';

interface Door {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number | readonly number[];
}

/** Requests that look for a way past what the configuration closes, and what they get, whatever else happens. */
const DOORS: readonly Door[] = [
  { path: '/known/', headers: { X_Forwarded_For: '192.0.2.7' }, status: 403 },
  { path: '/known/', headers: { 'X-Forwarded-For': '192.0.2.8', X_Forwarded_For: '192.0.2.7' }, status: 403 },
  { path: '/inside/secret', headers: {}, status: 404 },
  { path: '/intercepted/~gone', headers: {}, status: 404 },
  { path: '/tunnel/~switch', headers: { connection: 'Upgrade', upgrade: 'h2c' }, status: 502 },
  {
    path: '/tunnel/~switch',
    headers: { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' },
    status: 502,
  },
];

/** A page that is a client's own never reaches another client. */
async function isItsOwn(turn: Turn, path: string): Promise<void> {
  const page = turn.random.word(2);
  const got = await ask(turn.stage.sites.port, path, { headers: { cookie: `page=${page}` } });
  judge(turn, `GET ${path}`, { got, wanted: { status: 200, body: `page of page=${page}` } });
}

export const closedRequests: readonly HonestRequest[] = [
  async function isRefused(turn) {
    const { path, headers, status } = turn.random.pick(DOORS);
    const tls = turn.random.chance(0.5);
    const { port, tlsPort } = turn.stage.sites;
    const got = await ask(tls ? tlsPort : port, path, { headers, tls });
    if (judge(turn, `GET ${path} with ${Object.keys(headers).join(', ')}`, { got, wanted: { status } }))
      if (got.body.includes('secret')) turn.violation(`GET ${path} shows what is closed`, got.body);
  },
  (turn) => isItsOwn(turn, '/pages/~mine'),
  (turn) => isItsOwn(turn, '/live-pages/~live'),
  (turn) => isItsOwn(turn, '/unbuffered/~mine'),
];
