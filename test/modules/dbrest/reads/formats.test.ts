import { describe, expect, test } from 'vitest';
import { startGateway } from '../../../harness/gateway.ts';
import { postgres } from '../../../harness/postgres.ts';
import {
  type ResponseCase,
  type FaultCase,
  fixtureGateway,
  givesResponses,
  givesFaults,
} from '../fixture/gateway.ts';

const gateway = fixtureGateway({ more: 'location /plan/ { dbrest_pass $dsn; dbrest_plan on; }' });

const of = (
  ...[accept, request, type, body]: [accept: string, request: string, type: string, body: string | RegExp]
): ResponseCase => ({
  request,
  with: { accept },
  status: 200,
  body,
  headers: { 'content-type': type },
});
const JSON_TYPE = 'application/json; charset=utf-8';
const XML = '<?xml version="1.0" encoding="UTF-8"?>';

const formats: readonly ResponseCase[] = [
  of('application/json', 'clients?select=id,name&id=eq.1', JSON_TYPE, '[{"id":1,"name":"Acme"}]'),
  of(
    'application/json;nulls=stripped',
    'clients?select=id,city&id=eq.4',
    'application/json;nulls=stripped; charset=utf-8',
    '[{"id":4}]',
  ),
  of(
    'application/vnd.pgrst.array+json',
    'clients?select=id,city&id=eq.4',
    JSON_TYPE,
    '[{"id":4,"city":null}]',
  ),
  of('application/vnd.dbrest.array', 'clients?select=id&id=eq.4', JSON_TYPE, '[{"id":4}]'),
  of(
    'application/vnd.dbrest.array+json;nulls=stripped',
    'clients?select=id,city&id=eq.4',
    'application/vnd.dbrest.array+json;nulls=stripped; charset=utf-8',
    '[{"id":4}]',
  ),
  of(
    'application/vnd.pgrst.object+json',
    'clients?select=id,city&id=eq.1',
    'application/vnd.pgrst.object+json; charset=utf-8',
    '{"id":1,"city":"Rome"}',
  ),
  of(
    'application/vnd.dbrest.object',
    'clients?select=id&id=eq.1',
    'application/vnd.dbrest.object+json; charset=utf-8',
    '{"id":1}',
  ),
  of(
    'application/vnd.pgrst.object+json;nulls=stripped',
    'clients?select=id,city&id=eq.4',
    'application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8',
    '{"id":4}',
  ),
  of(
    'application/vnd.pgrst.object+json',
    'clients?select=id,orders(id)&id=eq.2',
    'application/vnd.pgrst.object+json; charset=utf-8',
    '{"id":2,"orders":[{"id":3}]}',
  ),
  of(
    'text/csv',
    'clients?select=id,city,notes->tags&order=id&limit=2',
    'text/csv; charset=utf-8',
    'id,city,tags\n1,Rome,"[""old"", ""big""]"\n2,Oslo,[]',
  ),
  of(
    'text/csv',
    'products?select=name,tags&id=in.(1,4)&order=id',
    'text/csv; charset=utf-8',
    'name,tags\nHammer,"{tool,steel}"\n"100% ""Glue"", (new)",{}',
  ),
  of(
    'text/csv',
    'samples?select=cost,words,grid,levels&id=lt.4&order=id',
    'text/csv; charset=utf-8',
    'cost,words,grid,levels\n' +
      '"(1.50,EUR)","{a,""b c"",NULL,""quo\\""te""}","{{1,2},{3,4}}","{low,high}"\n"(,"""")",{},{},{}\n,,,',
  ),
  of('text/csv', 'nothing', 'text/csv; charset=utf-8', 'id,strange name\n'),
  of(
    'text/xml',
    'samples?select=id,flag,body,word&id=eq.1',
    'text/xml; charset=utf-8',
    `${XML}<root><row><id>1</id><flag>true</flag><body>The quick brown fox</body><word>word</word></row></root>`,
  ),
  of(
    'text/xml',
    'files?select=id,page&id=lt.4&order=id',
    'text/xml; charset=utf-8',
    `${XML}<root><row><id>1</id><page><p a="1">one &amp; two</p></page></row><row><id>2</id></row><row><id>3</id><page>&lt;!DOCTYPE q&gt;&lt;q/&gt;</page></row></root>`,
  ),
  of('text/xml', 'nothing', 'text/xml; charset=utf-8', `${XML}<root></root>`),
  of('text/plain', 'files?select=name&id=eq.1', 'text/plain; charset=utf-8', 'pixel.bin'),
  of('text/plain', 'clients?select=id&order=id', 'text/plain; charset=utf-8', '1\n2\n3\n4'),
  of('text/plain', 'clients?select=id&id=eq.99', 'text/plain; charset=utf-8', ''),
  of('application/octet-stream', 'files?select=name&id=eq.1', 'application/octet-stream', 'pixel.bin'),
  of('application/octet-stream', 'files?select=content&id=eq.2', 'application/octet-stream', ''),
];
describe('formats', () => {
  givesResponses(gateway, formats);
});

