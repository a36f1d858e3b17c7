import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { responseOn } from '../../harness/http2-client.ts';
import type { Actor, Turn } from '../actor.ts';
import { type Got, NO_RESPONSE } from '../client.ts';
import { judge } from '../judge.ts';
import { FILES } from '../stage.ts';

/** As in `client.ts`. */
const WAIT_MS = 45_000;
const PIECES = 8;
/** Eight of them last as long as several reloads. */
const MOST_PAUSE_MS = 400;

/** Sends a request, and says which one it is and what its response has to be. */
type Request = (
  session: ClientHttp2Session,
  turn: Turn,
) => { readonly stream: ClientHttp2Stream; readonly line: string; readonly body: string };

const REQUESTS: readonly Request[] = [
  function says(session, { random }) {
    const [path, word] = [random.word(12), random.word(12)];
    const stream = session.request({ ':path': `/say/${path}?x=${word}` });
    return { stream, line: `GET /say/${path} over HTTP/2`, body: `GET /say/${path} ${word}` };
  },
  function reads(session) {
    const stream = session.request({ ':path': '/files/large.txt' });
    return { stream, line: 'GET /files/large.txt over HTTP/2', body: FILES['large.txt'] ?? '' };
  },
  function uploads(session, { random }) {
    const [path, pieceBytes] = [random.word(12), random.pick([1, 1_000, 20_000])];
    const stream = session.request({ ':path': `/echo/${path}`, ':method': 'POST' });
    const pauses = Array.from({ length: PIECES }, () => random.below(MOST_PAUSE_MS));
    void write(stream, pauses, 'x'.repeat(pieceBytes));
    const body = `/echo/${path} ${PIECES * pieceBytes}`;
    return { stream, line: `POST /echo/${path} over HTTP/2`, body };
  },
];

async function write(stream: ClientHttp2Stream, pauses: readonly number[], piece: string): Promise<void> {
  for (const ms of pauses) {
    await sleep(ms);
    if (stream.destroyed) return;
    stream.write(piece);
  }
  stream.end();
}

/** Sends a request, and judges its response; or cancels it. */
async function play(session: ClientHttp2Session, turn: Turn, request: Request): Promise<void> {
  const startedMs = performance.now();
  const isCancelled = turn.random.chance(0.2);
  const afterMs = turn.random.below(100);
  const { stream, line, body } = request(session, turn);
  const response = responseOn(stream).then(
    ({ status, body: text }): Got => ({ status, headers: {}, body: text, failure: '', startedMs }),
    (error: unknown): Got => ({ status: 0, headers: {}, body: '', failure: String(error), startedMs }),
  );
  if (isCancelled) {
    await Promise.race([response, sleep(afterMs)]);
    stream.close(constants.NGHTTP2_CANCEL);
    return turn.count('cancelled');
  }
  const left = new AbortController();
  const late = sleep(WAIT_MS, undefined, { signal: left.signal }).then(
    (): Got => ({ status: 0, headers: {}, body: '', failure: NO_RESPONSE, startedMs }),
    (): Got => ({ status: 0, headers: {}, body: '', failure: '', startedMs }),
  );
  judge(turn, line, { got: await Promise.race([response, late]), wanted: { status: 200, body } });
  left.abort();
}

/** Clients with several streams on one connection: reloads harm none of them, nor do the streams that are cancelled. */
export const streams: Actor = {
  name: 'streams',
  lanes: 3,
  limitMs: WAIT_MS + 5_000,
  async act(turn) {
    const { tlsPort } = turn.stage.sites;
    const session = connect(`https://127.0.0.1:${tlsPort}`, { rejectUnauthorized: false });
    // Each of its streams has an error as well.
    session.on('error', () => undefined);
    const asked = Array.from({ length: turn.random.between(1, 12) }, () => turn.random.pick(REQUESTS));
    await Promise.all(asked.map((request) => play(session, turn, request)));
    // It rejects if the connection fails, which the streams have said.
    const closed = session.destroyed ? undefined : once(session, 'close').catch(() => undefined);
    session.close();
    await closed;
  },
};
