import { beforeAll, expect, test } from 'vitest';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { direct, type Direct } from './direct.ts';
import { hostileFor } from './hostile.ts';

/** The role may drop the table `canary`; only the gateway keeps a hostile text from doing so. */
const FIXTURE = `
  create table canary (id int primary key, name text);
  insert into canary select i, 'row ' || i from generate_series(1, 5) i;
  create table "weird""; drop table canary; --" (id int);
  create table nest (id int primary key, canary_id int references canary, data jsonb);
  insert into nest values (1, 1, '{"a": 1}');
  create function canary_label(nest) returns text language sql as $$ select 'x' $$;
  create function touched() returns int language sql as 'delete from canary returning id';
  grant all on canary, nest, "weird""; drop table canary; --" to anon;
`;

/** Every part of a request that a client writes, with the hostile text in it. */
const PLACES: [
  where: string,
  request: (text: string) => [target: string, headers?: Record<string, string>],
][] = [
  ['path', (text) => [`/api/${text}`]],
  ['filter column', (text) => [`/api/canary?${text}=eq.1`]],
  ['quoted filter column', (text) => [`/api/canary?%22${text}%22=eq.1`]],
  ['operator', (text) => [`/api/canary?id=${text}.1`]],
  ['number', (text) => [`/api/canary?id=eq.${text}`]],
  ['text', (text) => [`/api/canary?name=eq.${text}`]],
  ['pattern', (text) => [`/api/canary?name=like.${text}`]],
  ['regular expression', (text) => [`/api/canary?name=match.${text}`]],
  ['is', (text) => [`/api/canary?name=is.${text}`]],
  ['list', (text) => [`/api/canary?name=in.(${text})`]],
  ['quoted list', (text) => [`/api/canary?name=in.(%22${text}%22)`]],
  ['numbers', (text) => [`/api/canary?id=in.(1,${text})`]],
  ['plain search', (text) => [`/api/canary?name=plfts.${text}`]],
  ['search', (text) => [`/api/canary?name=fts.${text}`]],
  ['search with a configuration', (text) => [`/api/canary?name=fts(simple).${text}`]],
  ['search behind the name of a configuration', (text) => [`/api/canary?name=not.fts.simple.${text}`]],
  ['phrase search', (text) => [`/api/canary?name=phfts.${text}`]],
  ['web search', (text) => [`/api/canary?name=wfts.${text}`]],
  ['search in a tree', (text) => [`/api/canary?or=(name.fts.%22${text}%22)`]],
  ['search of a JSON value', (text) => [`/api/nest?data-%3E%3Ea=fts.${text}`]],
  ['search configuration', (text) => [`/api/canary?name=fts(${text}).a`]],
  ['select', (text) => [`/api/canary?select=${text}`]],
  ['alias', (text) => [`/api/canary?select=${text}:id&limit=0`]],
  ['quoted alias', (text) => [`/api/canary?select=%22${text}%22:id&limit=0`]],
  ['cast', (text) => [`/api/canary?select=id::${text}`]],
  ['cast to a type of a schema', (text) => [`/api/canary?select=id::public.%22${text}%22`]],
  ['modifier of a cast', (text) => [`/api/canary?select=id::${text}(3)`]],
  ['cast of a JSON value', (text) => [`/api/nest?select=data-%3Ea::${text}`]],
  ['order', (text) => [`/api/canary?order=${text}&limit=0`]],
  ['direction', (text) => [`/api/canary?order=id.${text}`]],
  ['logic tree', (text) => [`/api/canary?or=${text}`]],
  ['term of a tree', (text) => [`/api/canary?and=(${text})`]],
  ['column in a tree', (text) => [`/api/canary?or=(%22${text}%22.eq.1)`]],
  ['value in a tree', (text) => [`/api/canary?or=(name.eq.${text})`]],
  ['quoted value in a tree', (text) => [`/api/canary?or=(name.eq.%22${text}%22,id.eq.0)`]],
  ['modifier', (text) => [`/api/canary?name=eq(${text}).{a}`]],
  ['array of a modifier', (text) => [`/api/canary?name=eq(any).${text}`]],
  ['JSON key', (text) => [`/api/nest?select=data-%3E${text}`]],
  ['quoted JSON key', (text) => [`/api/nest?select=x:data-%3E%3E%22${text}%22`]],
  ['JSON key of a filter', (text) => [`/api/nest?data-%3E%3E%22${text}%22=eq.1`]],
  ['JSON key of an order', (text) => [`/api/nest?order=data-%3E%22${text}%22`]],
  ['embed', (text) => [`/api/nest?select=${text}(id)`]],
  ['quoted embed', (text) => [`/api/nest?select=%22${text}%22(id)`]],
  ['alias of an embed', (text) => [`/api/nest?select=%22${text}%22:canary(id)`]],
  ['hint', (text) => [`/api/nest?select=canary!%22${text}%22(id)`]],
  ['column of an embed', (text) => [`/api/nest?select=canary(%22${text}%22)`]],
  ['alias in an embed', (text) => [`/api/nest?select=canary(%22${text}%22:id)&order=canary(name)`]],
  ['spread', (text) => [`/api/nest?select=...canary(%22${text}%22:id)`]],
  ['filter of an embed', (text) => [`/api/nest?select=canary(id)&canary.name=eq.${text}`]],
  ['path to an embed', (text) => [`/api/nest?select=canary(id)&%22${text}%22.id=eq.1`]],
  ['related order', (text) => [`/api/nest?select=canary(id)&order=canary(%22${text}%22)`]],
  ['alias of an aggregate', (text) => [`/api/canary?select=%22${text}%22:count()`]],
  ['cast of an aggregate', (text) => [`/api/canary?select=id.sum()::${text}`]],
  ['aggregate of an order', (text) => [`/api/canary?select=id&order=%22${text}%22.max()&limit=0`]],
  [
    'JSON key of an aggregate',
    (text) => [`/api/nest?select=id&order=data-%3E%3E%22${text}%22.max()&limit=0`],
  ],
  [
    'relation of an order',
    (text) => [`/api/nest?select=canary(id)&order=%22${text}%22(%22${text}%22(name))`],
  ],
  [
    'name of an aggregate in an order',
    (text) => [`/api/canary?select=%22${text}%22:count()&order=%22${text}%22`],
  ],
  ['filter of groups', (text) => [`/api/canary?select=id&having=${text}&limit=0`]],
  ['column of a filter of groups', (text) => [`/api/canary?select=id&having=%22${text}%22.max().eq.1`]],
  ['value of a filter of groups', (text) => [`/api/canary?select=id&having=name.max().eq.${text}`]],
  ['number in a filter of groups', (text) => [`/api/canary?select=id&having=count().eq.${text}`]],
  [
    'value in a tree of groups',
    (text) => [`/api/canary?select=id&having=or(name.max().eq.%22${text}%22,count().gt.5)`],
  ],
  ['cast in a filter of groups', (text) => [`/api/canary?select=id&having=id::%22${text}%22.max().eq.0`]],
  ['distinct', (text) => [`/api/canary?distinct=on.${text}&limit=0`]],
  [
    'column of distinct rows',
    (text) => [`/api/nest?select=id&distinct=on.(data-%3E%22${text}%22,%22${text}%22)`],
  ],
  ['limit', (text) => [`/api/canary?limit=${text}`]],
  ['offset', (text) => [`/api/canary?offset=${text}`]],
  ['schema', (text) => ['/api/canary?limit=0', { 'accept-profile': text }]],
  ['accept', (text) => ['/api/canary?limit=0', { accept: text }]],
  ['prefer', (text) => ['/api/canary?limit=0', { prefer: text }]],
  ['range', (text) => ['/api/canary?limit=0', { range: text }]],
  ['token', (text) => ['/api/canary?limit=0', { authorization: `Bearer ${text}` }]],
  ['cookie', (text) => ['/api/canary?limit=0', { cookie: `a=${text}; ${text}=1` }]],
  ['header', (text) => ['/api/canary?limit=0', { 'x-any': text }]],
];

