import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';

/* Much longer than either engine lets an idle connection stay: 2 seconds as configured, or 10 and a tick of uWebSockets.js. */
const PATIENCE_MS = 60_000;

const head = (method: string, path: string, more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a.example\r\n${more}\r\n`;
const post = (path: string, more = ''): string =>
  `${head('POST', path, `${more}Content-Length: 5\r\n`)}hello`;

const GZIP = 'Accept-Encoding: gzip\r\n';

/** The last byte of the body comes long after the response. */
const unfinished = (path: string, more = ''): readonly string[] => [
  post(path, more).slice(0, -1),
  ...Array.from({ length: 10 }, () => ''),
  'o',
];
const chunked = (path: string): readonly string[] => [
  `${head('POST', path, 'Transfer-Encoding: chunked\r\n')}4\r\nhell\r\n`,
  ...Array.from({ length: 10 }, () => ''),
  '1\r\no\r\n0\r\n\r\n',
];

/** A location that responds 403 with the text as soon as a subrequest is done, and does not read the body. */
const refusedWith = (name: string, text: string): string => `
        location /${name} { auth_request /refused; error_page 403 @${name}; }
        location @${name} { return 403 "${text}"; }`;

/** What the client sends, in pieces, and what it waits for; the last response comes before the last piece, or with it. */
const cases: readonly (readonly [
  it: string,
  pieces: readonly (string | RegExp)[],
  statuses: readonly number[],
])[] = [
  ['a request without a body', [head('GET', '/none')], [404]],
  ['a body that nobody reads', [post('/none')], [404]],
  ['a body in two pieces that nobody reads', [post('/none').slice(0, -2), 'lo'], [404]],
  ['a body that was waited for', [post('/none', 'Expect: 100-continue\r\n')], [100, 404]],
  ['a body that is passed on', [post('/passed')], [200]],
  [
    'a body that nobody reads behind one that is passed on',
    [post('/passed'), /up$/, post('/none')],
    [200, 404],
  ],
  ['a request behind a body that nobody reads', [post('/none'), head('GET', '/none')], [404, 404]],
  ['a refusal that does not wait for a body', [post('/guarded'), /no$/, head('GET', '/none')], [403, 404]],
  ['a long refusal that does not wait for a body', [post('/long')], [403]],
  ['a response before the end of its body', unfinished('/guarded'), [403]],
  ['a response without a body before the end of its body', unfinished('/empty'), [403]],
  ['a response of one byte before the end of its body', unfinished('/byte'), [403]],
  ['a long response before the end of its body', unfinished('/long'), [403]],
  ['a passed on response before the end of its body', unfinished('/unbuffered'), [200]],
  ['a compressed response before the end of its body', unfinished('/unbuffered', GZIP), [200]],
  ['a response before the end of a body that never comes', unfinished('/guarded').slice(0, -1), [403]],
  ['a response before the end of a body of unknown length', chunked('/guarded'), [403]],
];

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway(
    file,
    (_dir, port) => `
      keepalive_timeout 2s;
      server {
        location /passed { proxy_pass http://127.0.0.1:${port}/up; }
        location /up { return 200 up; }
        location /unbuffered {
          proxy_request_buffering off;
          proxy_pass http://127.0.0.1:${port}/up;
          gzip on;
          gzip_min_length 1;
          gzip_types *;
        }
        location /refused { return 403; }
        ${refusedWith('guarded', 'no')}
        ${refusedWith('empty', '')}
        ${refusedWith('byte', 'n')}
        set $long "${'long '.repeat(500)}";
        ${refusedWith('long', '$long'.repeat(40))}
      }`,
  );
});

test.concurrent.each(cases)(
  'an idle connection is closed behind %s',
  async (_it, pieces, statuses) => {
    const connection = await gw.connect();
    for (const piece of pieces) {
      if (typeof piece !== 'string') await connection.until(piece);
      else connection.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const received = await connection.closed;
    expect([...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))).toEqual(
      statuses,
    );
  },
  PATIENCE_MS,
);
