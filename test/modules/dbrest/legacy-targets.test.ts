import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';

const FIXTURE = `
  create table owners (id int primary key, name text);
  create table pets (id int primary key, owner int references owners, name text);
  create table "a ""b""" (id int primary key, owner int references owners);
  insert into owners values (1, 'Ann'), (2, 'Bob');
  insert into pets values (1, 1, 'Cat'), (2, 1, 'Dog'), (3, 2, 'Eel');
  create function all_owners() returns setof owners language sql stable as 'table owners';
  grant all on all tables in schema public to anon;
`;

const load = oneGateway();
let dsn: string;
beforeAll(async () => {
  ({ dsn } = await postgres(FIXTURE));
});
const CONF = (): string => `dbrest_schemas public; dbrest_anon_role anon; server {
  location /on/ { dbrest_pass "${dsn}"; }
  location /off/ { dbrest_pass "${dsn}"; dbrest_legacy_target_names off; }
}`;

const WARNING = (change: string): string =>
  `299 gw "An embedded relation with an alias is named by it in filters, orders and limits: ${change}"`;

const legacy: [
  request: string,
  change: string,
  json: unknown,
  names: readonly [target: string, alias: string],
][] = [
  [
    'owners?select=id,p:pets(id)&pets.id=eq.1&id=eq.1',
    'pets to p',
    [{ id: 1, p: [{ id: 1 }] }],
    ['pets', 'p'],
  ],
  [
    'owners?select=p:pets(id)&pets.order=id.desc&pets.limit=1&id=eq.1',
    'pets to p',
    [{ p: [{ id: 2 }] }],
    ['pets', 'p'],
  ],
  [
    'pets?select=id,o:owners(id)&order=owners(id).desc&limit=1',
    'owners to o',
    [{ id: 3, o: { id: 2 } }],
    ['owners', 'o'],
  ],
  ['rpc/all_owners?select=p:pets(id)&pets.id=eq.1&limit=1', 'pets to p', [{ p: [{ id: 1 }] }], ['pets', 'p']],
];

test.each(legacy)(
  'a target that has an alias may be named, with a warning, unless that is off: %s',
  async (...[request, change, json, [target, alias]]) => {
    const gw = await load({ onTestFinished }, CONF());
    for (let repeated = 0; repeated < 2; repeated++)
      await gw.expect(`GET /on/${request}`, { status: 200, json, headers: { warning: WARNING(change) } });
    await gw.expect(`GET /off/${request}`, {
      status: 400,
      json: {
        code: 'PGRST108',
        details: 'Target names are not allowed in filters if they have an alias',
        hint: `Change '${target}' to '${alias}' in filters, orders or limits.`,
        message: `'${target}' is not an embedded resource in this request`,
      },
      headers: { warning: null },
    });
  },
);

const plain = [
  'owners?select=id,p:pets(id)&p.id=eq.1&id=eq.1',
  'owners?select=id,pets(id)&pets.id=eq.1&id=eq.1',
  // The name of an embed counts before the targets of others.
  'owners?select=pets:pets(id),p:pets(id)&pets.id=eq.1&id=eq.1',
];
test.each(plain)('an embed that is named as in the response causes no warning: %s', async (request) => {
  const gw = await load({ onTestFinished }, CONF());
  for (const path of ['/on/', '/off/'])
    await gw.expect(`GET ${path}${request}`, { status: 200, headers: { warning: null } });
});

test('a write by such a filter warns as well', async () => {
  const gw = await load({ onTestFinished }, CONF());
  const request = 'owners?select=id,p:pets!inner(id)&pets.id=eq.99';
  await gw.expect(
    `PATCH /on/${request}`,
    { status: 200, json: [], headers: { warning: WARNING('pets to p') } },
    {
      body: '{"name":"x"}',
      headers: { 'content-type': 'application/json', prefer: 'return=representation' },
    },
  );
});

test('names in the warning cannot end its text', async () => {
  const gw = await load({ onTestFinished }, CONF());
  const names = ['pets', 'a "b"'];
  const select = names.map((name, i) => `"x,${i}":"${name.replaceAll('"', '\\"')}"(id)`).join(',');
  const limits = names
    .map((name) => `${encodeURIComponent(`"${name.replaceAll('"', '\\"')}"`)}.limit=1`)
    .join('&');
  const { headers, body } = await gw.fetch(`/on/owners?select=${encodeURIComponent(select)}&${limits}`);
  expect([headers.get('warning'), body]).toEqual([
    WARNING('pets to x%2C0, a%20%22b%22 to x%2C1'),
    expect.stringMatching(/^\[/),
  ]);
});
