import { expect, test } from 'vitest';
import { compileClaim, readRolePath, type RolePath } from '../../../src/modules/dbrest/auth/index.ts';
import { startGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';
import { user, WHOAMI } from './token-location.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const CLAIMS = {
  role: 'plain',
  'https://x/role': 'by url',
  "it's": 'quote',
  'tab\t"é': 'escaped',
  app: { roles: ['first', 'second', 'app_third', 7], none: null, nested: { list: [['deep']] } },
  groups: [
    { kind: 'team', name: 'red', rank: 1 },
    { kind: 'role', name: 'blue', rank: 2, active: true },
    { name: 'green', parts: ['x'] },
  ],
  empty: '',
  größe: 'named',
};

const values: [path: string, value: unknown][] = [
  ['$', CLAIMS],
  ['$.role', 'plain'],
  ['$.größe', 'named'],
  ['$["role"]', 'plain'],
  ["$['https://x/role']", 'by url'],
  [String.raw`$['it\'s']`, 'quote'],
  [String.raw`$["tab\t\"\u00e9"]`, 'escaped'],
  ['$.app.roles[0]', 'first'],
  ['$.app.roles[-1]', 7],
  ['$.app.roles[-2]', 'app_third'],
  ['$.app.roles[4]', undefined],
  ['$.app.roles[-5]', undefined],
  ['$.app.roles.length', undefined],
  ['$.role[0]', undefined],
  ['$.app["none"]', null],
  ['$ .app [ "roles" ] [ 1 ]', 'second'],
  ['$.constructor', undefined],
  ['$.app.roles[*]', 'first'],
  ['$.app.*', undefined],
  ['$.app.nested.list[*][*]', 'deep'],
  ['$.app.nested.*[0][0]', 'deep'],
  ['$.app.roles[?@ == "second"]', 'second'],
  ["$.app.roles[?(@ == 'second')]", 'second'],
  ['$.app.roles[?@ != "first"]', 'second'],
  ['$.app.roles[?@ ^== "app_"]', 'app_third'],
  ['$.app.roles[?@ ==^ "nd"]', 'second'],
  ['$.app.roles[?@ *== "p_t"]', 'app_third'],
  ['$.app.roles[?@ == 7]', undefined],
  ['$.app.roles[?@ == "nobody"]', undefined],
  ["$.groups[?@.kind == 'role'].name", 'blue'],
  ["$.groups[?@['kind'] != 'team'].name", 'blue'],
  ['$.groups[?@.rank == 2.0].name', 'blue'],
  ['$.groups[?@.active == true].name', 'blue'],
  ['$.groups[?@.parts].name', 'green'],
  ['$.groups[?@.parts[0] == "x"].name', 'green'],
  ['$.groups[?@.none == null].name', undefined],
  ['$[?@ == "by url"]', 'by url'],
  ['$.empty', ''],
];
for (const [path, value] of values) {
  test(`the role at ${path} is ${JSON.stringify(value)?.slice(0, 30) ?? 'absent'}`, () => {
    expect(compileClaim(readRolePath(path) as RolePath)(CLAIMS)).toEqual(value);
  });
}

const faults: [path: string, fault: string][] = [
  ['$..role', 'descendant segments ("..") are not supported'],
  ["$['a','b']", 'several selectors in one pair of brackets (",") are not supported'],
  ['$.roles[0, 1]', 'several selectors in one pair of brackets (",") are not supported'],
  ['$.roles[1:2]', 'slices (":") are not supported'],
  ['$.roles[:-1]', 'slices (":") are not supported'],
  ['$.roles[?@ == "a" || @ == "b"]', 'logical operators ("&&", "||") are not supported'],
  ['$.roles[?(@ == "a" && @ == "b")]', 'logical operators ("&&", "||") are not supported'],
  ['$.roles[?!@.a]', 'negations ("!") are not supported'],
  ['$.roles[?@ >= 1]', 'comparisons of order ("<", ">") are not supported'],
  ['$.roles[?search(@, "^a")]', 'functions are not supported'],
  ['$.roles[?@ == $.role]', 'paths from "$" in a filter are not supported'],
  ['$.roles[?@.a == @.b]', 'comparisons of two paths are not supported'],
  ['$.roles[?@[*] == "a"]', 'the path behind "@" may lead to several values'],
  ['$role', 'malformed at character 2'],
  ['$.', 'malformed at character 3'],
  ['$.a-b', 'malformed at character 4'],
  ['$.roles[01]', 'malformed at character 9'],
  ['$.roles[0', 'malformed at character 10'],
  ['$.roles[x]', 'malformed at character 9'],
  ['$["open]', 'malformed at character 3'],
  ['$["bad\\q"]', 'malformed at character 3'],
  ['$.roles[?@ == ]', 'malformed at character 15'],
  ['$.roles[?(@ == "a"]', 'malformed at character 19'],
  ['$.role ', 'malformed at character 8'],
  [`$${'.a'.repeat(600)}`, 'it is longer than 1024 characters'],
];
for (const [path, fault] of faults) {
  test(`${path.slice(0, 40)} is refused: ${fault}`, () => expect(readRolePath(path)).toEqual({ fault }));
}

test('a token chooses its role by a JSONPath of the configuration, and a value that is no text is no role', async (t) => {
  const db = await postgres(WHOAMI);
  const gw = await startGateway(
    t,
    `server { dbrest_jwt_secret "${SECRET}"; dbrest_jwt_invalid reject; dbrest_anon_role anon;
       location /filter/ { dbrest_pass ${db.dsn}; dbrest_jwt_role_claim "$.groups[?@.kind == 'role'].name"; }
       location /plain/ { dbrest_pass ${db.dsn}; dbrest_jwt_role_claim $.groups[1].name; } }`,
  );
  const ask = async (location: string, groups: unknown): Promise<unknown> => {
    const { status, body } = await gw.fetch(`/${location}/whoami?select=role`, {
      headers: bearer(sign({ groups })),
    });
    return status === 200 ? (JSON.parse(body) as unknown) : status;
  };
  const groups = [
    { kind: 'team', name: 'web_admin' },
    { kind: 'role', name: user.role },
  ];
  expect(await ask('filter', groups)).toEqual([user]);
  expect(await ask('plain', groups)).toEqual([user]);
  expect(await ask('filter', [{ kind: 'team', name: user.role }])).toEqual([{ role: 'anon' }]);
  expect(await ask('filter', [{ kind: 'role', name: 'authenticator' }])).toBe(403);
  expect(await ask('plain', [{}, { name: [user.role] }])).toBe(401);
  expect(await ask('plain', [{}, { name: 'none' }])).toBe(401);
});
