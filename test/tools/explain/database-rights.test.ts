import { beforeAll, expect, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { accountOf, configured } from './explained.ts';

const SQL = `
  create schema api; create schema hidden;
  create table api.open_items (id int primary key, name text, secret text);
  create table api.parts (id int primary key, item int references api.open_items);
  create table api.own (id int primary key, owner text);
  create table api.closed (id int primary key);
  create table hidden.ledger (id int primary key);
  create table hidden.own_notes (id int primary key, note text);
  create view api.notes as select * from hidden.own_notes;
  create function api.add(a int, b int) returns int language sql as 'select a + b';
  create function api.locked() returns int language sql as 'select 1';
  revoke execute on function api.locked() from public;
  alter table api.own enable row level security;
  create policy mine on api.own for select to web_user using (id < 7);
  create policy narrow on api.own as restrictive to public using (id > 0) with check (id > 0);
  create table api.inbox (id int primary key, note text);
  alter table api.inbox enable row level security;
  create policy adding on api.inbox for insert to anon with check (true);
  grant select, insert on api.inbox to anon;
  grant usage on schema api to anon, web_user;
  grant select (id, name) on api.open_items to anon;
  grant select on api.own, api.notes to anon, web_user;`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(SQL);
});

const conf = (dsn: string, role: string): string => `events {} http { server { listen 80; location /rest/ {
  dbrest_pass "${dsn}"; dbrest_schemas api; dbrest_anon_role ${role};
} } }`;

