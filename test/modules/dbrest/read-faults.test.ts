import { beforeAll, expect, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct, sharedDirect } from './direct.ts';
import { keys } from './token-location.ts';
import { SECRET } from '../../harness/tokens.ts';
import { THINGS } from './things.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(THINGS);
});

const compiled = sharedDirect();
const location = (config = {}): Promise<Direct> => compiled(db.dsn, { openapi: 'off', ...config });

const faults: [target: string, status: number, code: string, message: string][] = [
  ['things?id=eq.x', 400, '22P02', 'invalid input syntax for type integer: "x"'],
  [
    'things?big=eq.99999999999999999999',
    400,
    '22003',
    'value "99999999999999999999" is out of range for type bigint',
  ],
  ['things?born=eq.2001-02-30', 400, '22008', 'date/time field value out of range: "2001-02-30"'],
  ['things?kind=eq.angry', 400, '22P02', 'invalid input value for enum mood: "angry"'],
  ['things?ref=eq.1', 400, '22P02', 'invalid input syntax for type uuid: "1"'],
  ['things?id=in.(1,x)', 400, '22P02', 'invalid input syntax for type integer: "x"'],
  ['things?id=is.true', 400, '42804', 'argument of IS TRUE must be type boolean, not type integer'],
  ['things?id=like.1', 404, '42883', 'operator does not exist: integer ~~ unknown'],
  ['things?name=match.(', 400, '2201B', 'invalid regular expression: parentheses () not balanced'],
  ['things?doc=fts.a b', 400, 'PGRST100', '"failed to parse filter (fts.a b)" (line 1, column 7)'],
  ['things?doc=fts.x%5C', 400, 'PGRST100', '"failed to parse filter (fts.x\\)" (line 1, column 7)'],
  [
    'things?doc=not.fts(simple).(a',
    400,
    'PGRST100',
    '"failed to parse filter (not.fts(simple).(a)" (line 1, column 19)',
  ],
  [
    'things?doc=fts.simple.%26a',
    400,
    'PGRST100',
    '"failed to parse filter (fts.simple.&a)" (line 1, column 12)',
  ],
  ['things?name=fts(klingon).a', 400, '42704', 'text search configuration "klingon" does not exist'],
  ['things?nope=eq.1', 400, '42703', 'column things.nope does not exist'],
  ['things?select=xmin', 400, '42703', 'column things.xmin does not exist'],
  ['nope', 404, 'PGRST205', "Could not find the table 'public.nope' in the schema cache"],
  ['secrets', 404, 'PGRST205', "Could not find the table 'public.secrets' in the schema cache"],
  ['pg_class', 404, 'PGRST205', "Could not find the table 'public.pg_class' in the schema cache"],
  ['closed', 401, '42501', 'permission denied for table closed'],
  ['things/1', 404, 'PGRST125', 'Invalid path specified in request URL'],
  ['things/', 404, 'PGRST125', 'Invalid path specified in request URL'],
  ['', 404, 'PGRST126', 'Root endpoint metadata is disabled'],
  ['rpc/f', 404, 'PGRST202', 'Could not find the function public.f without parameters in the schema cache'],
];

test.each(faults)('a fault of /api/%s', async (target, ...[status, code, message]) => {
  const response = await (await location()).get(`/api/${target}`);
  expect([response.status, (JSON.parse(response.body) as { message: string }).message]).toEqual([
    status,
    message,
  ]);
  expect(Object.keys(JSON.parse(response.body) as object)).toEqual(['code', 'details', 'hint', 'message']);
  expect(response.headers).toMatchObject({
    'proxy-status': `gw; error=${code}`,
    'content-type': 'application/json; charset=utf-8',
  });
});

const hints: [table: string, hint: string | null][] = [
  ['thing', "Perhaps you meant the table 'public.things'"],
  ['Things', "Perhaps you meant the table 'public.things'"],
  ['column_only', "Perhaps you meant the table 'public.columns_only'"],
  ['for_everybodyy', "Perhaps you meant the table 'public.for_everybody'"],
  ['close', null],
  ['secret', null],
  ['th', null],
];
test.each(hints)('a fault of /api/%s hints only at what the role may see: %s', async (table, hint) => {
  const { body } = await (await location()).get(`/api/${table}`);
  expect(JSON.parse(body)).toMatchObject({ code: 'PGRST205', hint });
});

const misspelt = [
  'nane',
  'NAME',
  'it',
  'ak',
  'xk',
  'a',
  'pric',
  'prices',
  'datum',
  'knid',
  'bytez',
  'selct',
  'bo',
  'ü',
  'spän',
];
test.each(misspelt)('a fault of the column %s has the hint that PostgreSQL gives', async (name) => {
  const hint = await db.query(`select things."${name}" from things`).then(
    () => 'the column is there',
    (error: unknown) => (error as { hint?: string }).hint ?? null,
  );
  const api = await location();
  for (const query of [
    `select=${name}`,
    `${name}=eq.1`,
    `or=(id.eq.1,${name}.is.null)`,
    `order=${name}.desc`,
  ]) {
    const { body } = await api.get(`/api/things?${encodeURI(query)}`);
    expect(JSON.parse(body)).toMatchObject({ code: '42703', hint });
  }
});

test('a fault of a column hints only at what the role may see', async () => {
  const api = await location();
  for (const [name, hint] of [
    ['opne', 'Perhaps you meant to reference the column "columns_only.open".'],
    ['idd', null],
  ] as const) {
    const { body } = await api.get(`/api/columns_only?select=${name}`);
    expect(JSON.parse(body)).toMatchObject({ code: '42703', hint });
  }
});

const requests: [request: string, headers: Record<string, string>, status: number, code: string][] = [
  ['PROPFIND /api/things', {}, 405, 'PGRST117'],
  ['GET /api/things', { accept: 'image/png' }, 406, 'PGRST107'],
  ['GET /api/things', { 'accept-profile': 'hidden' }, 406, 'PGRST106'],
  ['GET /api/things', { 'accept-profile': 'absent' }, 406, 'PGRST106'],
  ['GET /api/things', { prefer: 'handling=strict, speed=high' }, 400, 'PGRST122'],
  ['GET /api/things', { range: 'x' }, 400, 'PGRST100'],
  ['GET /api/things', { range: '2-1' }, 416, 'PGRST103'],
];
test.each(requests)('a fault of %s with %j', async (request, headers, ...[status, code]) => {
  const { x, done } = (await location()).start(request, headers);
  await done;
  expect(x.sent).toMatchObject({ status, headers: { 'proxy-status': `gw; error=${code}` } });
});

test('a request without a role gets 401 without a query, when there is no anonymous role', async (t) => {
  const api = await direct(t, 'host=/nowhere', { anonRole: undefined as never, jwtKeys: keys(SECRET) });
  expect(await api.get('/api/things')).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': 'Bearer', 'proxy-status': 'gw; error=PGRST302' },
  });
});

const roles: [role: string, status: number, code: string][] = [
  ['ghost', 401, '22023'],
  ['postgres', 401, '42501'],
  ['anon"; reset role; --', 401, '22023'],
];
test.each(roles)('a request as %s gets no other role’s response', async (anonRole, status, code) => {
  const response = await (await location({ anonRole })).get('/api/things');
  expect(response).toMatchObject({
    status,
    headers: { 'proxy-status': `gw; error=${code}`, 'www-authenticate': 'Bearer' },
  });
});
