import { expect, onTestFinished, test } from 'vitest';
import { oneGateway } from '../harness/gateway.ts';
import { postgres } from '../harness/postgres.ts';
import { readScripts, startScriptedUpstream } from '../harness/scripted-upstream.ts';

const FIXTURE = `
  create table things (id int primary key, name text);
  create function nothing() returns void language sql as '';
  grant all on all tables in schema public to anon;
`;
const UPSTREAM = readScripts(String.raw`
plain: "HTTP/1.1 204 No Content\r\n\r\n"
length: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
last: "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n" <close>
modified: "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"
`);

const load = oneGateway();

const cases: readonly (readonly [what: string, method: string, path: string, body?: string])[] = [
  ['return', 'GET', '/return'],
  ['return', 'HEAD', '/return'],
  ['return', 'DELETE', '/return'],
  ['return, for a body,', 'POST', '/return', 'abc'],
  ['a location that closes', 'GET', '/closing'],
  ['an upstream', 'GET', '/up/~plain'],
  ['an upstream that tells a length', 'GET', '/up/~length'],
  ['an upstream that closes', 'POST', '/up/~last', 'abc'],
  ['an upstream with 304', 'GET', '/up/~modified'],
  ['a deleted row', 'DELETE', '/rest/things?id=eq.0'],
  ['a changed row', 'PATCH', '/rest/things?id=eq.0', '{"name":"a"}'],
  ['a call without a result', 'POST', '/rest/rpc/nothing', '{}'],
];

test.each(cases)('the response of %s to %s %s has no length', async (...[, method, path, body]) => {
  const { dsn } = await postgres(FIXTURE);
  const { port } = await startScriptedUpstream({ onTestFinished }, UPSTREAM);
  const gw = await load(
    { onTestFinished },
    `server {
      location /return { return 204; }
      location /closing { keepalive_timeout 0; return 204; }
      location /up/ { proxy_pass http://127.0.0.1:${port}; }
      location /rest/ { dbrest_pass "${dsn}"; dbrest_schemas public; dbrest_anon_role anon; }
    }`,
  );
  const framings = ['', 'Connection: close\r\n'];
  for (const framing of framings) {
    const length =
      body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const received = await gw.raw(
      `${method} ${path} HTTP/1.1\r\nHost: a\r\n${framing}${length}\r\n${body ?? ''}`,
    );
    expect(received).toMatch(/^HTTP\/1\.1 (?:204 No Content|304 Not Modified)\r\n/);
    expect(received).not.toMatch(/^(?:content-length|transfer-encoding):/im);
    expect(received.indexOf('\r\n\r\n')).toBe(received.length - 4);
  }
});
