import type { Actor } from '../actor.ts';
import { exchange, inPieces } from '../exchange.ts';
import { judgeMutant } from '../judge.ts';
import { mutate } from '../mutate.ts';

const HOST = 'Host: soak.example\r\n';

/** Valid requests; what is sent is made of one or two of them. */
const REQUESTS = [
  `GET /say/a?x=1&kind=b HTTP/1.1\r\n${HOST}\r\n`,
  `HEAD /files/small.txt HTTP/1.1\r\n${HOST}If-None-Match: "x", W/"y"\r\n\r\n`,
  `GET /files/large.txt HTTP/1.1\r\n${HOST}Range: bytes=0-10,20-30,-5\r\nIf-Range: "x"\r\n\r\n`,
  `GET /files/page.html HTTP/1.1\r\n${HOST}If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nAccept-Encoding: gzip;q=0.5, *\r\n\r\n`,
  `POST /echo/a HTTP/1.1\r\n${HOST}Content-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world`,
  `POST /echo/b HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX: y\r\n\r\n`,
  `POST /echo/c HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello`,
  `GET /echo/d HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  `GET http://soak.example/say/b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`,
  `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`,
  `GET /moved/a/b?x=%41&y=%c3%bc HTTP/1.1\r\n${HOST}Cookie: a=1; b="2"\r\nCookie: c=3\r\n\r\n`,
  `GET /logged/?a=1&key=secret HTTP/1.1\r\n${HOST}User-Agent: a "b" \\\r\nReferer: http://a/?b\r\n\r\n`,
  `GET /kv/get?k=a%00b HTTP/1.1\r\n${HOST}\r\n`,
  `POST /kv/set?k=mutant HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc`,
  `GET /kv/mget?keys=a,b,c HTTP/1.1\r\n${HOST}\r\n`,
  `GET /events?since=1&limit=5&channel=&type=a HTTP/1.1\r\n${HOST}\r\n`,
  `GET /api/fixed?select=id,name::text,n:name&or=(id.eq.1,and(id.gt.2,name.like.*a*))&order=id.desc.nullslast&limit=3&offset=1 HTTP/1.1\r\n${HOST}Prefer: count=exact\r\nRange: 0-5\r\nAccept: text/csv, */*;q=0.1\r\n\r\n`,
  `GET /api/items?tags->a->>0=in.(1,"2,3")&name=not.is.null HTTP/1.1\r\n${HOST}Authorization: Bearer a.b.c\r\nAccept-Profile: public\r\n\r\n`,
  `GET /api/rpc/who?a=1 HTTP/1.1\r\n${HOST}Prefer: tx=rollback, timezone=UTC, params=single-object\r\n\r\n`,
  `GET /runtime/describe HTTP/1.1\r\n${HOST}Origin: http://elsewhere.example\r\n\r\n`,
];

/** Locations that may respond with 502, 503 or 504 without a fault of the gateway. */
const BEHIND = ['process', 'worker', 'database', 'store'] as const;

/** Requests with a few changes, over TCP and TLS, whole and in pieces, alone and behind an honest one. */
export const httpMutants: Actor = {
  name: 'http-mutants',
  lanes: 4,
  async act(turn) {
    const { random, stage } = turn;
    const first = random.chance(0.2) ? Buffer.from(random.pick(REQUESTS), 'latin1') : Buffer.alloc(0);
    const bytes = Buffer.concat([first, mutate(Buffer.from(random.pick(REQUESTS), 'latin1'), random)]);
    const tls = random.chance(0.25);
    const cuts = random.chance(0.4) ? [random.below(bytes.length), random.below(bytes.length)] : [];
    // Now and then a client waits as long as the server does; every server closes in the end.
    const patienceMs = random.chance(0.01) ? 15_000 : 150;
    const port = tls ? stage.sites.tlsPort : stage.sites.port;
    const seen = await exchange({ port, tls, pieces: inPieces(bytes, cuts), patienceMs });
    judgeMutant(turn, bytes, { seen, behind: BEHIND });
    if (patienceMs > 1_000 && !seen.closed) turn.violation('a connection stays open for ever', bytes);
  },
};
