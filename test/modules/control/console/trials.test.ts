import { beforeAll, expect, test, vi } from 'vitest';
import {
  type ApiDescription,
  type ApiPage,
  DATA_PATHS,
  type Trial,
  type TrialOutcome,
} from '../../../../src/modules/control/console/contract.ts';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../../harness/postgres.ts';
import { configured } from '../../dbrest/settings.ts';

const SQL = `
  create schema api; create schema hidden;
  create table api.fruit (id serial primary key, name text not null unique, ripe boolean);
  insert into api.fruit (name, ripe) values ('apple', true), ('pear', false);
  create table api.notes (id int primary key, owner text);
  insert into api.notes values (1, 'ann'), (2, 'ann'), (3, 'bob');
  alter table api.notes enable row level security;
  create policy own on api.notes to web_user
    using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub')
    with check (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');
  create table api.closed (id int primary key);
  create table hidden.ledger (id int);
  create table api.wide (id int primary key, word text);
  insert into api.wide select n, repeat('x', 1000) from generate_series(1, 200) n;
  create function api.nap(seconds float) returns text language sql volatile as $$ select 'woken' from pg_sleep(seconds) $$;
  create function api.who() returns text language sql stable as $$ select current_user::text $$;
  create function api.escape() returns text language plpgsql volatile as $$ begin set role none; return current_user; end $$;
  grant usage on schema api to anon, web_user;
  grant select, insert, update, delete on api.fruit, api.notes to anon, web_user;
  grant usage on all sequences in schema api to anon, web_user;
  grant select on api.wide to anon;`;

const file = wholeFile();
let gw: Gateway;
let db: TestDatabase;
let apis: ApiPage['apis'];

beforeAll(async () => {
  db = await postgres(SQL);
  const rest = (path: string, dsn: string, more = '') =>
    `location ${path} { dbrest_pass "${dsn}"; dbrest_schemas api; dbrest_anon_role anon; ${more} }`;
  gw = await startGateway(
    file,
    `server {
      server_name here;
      ${rest('/rest/', db.dsn, 'dbrest_tx_end commit-allow-override; dbrest_setting key "hush-hush";')}
      ${rest('/admin/', db.adminDsn)}
      ${rest('/short/', db.dsn, 'dbrest_timeout 300ms;')}
      ${rest('/both/', db.dsn, 'dbrest_schemas api hidden;').replace('dbrest_schemas api;', '')}
      location /_gw/ { control_console on; control_console_api on; }
      location /quiet/ { control_console on; }
    }`,
    { workers: 2, fresh: false },
  );
  apis = (JSON.parse((await gw.fetch(`/_gw/${DATA_PATHS.apis}`)).body) as ApiPage).apis;
});

const HEADERS = { 'Content-Type': 'application/json', 'X-Gw-Console': '1' };
const PLAIN = { role: 'anon', claims: {}, method: 'GET', headers: [], body: '', runs: true };

const post = (trial: unknown, headers: Readonly<Record<string, string>> = HEADERS) =>
  gw.fetch(`/_gw/${DATA_PATHS.apis}`, { method: 'POST', headers, body: JSON.stringify(trial) });

const idFor = (target: string): string => apis.find(({ path = '' }) => target.startsWith(path))?.id ?? 'none';

async function tried(trial: Partial<Trial> & Pick<Trial, 'target'>): Promise<TrialOutcome> {
  const { status, body } = await post({ ...PLAIN, api: idFor(trial.target), ...trial });
  expect([status, body]).toEqual([200, body]);
  return JSON.parse(body) as TrialOutcome;
}

const whyOf = ({ reasons }: TrialOutcome): readonly string[] => reasons.map(({ text }) => text);
const fruits = () => db.query('select id, name from api.fruit order by id');

