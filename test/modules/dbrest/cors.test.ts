import type { SentResponse } from '../../harness/test-wire.ts';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { DbrestConfig } from '../../../src/modules/dbrest/directives/index.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { direct, sharedDirect } from './direct.ts';
import { keys } from './token-location.ts';
import { SECRET } from '../../harness/tokens.ts';

const FIXTURE = `
  create table items (id int primary key);
  create table hidden (id int primary key);
  create function open_up() returns void language sql as
    $$ select set_config('response.headers', '[{"Access-Control-Allow-Origin": "https://chosen.example"}]', true) $$;
  grant all on items to anon;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const PAGE = 'https://page.example';
const EXPOSED =
  'Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit, ETag';
/** The headers on which every response depends, except an error. */
const VARY = { vary: 'Accept, Prefer, Range' };
const METHODS = 'GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD, QUERY';

const compiled = sharedDirect();

async function ask(
  request: string,
  headers: Record<string, string>,
  config: Partial<DbrestConfig> = {},
): Promise<{ status: number; cors: Record<string, string> }> {
  const api = await compiled(db.dsn, config);
  const { x, done } = api.start(request, headers);
  await done;
  const { status, headers: all } = x.sent as SentResponse;
  const told = ['vary', 'allow'];
  const cors = Object.entries(all).filter(
    ([name]) => told.includes(name) || name.startsWith('access-control-'),
  );
  return { status, cors: Object.fromEntries(cors) };
}

describe('the response to a page of any origin', () => {
  const open = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };
  const cases: [request: string, status: number, config?: Partial<DbrestConfig>][] = [
    ['GET /api/items', 200],
    ['HEAD /api/items', 200],
    ['GET /api/none', 404],
    ['GET /api/a/b', 404],
    ['GET /api/items?id=eq.x', 400],
    ['TRACE /api/items', 405],
    ['GET /api/items', 401, { anonRole: undefined as never, jwtKeys: keys(SECRET) }],
  ];
  test.each(cases)('%s gives %i and may be read', async (...[request, status, config]) => {
    const told = await ask(request, { origin: PAGE }, config);
    expect(told).toMatchObject({ status, cors: { ...open, ...(status < 400 && VARY) } });
    expect('vary' in told.cors).toBe(status < 400);
  });

  test('says nothing to a request without an origin', async () => {
    expect(await ask('GET /api/items', {})).toEqual({ status: 200, cors: VARY });
  });

  test('has the CORS headers that the database sets, if any', async () => {
    const { cors } = await ask('GET /api/items', { origin: PAGE }, { preRequest: ['open_up'] });
    expect(cors).toEqual({ 'access-control-allow-origin': 'https://chosen.example', ...VARY });
  });

  test('has no CORS headers where no origin is allowed', async () => {
    expect((await ask('GET /api/items', { origin: PAGE }, { corsOrigins: [] })).cors).toEqual(VARY);
  });
});

describe('with a list of origins', () => {
  const config = { corsOrigins: ['https://other.example', PAGE] };
  test('a listed origin is named and may send credentials, and Vary is set', async () => {
    expect(await ask('GET /api/none', { origin: PAGE }, config)).toEqual({
      status: 404,
      cors: {
        'access-control-allow-origin': PAGE,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': EXPOSED,
        vary: 'Origin',
      },
    });
  });

  test('any other page may not read the response', async () => {
    expect(await ask('GET /api/items', { origin: 'https://page.example.evil' }, config)).toEqual({
      status: 200,
      cors: { vary: 'Accept, Prefer, Range, Origin' },
    });
  });
});

const asked = {
  origin: PAGE,
  accept: '*/*',
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'Foo,Bar',
};
const granted = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': METHODS,
  'access-control-allow-headers': 'Authorization, Foo, Bar, Accept, Accept-Language, Content-Language',
  'access-control-max-age': '86400',
  ...VARY,
};
const ALLOW = 'OPTIONS,GET,HEAD,QUERY,POST,PUT,PATCH,DELETE';
test.each(['/api/', '/api/items', '/api/none', '/api/rpc/f', '/api/a/b'])(
  'a preflight request of %s is granted without a token, and tells no methods without an anonymous role',
  async (path) => {
    const config = { anonRole: undefined as never, jwtKeys: keys(SECRET) };
    expect(await ask(`OPTIONS ${path}`, asked, config)).toEqual({ status: 200, cors: granted });
  },
);

test.each([
  ['/api/', 'OPTIONS,GET,HEAD'],
  ['/api/items', ALLOW],
  ['/api/rpc/open_up', 'OPTIONS,POST'],
  ['/api/hidden', undefined],
  ['/api/none', undefined],
  ['/api/rpc/none', undefined],
  ['/api/a/b', undefined],
])('a preflight request of %s tells the methods %s', async (path, allow) => {
  const cors = { ...granted, ...(allow !== undefined && { allow }) };
  expect(await ask(`OPTIONS ${path}`, asked)).toEqual({ status: 200, cors });
});

test('a preflight request is granted while the database cannot be reached', async () => {
  const api = await direct({ onTestFinished }, 'postgres://nobody@127.0.0.1:1/none');
  const { x, done } = api.start('OPTIONS /api/items', asked);
  await done;
  expect(x.sent).toMatchObject({ status: 200, headers: granted });
});

test('a preflight request is granted to a listed origin with credentials', async () => {
  const { cors } = await ask('OPTIONS /api/items', asked, { corsOrigins: [PAGE] });
  expect(cors).toEqual({
    ...granted,
    'access-control-allow-origin': PAGE,
    'access-control-allow-credentials': 'true',
    vary: 'Origin, Accept, Prefer, Range',
    allow: ALLOW,
  });
});

test('a preflight request without headers is granted the usual ones', async () => {
  const { cors } = await ask('OPTIONS /api/items', {
    origin: PAGE,
    'access-control-request-method': 'DELETE',
  });
  expect(cors['access-control-allow-headers']).toBe(
    'Authorization, Accept, Accept-Language, Content-Language',
  );
});

test.each([
  ['a method that does not exist', { ...asked, 'access-control-request-method': 'BREW' }, '*'],
  ['another origin', asked, ['https://other.example']],
] as const)(
  'a preflight request for %s is an ordinary one, and grants nothing',
  async (_, headers, corsOrigins) => {
    const { status, cors } = await ask('OPTIONS /api/items', { ...headers }, { corsOrigins });
    expect([status, cors['access-control-allow-methods']]).toEqual([200, undefined]);
  },
);
