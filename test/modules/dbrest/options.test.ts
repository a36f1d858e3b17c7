import type { SentResponse } from '../../harness/test-wire.ts';
import { beforeAll, expect, test } from 'vitest';
import type { DbrestConfig } from '../../../src/modules/dbrest/directives/index.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { sharedDirect } from './direct.ts';
import { keys } from './token-location.ts';
import { SECRET } from '../../harness/tokens.ts';

const TRIGGER = (view: string, event: string): string =>
  `create trigger t instead of ${event} on ${view} for each row execute function act();`;

const FIXTURE = `
  create table items (id int primary key, name text);
  create table keyless (id int, name text);
  create table parted (id int, part int, primary key (id, part)) partition by list (part);
  create view with_key as select id, name from items;
  create view without_key as select name from items;
  create view counted as select count(*) as n from items;
  create materialized view stored as select id from items;
  create function act() returns trigger language plpgsql as $$ begin return new; end $$;
  create view inserts as select max(id) as id from items;
  create view updates as select max(id) as id from items;
  create view deletes as select max(id) as id from items;
  create view everything as select i.id, count(*) as n from items i group by i.id;
  ${TRIGGER('inserts', 'insert')} ${TRIGGER('updates', 'update')} ${TRIGGER('deletes', 'delete')}
  ${TRIGGER('everything', 'insert or update or delete')}
  create schema other;
  create table other.things (id int);
  create table named (id int primary key, name text);
  create table hidden (id int primary key, name text);
  create table own (id int primary key);
  create function hidden() returns int language sql as 'select 1';
  create function called() returns int language sql as 'select 1';
  create function own() returns int language sql as 'select 1';
  revoke execute on function hidden(), own() from public;
  grant select on all tables in schema public, other to anon;
  revoke all on named, hidden, own from anon;
  grant select (id) on named to anon;
  grant select on own to web_user;
  grant execute on function own() to web_user;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const ANYBODY = { anonRole: 'anon', schemas: ['public', 'other'] };

const compiled = sharedDirect();

async function options(
  path: string,
  headers: Record<string, string> = {},
  config: Partial<DbrestConfig> = {},
): Promise<SentResponse> {
  const api = await compiled(db.dsn, { ...ANYBODY, ...config });
  const { x, done } = api.start(`OPTIONS ${path}`, headers);
  await done;
  return x.sent as SentResponse;
}

const ALL = 'OPTIONS,GET,HEAD,QUERY,POST,PUT,PATCH,DELETE';
const cases: [path: string, allow: string][] = [
  ['', 'OPTIONS,GET,HEAD'],
  ['items', ALL],
  ['keyless', 'OPTIONS,GET,HEAD,QUERY,POST,PATCH,DELETE'],
  ['parted', ALL],
  ['with_key', ALL],
  ['without_key', 'OPTIONS,GET,HEAD,QUERY,POST,PATCH,DELETE'],
  ['counted', 'OPTIONS,GET,HEAD,QUERY'],
  ['stored', 'OPTIONS,GET,HEAD,QUERY'],
  ['inserts', 'OPTIONS,GET,HEAD,QUERY,POST'],
  ['updates', 'OPTIONS,GET,HEAD,QUERY,PATCH'],
  ['deletes', 'OPTIONS,GET,HEAD,QUERY,DELETE'],
  ['everything', ALL],
  ['named', ALL],
  ['rpc/called', 'OPTIONS,POST'],
];
test.each(cases)('OPTIONS /api/%s allows %s to every role that may use it', async (path, allow) => {
  expect(await options(`/api/${path}`)).toMatchObject({
    status: 200,
    body: '',
    headers: { allow, 'access-control-allow-origin': '*', 'content-profile': 'public' },
  });
});

test.each(['accept-profile', 'content-profile'])('%s chooses the schema', async (header) => {
  expect(await options('/api/things', { [header]: 'other' })).toMatchObject({
    status: 200,
    headers: { allow: 'OPTIONS,GET,HEAD,QUERY,POST,PATCH,DELETE', 'content-profile': 'other' },
  });
  expect(await options('/api/things', { [header]: 'pg_catalog' })).toMatchObject({
    status: 406,
    headers: { 'proxy-status': 'gw; error=PGRST106' },
  });
});

test.each([
  ['/api/item', 404, 'PGRST205'],
  ['/api/things', 404, 'PGRST205'],
  ['/api/a/b', 404, 'PGRST125'],
])('OPTIONS %s gives %i %s, and names no existing relation', async (path, status, code) => {
  const response = await options(path);
  expect(response.status).toBe(status);
  expect(JSON.parse(response.body)).toMatchObject({ code, hint: null });
});

const unknown: [hidden: string, absent: string][] = [
  ['hidden', 'nothing'],
  ['own', 'nothing'],
  ['rpc/hidden', 'rpc/nothing'],
  ['rpc/own', 'rpc/nothing'],
];
test.each(unknown)('OPTIONS does not reveal %s to a role that may not use it', async (hidden, absent) => {
  const [there, not] = [await options(`/api/${hidden}`), await options(`/api/${absent}`)];
  const asAbsent = there.body.replaceAll(hidden.replace('rpc/', ''), absent.replace('rpc/', ''));
  expect({ ...there, body: asAbsent }).toEqual(not);
  expect(not.status).toBe(404);
});

test.each(['own', 'rpc/own', 'hidden', 'nothing'])(
  'OPTIONS /api/%s without a role is refused',
  async (path) => {
    const withoutRole = { anonRole: undefined as never, jwtKeys: keys(SECRET) };
    expect(await options(`/api/${path}`, {}, withoutRole)).toMatchObject({
      status: 401,
      headers: { 'proxy-status': 'gw; error=PGRST302' },
    });
  },
);

test.each(['own', 'rpc/own'])('OPTIONS /api/%s gives 200 to a role that may use it', async (path) => {
  expect(await options(`/api/${path}`, {}, { anonRole: 'web_user' })).toMatchObject({ status: 200 });
});