test('the console lists the REST locations and what can be tried there', async () => {
  expect(apis).toEqual([
    { id: expect.any(String) as string, label: 'here /rest/', path: '/rest' },
    { id: expect.any(String) as string, label: 'here /admin/', path: '/admin' },
    { id: expect.any(String) as string, label: 'here /short/', path: '/short' },
    { id: expect.any(String) as string, label: 'here /both/', path: '/both' },
  ]);
  const { body } = await gw.fetch(`/_gw/${DATA_PATHS.apis}?api=${encodeURIComponent(idFor('/rest/'))}`);
  const { roles, resources } = JSON.parse(body) as ApiDescription;
  // Roles belong to the whole server, which other test files share.
  expect(roles.map(({ name }) => name)).toEqual(expect.arrayContaining(['anon', 'web_admin', 'web_user']));
  expect(roles.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['postgres']));
  expect(resources.map(({ name }) => name)).toEqual([
    'closed',
    'fruit',
    'notes',
    'wide',
    'escape',
    'nap',
    'who',
  ]);
  expect(resources.find(({ name }) => name === 'fruit')).toMatchObject({
    path: '/fruit',
    methods: ['GET', 'POST', 'PATCH', 'DELETE'],
    fields: [
      { name: 'id', isKey: true, isRequired: false },
      { name: 'name', isRequired: true },
      { name: 'ripe' },
    ],
  });
});

test('a table of another schema is listed with the profile that reaches it', async () => {
  const { body } = await gw.fetch(`/_gw/${DATA_PATHS.apis}?api=${encodeURIComponent(idFor('/both/'))}`);
  const ledger = (JSON.parse(body) as ApiDescription).resources.find(({ name }) => name === 'ledger');
  expect(ledger).toMatchObject({ profile: 'hidden', path: '/ledger' });
  const headers = [['Accept-Profile', 'hidden']] as const;
  expect(whyOf(await tried({ target: '/both/ledger', headers })).slice(0, 2)).toEqual([
    'anon has no USAGE on the schema hidden',
    'anon has no SELECT on hidden.ledger',
  ]);
});

test('a worker makes two trials of a location at a time', async () => {
  const nap = {
    ...PLAIN,
    api: idFor('/rest/'),
    target: '/rest/rpc/nap',
    method: 'POST',
    body: '{"seconds":2}',
  };
  // One of the two workers gets at least three of five requests.
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await post(nap)).status));
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
});