const negotiated: readonly ResponseCase[] = [
  of('*/*', 'clients?select=id&id=eq.1', JSON_TYPE, '[{"id":1}]'),
  of('image/avif,application/xhtml+xml,*/*;q=0.8', 'clients?select=id&id=eq.1', JSON_TYPE, '[{"id":1}]'),
  of('text/csv;q=0.5, application/json;q=0.9', 'clients?select=id&id=eq.1', JSON_TYPE, '[{"id":1}]'),
  of('application/json;q=0.5, text/csv', 'clients?select=id&id=eq.1', 'text/csv; charset=utf-8', 'id\n1'),
  of('text/csv;q=0, application/json;q=0.1', 'clients?select=id&id=eq.1', JSON_TYPE, '[{"id":1}]'),
  of('image/png, text/csv;q=0.1', 'clients?select=id&id=eq.1', 'text/csv; charset=utf-8', 'id\n1'),
  of('TEXT/CSV', 'clients?select=id&id=eq.1', 'text/csv; charset=utf-8', 'id\n1'),
  of('application/*', 'clients?select=id&id=eq.1', JSON_TYPE, '[{"id":1}]'),
  of(
    'text/csv, application/json;q=0.1',
    'clients?select=id,orders(id)&id=eq.2',
    JSON_TYPE,
    '[{"id":2,"orders":[{"id":3}]}]',
  ),
  of('text/plain, application/json', 'clients?select=id,city&id=eq.1', JSON_TYPE, '[{"id":1,"city":"Rome"}]'),
  of(
    'application/octet-stream, text/csv',
    'clients?select=id,city&id=eq.1',
    'text/csv; charset=utf-8',
    'id,city\n1,Rome',
  ),
  of(
    'text/plain, application/json',
    'clients?select=id,orders(id)&id=eq.2',
    JSON_TYPE,
    '[{"id":2,"orders":[{"id":3}]}]',
  ),
  of('application/vnd.pgrst.plan, application/json', 'clients?select=id&id=eq.1', JSON_TYPE, '[{"id":1}]'),
];
describe('weights in Accept', () => {
  givesResponses(gateway, negotiated);
});

const plans: readonly ResponseCase[] = [
  of(
    'application/vnd.pgrst.plan',
    '/plan/clients?id=eq.1',
    'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8',
    /clients_pkey/,
  ),
  of(
    'application/vnd.dbrest.plan+json; for="text/csv"; options=analyze|verbose',
    '/plan/clients?id=eq.1',
    'application/vnd.dbrest.plan+json; for="text/csv"; options=analyze|verbose; charset=utf-8',
    /"Actual Rows": 1/,
  ),
  of(
    'application/vnd.pgrst.plan+json; for="application/vnd.pgrst.object+json"',
    '/plan/clients?id=eq.1',
    'application/vnd.pgrst.plan+json; for="application/vnd.pgrst.object+json"; charset=utf-8',
    /Plan/,
  ),
  of(
    'application/vnd.pgrst.plan',
    'HEAD /plan/clients',
    'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8',
    '',
  ),
];
describe('plans', () => {
  givesResponses(gateway, plans);
});

