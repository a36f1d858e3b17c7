import { beforeAll, expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres } from '../../harness/postgres.ts';
import { exchangeRaw } from '../../harness/raw.ts';

const ports = { uws: 0, node: 0 };

beforeAll(async () => {
  for (const engine of ['uws', 'node'] as const) ports[engine] = await freePort();
  const { dsn } = await postgres('create table pets (id int); grant select on pets to anon;');
  const rest = `dbrest_pass "${dsn}";`;
  await startGateway(
    wholeFile(),
    `dbrest_schemas public; dbrest_anon_role anon; large_client_header_buffers 4 1k;
     server {
       listen 127.0.0.1:${ports.uws} engine=uws; listen 127.0.0.1:${ports.node} engine=node;
       location /r/ { ${rest} client_max_body_size 10; }
       location /large/ { ${rest} }
       location /closed/ { deny all; ${rest} }
       location /read/ { ${rest} limit_except GET { deny all; } }
       location /password/ { auth_basic rest; auth_basic_user_file users; ${rest} }
       location /paged/ { deny all; error_page 403 = @page; ${rest} }
       location @page { return 403 "own page"; }
       location / { return 200; }
     }`,
    { port: ports.uws, files: { users: 'ann:{PLAIN}x\n' } },
  );
});

const head = (line: string, more = ''): string =>
  `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${more}\r\n`;
const refusal = (reason: string, hint: string | null = null): string =>
  `"code":"DBREST130","details":null,"hint":${JSON.stringify(hint)},"message":"The gateway refuses the request: ${reason}"`;

const cases = [
  {
    it: 'an address that is denied',
    bytes: head('GET /closed/pets'),
    status: 403,
    body: refusal('Forbidden'),
  },
  {
    it: 'a method that limit_except denies',
    bytes: head('DELETE /read/pets?id=eq.1'),
    status: 403,
    body: refusal('Forbidden'),
  },
  { it: 'no password', bytes: head('GET /password/pets'), status: 401, body: refusal('Unauthorized') },
  { it: 'TRACE', bytes: head('TRACE /r/pets'), status: 405, body: refusal('Not Allowed') },
  {
    it: 'two lengths',
    bytes: head('GET /r/pets', 'Content-Length: 1\r\nContent-Length: 2\r\n'),
    status: 400,
    body: refusal('Bad Request'),
  },
  {
    it: 'a header line beyond its buffer',
    bytes: head('GET /r/pets', `X: ${'a'.repeat(1100)}\r\n`),
    status: 400,
    body: refusal('Bad Request'),
  },
  {
    it: 'a query beyond its buffer',
    bytes: head(`GET /r/pets?id=in.(${'1,'.repeat(600)}1)`),
    status: 414,
    body: refusal(
      'Request-URI Too Large',
      'A read may have its parameters in the body of a QUERY, or of a POST with "X-HTTP-Method-Override: QUERY".',
    ),
  },
  {
    it: 'an unknown encoding',
    bytes: head('POST /r/pets', 'Transfer-Encoding: gzip\r\n'),
    status: 501,
    body: refusal('Not Implemented'),
  },
  {
    it: 'a body that is too large',
    bytes: head('POST /r/pets', 'Content-Length: 11\r\n'),
    status: 413,
    body: '"code":"PGRST102","details":null,"hint":"\\"client_max_body_size\\" allows 10 bytes.",',
  },
  {
    it: 'a QUERY that is too large',
    bytes: head('QUERY /large/pets', 'Content-Length: 262145\r\n'),
    status: 413,
    body: '"hint":"The content of a QUERY has at most 262144 bytes.",',
  },
  { it: 'an error page of its own', bytes: head('GET /paged/pets'), status: 403, body: 'own page' },
  {
    it: 'another location with a long query',
    bytes: head(`GET /pets?${'a'.repeat(1100)}`),
    status: 414,
    body: '<h1>414 Request-URI Too Large</h1>',
  },
  { it: 'another location', bytes: head('TRACE /pets'), status: 405, body: '<h1>405 Not Allowed</h1>' },
];

for (const { it, bytes, status, body } of cases) {
  test(`a location of dbrest tells of ${it} in its own format, on both engines`, async () => {
    for (const [engine, port] of Object.entries(ports)) {
      const response = await exchangeRaw(port, bytes);
      expect(response, engine).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(response, engine).toContain(body);
      if (body.includes('DBREST130')) expect(response, engine).toMatch(/^Content-Type: application\/json/im);
    }
  });
}