test('a trial cannot forge a line of the log', async () => {
  const forged = `anon\n2026/01/01 00:00:00 [crit] forged`;
  await post({ ...PLAIN, api: idFor('/rest/'), target: '/rest/log', role: forged });
  await gw.waitForLog(/GET \/rest\/log as role "anon/);
  expect(gw.errorLog()).not.toMatch(/^2026\/01\/01 00:00:00 \[crit\] forged/m);
  await post({ ...PLAIN, api: idFor('/rest/'), target: `/rest/${'y'.repeat(90_000)}` });
  await gw.waitForLog(/GET \/rest\/yyy/);
  expect(gw.errorLog()).not.toContain('y'.repeat(400));
});

test('a read shows rows, statements, plan and privileges', async () => {
  const outcome = await tried({ target: '/rest/fruit?select=name&ripe=is.true' });
  expect(outcome).toMatchObject({
    does: 'reads rows of the database',
    response: { status: 200, body: '[{"name":"apple"}]', isCut: false },
    relations: [
      {
        name: 'api.fruit',
        role: 'anon',
        rowSecurity: 'off',
        commands: [{ command: 'SELECT', isAllowed: true }],
      },
    ],
    reasons: [],
  });
  expect(outcome.plan).toMatch(/fruit.*\(actual /s);
  expect(outcome.statements.some(({ text }) => text.includes('"api"."fruit"'))).toBe(true);
  expect(outcome.statements.at(-1)?.text).toBe('rollback');
});

const writes = [
  { it: 'insert', method: 'POST', target: '/rest/fruit', body: '{"name":"plum"}', status: 201 },
  { it: 'change', method: 'PATCH', target: '/rest/fruit?id=eq.1', body: '{"name":"fig"}', status: 200 },
  { it: 'removal', method: 'DELETE', target: '/rest/fruit?id=eq.1', body: '', status: 200 },
];
for (const { it, status, ...request } of writes) {
  test(`a tried ${it} has its response, and is rolled back even if it asks for a commit`, async () => {
    const before = await fruits();
    const headers = [['Prefer', 'return=representation, tx=commit']] as const;
    const outcome = await tried({ ...request, headers });
    expect([outcome.response?.status, outcome.response?.body]).toEqual([
      status,
      expect.stringContaining('"id"'),
    ]);
    expect(outcome.plan).toMatch(/actual/);
    expect(await fruits()).toEqual(before);
  });

  test(`an explained ${it} has a plan and no response, and runs nothing`, async () => {
    const [{ last_value: before } = {}] = await db.query('select last_value from api.fruit_id_seq');
    const outcome = await tried({ ...request, runs: false });
    expect(outcome.response).toBeUndefined();
    expect(outcome.plan).toMatch(/fruit/);
    expect(outcome.plan).not.toMatch(/actual/);
    expect(await db.query('select last_value from api.fruit_id_seq')).toEqual([{ last_value: before }]);
  });
}

test('claims decide which rows row security shows', async () => {
  const outcome = await tried({ target: '/rest/notes?select=id', role: 'web_user', claims: { sub: 'ann' } });
  expect(outcome.response?.body.replace(/\s/g, '')).toBe('[{"id":1},{"id":2}]');
  expect(outcome.relations[0]).toMatchObject({
    rowSecurity: 'applies',
    policies: [{ name: 'own', isPermissive: true, command: 'ALL', roles: ['web_user'], applies: true }],
  });
  expect(outcome.relations[0]?.policies[0]?.using).toContain('request.jwt.claims');
});

const outcomes: readonly {
  it: string;
  trial: Partial<Trial> & { target: string };
  status: number;
  why: unknown;
}[] = [
  {
    it: 'is empty because no policy is for the role',
    trial: { target: '/admin/notes' },
    status: 200,
    why: [
      'row security is on for api.notes and no permissive policy is for anon and SELECT: every row is hidden',
      '3 rows match without row security, 0 with it',
      'anon sees no row at all, whatever the filter',
    ],
  },
  {
    it: 'is empty because the claims hide the row that the filter matches',
    trial: { target: '/admin/notes?id=eq.3', role: 'web_user', claims: { sub: 'ann' } },
    status: 200,
    why: ['1 row matches without row security, 0 with it'],
  },
  {
    it: 'is empty, and the login role cannot see what row security hides',
    trial: { target: '/rest/notes?id=eq.3', role: 'web_user', claims: { sub: 'ann' } },
    status: 200,
    why: [
      'row security applies to web_user; how many rows match without it is unknown: authenticator cannot count as the owner of the table',
      'the filter matches no row',
    ],
  },
  {
    it: 'is empty because the filter matches nothing',
    trial: { target: '/rest/fruit?name=eq.kiwi' },
    status: 200,
    why: ['the filter matches no row'],
  },
  {
    it: 'is refused for want of a privilege',
    trial: { target: '/rest/closed' },
    status: 401,
    why: ['anon has no SELECT on api.closed', expect.stringContaining('42501')],
  },
  {
    it: 'is refused by the check of a policy',
    trial: {
      target: '/rest/notes',
      role: 'web_user',
      claims: { sub: 'ann' },
      method: 'POST',
      body: '{"id":9,"owner":"bob"}',
    },
    status: 403,
    why: [
      'the new row does not pass the policies that apply: own on api.notes',
      expect.stringContaining('42501'),
    ],
  },
  {
    it: 'is refused because the schema is not exposed',
    trial: { target: '/rest/ledger', headers: [['Accept-Profile', 'hidden']] },
    status: 406,
    why: ['the schema is not exposed: "dbrest_schemas" has api', expect.stringContaining('PGRST106')],
  },
  {
    it: 'is refused because the function has other arguments',
    trial: { target: '/rest/rpc/nap' },
    status: 404,
    why: [
      'the function exists with other arguments: nap(seconds double precision)',
      expect.stringContaining('PGRST202'),
    ],
  },
];
for (const { it, trial, status, why } of outcomes) {
  test(`a trial says why its response ${it}`, async () => {
    const outcome = await tried(trial);
    expect([outcome.response?.status, whyOf(outcome)]).toEqual([status, why]);
  });
}

test.each(['none', 'postgres', 'pg_read_all_data', 'nobody_at_all', '', 'a\0b', 'x'.repeat(64)])(
  'the role %j cannot be tried',
  async (role) => {
    const { status, body } = await post({ ...PLAIN, api: idFor('/admin/'), target: '/admin/fruit', role });
    expect(['400 malformed', '403 cannot be tried']).toContain(
      `${status} ${/malformed|cannot be tried/.exec(body)?.[0] ?? body}`,
    );
  },
);

test('a login role that is no superuser cannot be tried either', async () => {
  const { status } = await post({
    ...PLAIN,
    api: idFor('/rest/'),
    target: '/rest/fruit',
    role: 'authenticator',
  });
  expect(status).toBe(403);
});

test('a role that a function sets ends with its transaction', async () => {
  await tried({ target: '/rest/rpc/escape', method: 'POST', body: '{}' });
  expect((await tried({ target: '/rest/rpc/who', role: 'web_user' })).response?.body).toBe('"web_user"');
});

test('a large response is cut, and its size is shown', async () => {
  const { response } = await tried({ target: '/rest/wide' });
  expect(response).toMatchObject({ status: 200, isCut: true });
  expect(response?.body.length).toBe(65_536);
  expect(response?.bodyBytes).toBeGreaterThan(200_000);
});

test('a statement that takes too long ends at the limit of the location', async () => {
  const outcome = await tried({ target: '/short/rpc/nap', method: 'POST', body: '{"seconds":60}' });
  expect(outcome.response?.status).toBe(500);
  expect(whyOf(outcome).join()).toContain('57014');
});

const napping = () =>
  db.query(
    `select pid from pg_stat_activity where datname = current_database() and state = 'active' and query like '%nap%' and pid <> pg_backend_pid()`,
  );

test('a trial ends when its operator leaves', async () => {
  const leaving = new AbortController();
  const trial = {
    ...PLAIN,
    api: idFor('/rest/'),
    target: '/rest/rpc/nap',
    method: 'POST',
    body: '{"seconds":9}',
  };
  const left = fetch(`${gw.url}/_gw/${DATA_PATHS.apis}`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify(trial),
    signal: leaving.signal,
  }).catch(() => 'left');
  while ((await napping()).length === 0);
  leaving.abort();
  expect(await left).toBe('left');
  while ((await napping()).length > 0);
});

test('settings of the configuration and keys in headers are masked', async () => {
  const headers = [['X-Api-Key', 'open-sesame']] as const;
  const outcome = await tried({ target: '/rest/fruit', headers });
  expect(JSON.stringify(outcome.statements)).toContain('app.settings.key');
  expect(JSON.stringify(outcome)).not.toMatch(/hush-hush|open-sesame/);
});

test('every trial is logged with its role, and without its query', async () => {
  await tried({ target: '/rest/fruit?name=eq.needle', role: 'web_user' });
  await gw.waitForLog(
    /console: an unnamed user runs GET \/rest\/fruit as role "web_user", then rolls it back/,
  );
  expect(gw.errorLog()).not.toContain('needle');
});

const refused = [
  { it: 'an id of another configuration', trial: { api: '0 other.conf:1' }, status: 404 },
  { it: 'a role that is no text', trial: { role: 1 }, status: 400 },
  { it: 'claims that are a list', trial: { claims: [] }, status: 400 },
  { it: 'headers that are no pairs', trial: { headers: ['x'] }, status: 400 },
  { it: 'a header with a line break', trial: { headers: [['x', 'a\r\nb: c']] }, status: 400 },
  { it: 'a login of its own', trial: { headers: [['Authorization', 'Bearer x']] }, status: 400 },
  { it: 'a length of its own', trial: { headers: [['Content-Length', '1']] }, status: 400 },
  { it: 'a path of another location', trial: { target: '/admin/fruit' }, status: 400 },
  { it: 'a path that leads out of the location', trial: { target: '/rest/../admin/fruit' }, status: 400 },
  { it: 'a path with a blank', trial: { target: '/rest/a b' }, status: 400 },
  { it: 'another method', trial: { method: 'TRACE' }, status: 400 },
  { it: 'claims that are too long', trial: { claims: { a: 'x'.repeat(9_000) } }, status: 400 },
  { it: 'a body that is too long', trial: { body: 'x'.repeat(140_000) }, status: 413 },
];
for (const { it, trial, status } of refused) {
  test(`a trial with ${it} is refused`, async () => {
    const response = await post({ ...PLAIN, api: idFor('/rest/'), target: '/rest/fruit', ...trial });
    expect([response.status, response.body]).toEqual([status, expect.any(String)]);
  });
}

const foreign = [
  { it: 'without the header', headers: { 'Content-Type': 'application/json' }, status: 403 },
  { it: 'as a form', headers: { ...HEADERS, 'Content-Type': 'text/plain' }, status: 415 },
  { it: 'from another origin', headers: { ...HEADERS, Origin: 'http://evil.example' }, status: 403 },
  { it: 'across sites', headers: { ...HEADERS, 'Sec-Fetch-Site': 'cross-site' }, status: 403 },
  { it: 'under a name that leads here', headers: { ...HEADERS, Host: 'evil.example' }, status: 421 },
];
for (const { it, headers, status } of foreign) {
  test(`a page that sends a trial ${it} is refused`, async () => {
    const trial = { ...PLAIN, api: idFor('/rest/'), target: '/rest/fruit?name=eq.foreign' };
    expect((await post(trial, headers)).status).toBe(status);
  });
}

test('trials are off unless the configuration says otherwise', async () => {
  await gw.expect(`GET /quiet/${DATA_PATHS.apis}`, { status: 200, json: { isOn: false, apis: [] } });
  const trial = { ...PLAIN, api: idFor('/rest/'), target: '/rest/fruit' };
  const init = { method: 'POST', headers: HEADERS, body: JSON.stringify(trial) };
  const { status, body } = await gw.fetch(`/quiet/${DATA_PATHS.apis}`, init);
  expect([status, body]).toEqual([403, expect.stringContaining('control_console_api')]);
});

test('a database that cannot be reached is reported, and the log has the user', async (t) => {
  const conf = `server {
    location /rest/ { dbrest_pass "postgresql://a:pass-word@127.0.0.1:1/x"; dbrest_anon_role anon; }
    location /_gw/ {
      auth_basic ops; auth_basic_user_file users;
      control_console on; control_console_api on;
    }
  }`;
  const lost = await startGateway(t, conf, { fresh: false, files: { users: 'ann:{PLAIN}melon\n' } });
  const headers = { ...HEADERS, Authorization: `Basic ${Buffer.from('ann:melon').toString('base64')}` };
  const path = `/_gw/${DATA_PATHS.apis}`;
  const [found] = (JSON.parse((await lost.fetch(path, { headers })).body) as ApiPage).apis;
  const api = found?.id ?? '';
  const unreachable = [503, '{"error":"the database cannot be reached: connection refused"}'];
  const described = await lost.fetch(`${path}?api=${encodeURIComponent(api)}`, { headers });
  expect([described.status, described.body]).toEqual(unreachable);
  const body = JSON.stringify({ ...PLAIN, api, target: '/rest/x' });
  const trial = await lost.fetch(path, { method: 'POST', headers, body });
  expect([trial.status, trial.body]).toEqual(unreachable);
  await lost.waitForLog(/console: "ann" runs GET \/rest\/x as role "anon", then rolls it back/);
  expect(lost.errorLog()).not.toContain('pass-word');
  expect((await lost.fetch(path)).status).toBe(401);
});

test('a trial takes the settings in the database, as they are at that time', async (t) => {
  const own = await configured(SQL);
  const conf = `server {
    location /rest/ { dbrest_pass "${own.dsn}"; dbrest_config on; dbrest_schemas api; dbrest_anon_role anon; }
    location /_gw/ { control_console on; control_console_api on; }
  }`;
  const served = await startGateway(t, conf, { fresh: false });
  const [api] = (JSON.parse((await served.fetch(`/_gw/${DATA_PATHS.apis}`)).body) as ApiPage).apis;
  const body = JSON.stringify({ ...PLAIN, api: api?.id, target: '/rest/fruit?select=name' });
  const rows = async (): Promise<unknown> => {
    const { status, body: told } = await served.fetch(`/_gw/${DATA_PATHS.apis}`, {
      method: 'POST',
      headers: HEADERS,
      body,
    });
    expect([status, told]).toEqual([200, told]);
    return (JSON.parse(told) as TrialOutcome).response;
  };
  expect(JSON.stringify(await rows())).toContain('pear');
  await own.set({ 'pgrst.db_max_rows': '1' });
  await own.announce();
  await vi.waitFor(async () => expect(JSON.stringify(await rows())).not.toContain('pear'), {
    timeout: 15_000,
  });
  expect(JSON.stringify(await rows())).toContain('apple');
});