const file = wholeFile();
let db: TestDatabase;
let api: Direct;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  api = await direct(file, db.dsn, { poolSize: 1 });
});

for (const [part, [where, request]] of PLACES.entries())
  test(`hostile text in the ${where} stays data`, async () => {
    for (const text of hostileFor(part)) {
      const [target, headers = {}] = request(encodeURIComponent(text));
      const plain = Object.entries(headers).map(([name, value]) => [name, decodeURIComponent(value)]);
      const { status, body } = await api.get(target, Object.fromEntries(plain) as Record<string, string>);
      expect([200, 400, 404, 406, 416], `${text}: ${body}`).toContain(status);
      expect(body, text).not.toMatch(/syntax error|unterminated|no operand|no escaped|XX000|42601/);
      const most = /expression|search|cast/.test(where) || /[*%]/.test(text) ? 5 : 1;
      if (status === 200) expect((JSON.parse(body) as unknown[]).length, text).toBeLessThanOrEqual(most);
    }
    expect(await db.query('select count(*)::int as n from canary')).toEqual([{ n: 5 }]);
  });

test('NUL is refused with 400 wherever the database would see it', async () => {
  for (const query of ['name=eq.a%00b', 'name=in.(a%00b)', 'name=match.%00']) {
    expect((await api.get(`/api/canary?${query}`)).status).toBe(400);
  }
  for (const query of ['a%00b=eq.1', 'select=a%00b', 'select=%22a%00b%22:id', 'order=%22%00%22']) {
    expect((await api.get(`/api/canary?${query}`)).status).toBe(400);
  }
});

test('a table with a hostile name is read like any other', async () => {
  expect((await api.get(`/api/${encodeURIComponent('weird"; drop table canary; --')}`)).body).toBe('[]');
});