const cases: readonly {
  readonly it: string;
  readonly url: string;
  readonly role?: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly facts: Readonly<Record<string, readonly string[]>>;
}[] = [
  {
    it: 'a column that the role may not read',
    url: '/rest/open_items',
    facts: {
      privilege: ['api.open_items: anon has no SELECT of secret; no row security'],
      why: [
        'anon has no SELECT on the column secret of api.open_items: grant select ("secret") on api.open_items to "anon"',
        '42501: permission denied for table open_items',
      ],
    },
  },
  {
    it: 'an embed of a table that the role may not read',
    url: '/rest/open_items?select=id,parts(id)&name=eq.x',
    facts: {
      privilege: [
        'api.open_items: anon has SELECT; no row security',
        'api.parts: anon has no SELECT; no row security',
      ],
      why: [
        'anon has no SELECT on api.parts: grant select on api.parts to "anon"',
        '42501: permission denied for table parts',
      ],
    },
  },
  ...['having=secret.max().is.null', 'order=secret.max()', 'distinct=on.(secret)'].map((query) => ({
    it: `a column that only groups read: ${query}`,
    url: `/rest/open_items?select=id&${query}`,
    facts: {
      privilege: ['api.open_items: anon has no SELECT of secret; no row security'],
      why: [
        'anon has no SELECT on the column secret of api.open_items: grant select ("secret") on api.open_items to "anon"',
        '42501: permission denied for table open_items',
      ],
    },
  })),
  {
    it: 'a table by whose rows others are ordered',
    url: '/rest/open_items?select=id,parts()&order=parts(item.max())',
    facts: {
      privilege: [
        'api.open_items: anon has SELECT; no row security',
        'api.parts: anon has no SELECT; no row security',
      ],
      why: [
        'anon has no SELECT on api.parts: grant select on api.parts to "anon"',
        '42501: permission denied for table parts',
      ],
    },
  },
  {
    it: 'an upsert, which also reads and changes',
    url: '/rest/open_items',
    method: 'POST',
    headers: [['Prefer', 'resolution=merge-duplicates']],
    body: '{"id":1,"name":"x"}',
    facts: {
      privilege: ['api.open_items: anon has no INSERT, SELECT, no UPDATE; no row security'],
    },
  },
  {
    it: 'a table on which the role has nothing',
    url: '/rest/closed',
    facts: {
      why: [
        'anon has no SELECT on api.closed: grant select on api.closed to "anon"',
        '42501: permission denied for table closed',
      ],
    },
  },
  {
    it: 'row security without a policy for the role',
    url: '/rest/own',
    facts: {
      policy: [
        '✗ mine on api.own (permissive, SELECT, to web_user) using ((id < 7))',
        '✓ narrow on api.own (restrictive, ALL, to public) using ((id > 0)) with check ((id > 0))',
      ],
      why: [
        'row security is on for api.own and no permissive policy is for anon and SELECT: every row is hidden',
      ],
    },
  },
  {
    it: 'row security with a policy for the role',
    role: 'web_user',
    url: '/rest/own?id=eq.1',
    facts: {
      privilege: ['api.own: web_user has SELECT; row security applies'],
      policy: [expect.stringMatching(/^✓ mine/) as string, expect.stringMatching(/^✓ narrow/) as string],
      plan: [expect.stringContaining('own') as string],
      why: [],
    },
  },
  {
    it: 'a view, whose owner reads the table',
    url: '/rest/notes',
    facts: {
      privilege: [
        'api.notes: anon has SELECT; no row security',
        'hidden.own_notes: postgres has SELECT; no row security, through a view',
      ],
      why: [],
    },
  },
  {
    it: 'an insert whose response may not show the row',
    url: '/rest/inbox',
    method: 'POST',
    headers: [['Prefer', 'return=representation']],
    body: '{"id":1}',
    facts: {
      why: [
        'row security is on for api.inbox and no permissive policy is for anon and SELECT: every new row is refused (401 42501), because the request also reads it: create policy … on api.inbox for select to "anon" using (…), or send "Prefer: return=minimal"',
      ],
    },
  },
  {
    it: 'an insert without a response that shows the row',
    url: '/rest/inbox',
    method: 'POST',
    body: '{"id":1}',
    facts: { privilege: ['api.inbox: anon has INSERT; row security applies'], why: [] },
  },
  {
    it: 'a write without the privilege',
    url: '/rest/own?id=eq.1',
    method: 'PATCH',
    body: '{"owner":"me"}',
    facts: {
      why: [
        'anon has no UPDATE on api.own: grant update on api.own to "anon"',
        expect.stringContaining('no permissive policy is for anon and SELECT') as string,
        expect.stringContaining('no permissive policy is for anon and UPDATE') as string,
        '42501: permission denied for table own',
      ],
    },
  },
  {
    it: 'a table of a schema that is not exposed',
    url: '/rest/ledger',
    facts: {
      why: [
        'a table ledger is in the schema hidden: a schema that "dbrest_schemas" does not expose',
        expect.stringContaining('PGRST205') as string,
      ],
    },
  },
  {
    it: 'a function with other arguments',
    url: '/rest/rpc/add?a=1',
    facts: {
      why: [
        'the function exists with other arguments: add(a integer, b integer)',
        expect.stringContaining('PGRST202') as string,
      ],
    },
  },
  {
    it: 'a function that the role may not call',
    url: '/rest/rpc/locked',
    facts: {
      why: [
        'anon has no EXECUTE on api.locked(): grant execute on function "api"."locked"() to "anon"',
        '42501: permission denied for function locked',
      ],
    },
  },
  {
    it: 'a name that nothing has',
    url: '/rest/nothing',
    facts: {
      why: ['no schema of the database has a table nothing', expect.stringContaining('PGRST205') as string],
    },
  },
  {
    it: 'a role that the login role may not become',
    role: 'pg_monitor',
    url: '/rest/own',
    facts: {
      why: expect.arrayContaining([
        'authenticator, who logs in for "dbrest_pass", may not become pg_monitor: grant "pg_monitor" to "authenticator"',
      ]) as string[],
    },
  },
  {
    it: 'a role that does not exist',
    role: 'nobody_at_all',
    url: '/rest/own',
    facts: {
      why: expect.arrayContaining([
        'the database has no role "nobody_at_all": create role "nobody_at_all" nologin',
      ]) as string[],
    },
  },
];

for (const { it, url, role = 'anon', method = 'GET', headers = [], body, facts } of cases) {
  test(`explain tells of ${it}`, async (t) => {
    const question = { live: true, method, url, headers, ...(body !== undefined && { body }) };
    const { answer } = await accountOf(configured(t, conf(db.dsn, role)), question);
    const found = Object.keys(facts).map((label) => [
      label,
      answer.facts.filter((fact) => fact.label === label).map(({ value }) => value),
    ]);
    expect(Object.fromEntries(found)).toEqual(facts);
  });
}

test('explain of a refused request has its response, and why', async (t) => {
  const { answer } = await accountOf(configured(t, conf(db.dsn, 'anon')), {
    live: true,
    url: '/rest/ledger',
  });
  expect(answer.status).toBe(404);
  expect(answer.facts.map(({ label }) => label)).toEqual(expect.arrayContaining(['why', 'body']));
});

test('explain masks the settings of the configuration among the parameters', async (t) => {
  const secret = conf(db.dsn, 'web_user').replace(
    'dbrest_schemas',
    'dbrest_setting key "hush-hush"; dbrest_schemas',
  );
  const account = await accountOf(configured(t, secret), { live: true, url: '/rest/own' });
  expect(account.answer.facts.filter(({ value }) => value.includes('hush-hush'))).toEqual([]);
  const sql = account.answer.facts.find(({ label }) => label === 'sql');
  expect(sql?.value).toContain('app.settings.key');
});
