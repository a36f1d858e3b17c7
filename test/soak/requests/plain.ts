import type { HonestRequest } from '../actor.ts';
import { ask } from '../client.ts';
import { judge } from '../judge.ts';
import { FILES } from '../stage.ts';

const NAMES = Object.keys(FILES);

/** Requests that the gateway serves by itself, from files, or from an upstream. */
export const plainRequests: readonly HonestRequest[] = [
  async function says(turn) {
    const [path, word, tls] = [turn.random.word(12), turn.random.word(12), turn.random.chance(0.3)];
    const { port, tlsPort } = turn.stage.sites;
    const got = await ask(tls ? tlsPort : port, `/say/${path}?x=${word}&kind=a1`, { tls });
    judge(turn, `GET /say/${path}`, { got, wanted: { status: 200, body: `GET /say/${path} ${word}` } });
  },
  async function namesItself(turn) {
    const name = turn.random.pick(['日本', 'José', 'é', 'plain']);
    const headers = { 'x-name': Buffer.from(name).toString('latin1') };
    // Served by the node engine whatever engine the others have: uWebSockets.js drops such bytes.
    const got = await ask(turn.stage.sites.tlsPort, '/name', { headers, tls: true });
    judge(turn, 'GET /name', { got, wanted: { status: 200, body: name } });
  },
  async function rewrites(turn) {
    const [word, rest] = [turn.random.word(12), turn.random.word(12)];
    const got = await ask(turn.stage.sites.port, `/moved/${word}/${rest}`);
    judge(turn, 'GET /moved/', { got, wanted: { status: 200, body: `GET /say/${rest} ${word}` } });
  },
  async function files(turn) {
    const name = turn.random.pick(NAMES);
    const tls = turn.random.chance(0.3);
    const got = await ask(tls ? turn.stage.sites.tlsPort : turn.stage.sites.port, `/files/${name}`, { tls });
    judge(turn, `GET /files/${name}`, { got, wanted: { status: 200, body: FILES[name] ?? '' } });
  },
  async function ranges(turn) {
    const first = turn.random.below(1_000_000);
    const last = first + turn.random.below(40_000);
    const headers = { range: `bytes=${first}-${last}` };
    const got = await ask(turn.stage.sites.port, '/files/large.txt', { headers });
    const body = (FILES['large.txt'] ?? '').slice(first, last + 1);
    judge(turn, 'GET a range of /files/large.txt', { got, wanted: { status: 206, body } });
  },
  async function forwards(turn) {
    const path = `/echo/${turn.random.word(12)}?x=${turn.random.word(4)}`;
    const body = 'x'.repeat(turn.random.pick([0, 1, 1000, 70_000]));
    const got = await ask(turn.stage.sites.port, path, { method: 'POST', body });
    judge(turn, `POST ${path}`, { got, wanted: { status: 200, body: `${path} ${body.length}` } });
  },
  async function forwardsToABrokenPeer(turn) {
    const how = turn.random.pick(['~reset', '~junk']);
    const got = await ask(turn.stage.sites.port, `/echo/${how}`);
    judge(turn, `GET /echo/${how}`, { got, wanted: { status: [502, 503] } });
  },
  async function isTooLarge(turn) {
    const got = await ask(turn.stage.sites.port, '/echo/large', {
      method: 'POST',
      body: Buffer.alloc(300_000),
    });
    // A client that still writes may see the connection close instead.
    if (got.failure === 'ECONNRESET' || got.failure === 'EPIPE') turn.count('413 unseen');
    else judge(turn, 'POST of 300,000 bytes', { got, wanted: { status: 413 } });
  },
  async function controls(turn) {
    const path = turn.random.pick([
      '/runtime/health',
      '/runtime/system',
      '/runtime/describe',
      '/metrics',
      '/live',
    ]);
    const got = await ask(turn.stage.sites.port, path);
    judge(turn, `GET ${path}`, { got, wanted: { status: 200 } });
  },
  async function isLimited(turn) {
    const got = await ask(turn.stage.sites.port, `/limited/?client=${turn.random.word(2)}`);
    judge(turn, 'GET /limited/', { got, wanted: { status: [204, 503] } });
  },
  async function isLogged(turn) {
    const headers = {
      'user-agent': turn.random.pick(['curl', 'a"b\\c', '\u001b[31m', 'ä']).replace(/[^\x20-\x7e]/g, '?'),
    };
    const got = await ask(turn.stage.sites.port, `/logged/?${turn.random.word(4)}`, { headers });
    judge(turn, 'GET /logged/', { got, wanted: { status: 204 } });
  },
  async function isAbsent(turn) {
    const got = await ask(turn.stage.sites.port, `/${turn.random.word(12)}`);
    judge(turn, 'GET of what is not there', { got, wanted: { status: 404 } });
  },
];