const none = (...types: string[]): object => ({
  message: `None of these media types are available: ${types.join(', ')}`,
});
const refused: readonly (readonly [accept: string, ...FaultCase])[] = [
  ['image/png, application/pdf', 'clients', 406, 'PGRST107', none('image/png', 'application/pdf')],
  ['text/csv', 'clients?select=id,orders(id)', 406, 'PGRST107', none('text/csv')],
  ['text/xml', 'clients?select=id,orders(id)', 406, 'PGRST107', none('text/xml')],
  [
    'application/octet-stream',
    'files?select=name,id&id=eq.1',
    406,
    'PGRST107',
    none('application/octet-stream'),
  ],
  ['application/octet-stream', 'files?select=content', 406, 'PGRST107', none('application/octet-stream')],
  [
    'application/octet-stream',
    'files?select=content&id=eq.99',
    406,
    'PGRST107',
    none('application/octet-stream'),
  ],
  ['text/plain', 'files?select=name,id', 406, 'PGRST107', none('text/plain')],
  ['text/plain, image/png', 'files', 406, 'PGRST107', none('text/plain', 'image/png')],
  ['application/geo+json', 'clients', 406, 'PGRST107', none('application/geo+json')],
  ['application/vnd.pgrst.plan', 'clients', 406, 'PGRST107', none('application/vnd.pgrst.plan')],
  ['application/json;q=0', 'clients', 406, 'PGRST107'],
  [
    'application/vnd.pgrst.object+json',
    'clients',
    406,
    'PGRST116',
    { message: 'Cannot coerce the result to a single JSON object', details: 'The result contains 4 rows' },
  ],
  [
    'application/vnd.pgrst.object+json',
    'clients?id=eq.99',
    406,
    'PGRST116',
    { details: 'The result contains 0 rows' },
  ],
];
describe('unavailable formats', () => {
  for (const [accept, ...fault] of refused) givesFaults(gateway, [fault], { accept });
});

test('bytes are sent unchanged', async () => {
  const { bytes, headers } = await gateway.ask('files?select=content&id=eq.1', {
    accept: 'application/octet-stream',
  });
  expect(bytes.toString('hex')).toBe('00ff10deadbeef');
  expect(headers.get('content-length')).toBe('7');
});

test.each(['application/json', 'text/csv', 'text/xml', 'application/vnd.pgrst.object+json', 'image/png'])(
  'HEAD of %s has the head of GET and no body',
  async (accept) => {
    const request = 'clients?select=id,name&id=eq.4';
    const [get, head] = await Promise.all([
      gateway.ask(request, { accept }),
      gateway.ask(`HEAD ${request}`, { accept }),
    ]);
    expect(head.body).toBe('');
    const told = ({ status, headers }: typeof get) => [
      status,
      ...['content-type', 'content-range', 'proxy-status', 'content-location'].map((name) =>
        headers.get(name),
      ),
    ];
    expect(told(head)).toEqual(told(get));
  },
);

test('rows are features where PostGIS is installed', async (t) => {
  const { dsn } = await postgres(`create table places (id int primary key, name text);
    insert into places values (1, 'Rome'), (2, 'Oslo');
    create function st_asgeojson(anyelement) returns text language sql immutable
      as $$ select json_build_object('type', 'Feature', 'properties', $1)::text $$;
    grant select on places to anon;`);
  const gw = await startGateway(t, `server { location / { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`);
  const headers = { accept: 'application/geo+json, application/json;q=0.5' };
  const feature = (id: number, name: string) => ({ type: 'Feature', properties: { id, name } });
  await gw.expect(
    'GET /places?order=id',
    {
      status: 200,
      json: { type: 'FeatureCollection', features: [feature(1, 'Rome'), feature(2, 'Oslo')] },
      headers: { 'content-type': 'application/geo+json; charset=utf-8', 'content-range': '0-1/*' },
    },
    { headers },
  );
});
