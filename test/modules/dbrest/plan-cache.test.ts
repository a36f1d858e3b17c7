import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LocationFacts } from '../../../src/contract/index.ts';
import { compilePreparation, compileSteps } from '../../../src/modules/dbrest/pipeline.ts';
import { KeptPlans } from '../../../src/modules/dbrest/plan-cache/index.ts';
import { liftLiterals } from '../../../src/modules/dbrest/plan-cache/literals.ts';
import { readContent, requestWith } from '../../../src/modules/dbrest/request/index.ts';
import { type Schema, SchemaCache } from '../../../src/modules/dbrest/schema/index.ts';
import type { Work } from '../../../src/modules/dbrest/sql/index.ts';
import { TestWire } from '../../harness/test-wire.ts';
import { DEFAULTS } from './direct.ts';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const LOCATION: LocationFacts = { path: '/api/', kind: 'prefix', place: 'test:1', nameless: false };
const BUILD = { location: LOCATION, variable: () => () => undefined };

const lifted: [args: string, template: string, literals: string[]][] = [
  ['', '', []],
  ['id=eq.5', 'id=eq.\0text0', ['5']],
  ['id=eq.', 'id=eq.\0text0', ['']],
  ['id=not.gte.5&id=lt.9', 'id=not.gte.\0text0&id=lt.\0text1', ['5', '9']],
  ['name=like.*a%2Ab*', 'name=like.\0text0', ['%a%b%']],
  ['name=eq.*a*', 'name=eq.\0text0', ['*a*']],
  ['name=eq.a+b%26c%C3%A9', 'name=eq.\0text0', ['a b&cé']],
  ['name=eq%2Ea', 'name=eq.\0text0', ['a']],
  ['id=in.(1,"a,b",c)', 'id=in.(\0list0)', ['{"1","a,b","c"}']],
  ['id=not.in.()', 'id=not.in.(\0list0)', ['{}']],
  ['a=1&b=two', 'a=\0text0&b=\0text1', ['1', 'two']],
  ['a=is.null&b=fts.cat&c=eq(any).{1}', 'a=is.null&b=fts.cat&c=eq(any).{1}', []],
  ['or=(a.eq.1,b.eq.2)&t.or=(a.eq.1)', 'or=(a.eq.1,b.eq.2)&t.or=(a.eq.1)', []],
  ['select=id,eq.5&order=eq.5&t.limit=eq.5', 'select=id,eq.5&order=eq.5&t.limit=eq.5', []],
  ['a%20b=eq.5', 'a%20b=eq.5', []],
  ['having=a.sum().gt.5', 'having=a.sum().gt.\0text0', ['5']],
  ['having=a%26b.sum%28%29.not.in.(1,2)', 'having=a%26b.sum().not.in.(\0list0)', ['{"1","2"}']],
  ['t.having=count().like.*a*&id=eq.1', 't.having=count().like.\0text0&id=eq.\0text1', ['%a%', '1']],
  ['having=or(count().gt.5,a.max().lt.1)', 'having=or(count().gt.5,a.max().lt.1)', []],
  ['having=eq.5&distinct=eq.on.*', 'having=eq.\0text0&distinct=eq.\0text1', ['5', 'on.*']],
  ['distinct=on.*&t.distinct=on.(eq.5)', 'distinct=on.*&t.distinct=on.(eq.5)', []],
  ['having=5&distinct=true', 'having=\0text0&distinct=\0text1', ['5', 'true']],
  ['flag&=x&&id=eq.5', 'flag&=x&&id=eq.\0text0', ['5']],
];
test.each(lifted)('"%s" has the template %j', (args, template, literals) => {
  expect(liftLiterals(args)).toEqual({ template, literals });
});

test.each([
  ['an encoding that is none', 'id=eq.%zz'],
  ['bytes that are no UTF-8', 'id=eq.%ff'],
  ['a list without its end', 'id=in.(1,2'],
  ['a mark of the client', 'id=eq.\0text0'],
  ['an encoded mark of the client in a filter', 'id=eq.%00text0'],
  ['an encoded mark of the client in a tree', 'id=eq.5&or=(id.eq.%00text0,id.eq.1)'],
  ['more than 100 literals', 'a=1&'.repeat(101)],
  ['more than 2048 characters', `id=eq.${'5'.repeat(2_043)}`],
])('nothing is lifted out of a query with %s', (_, args) => {
  expect(liftLiterals(args)).toBeUndefined();
});

/** The work of requests, through the cache and without it. */
function planners(schema: Schema) {
  let hits = 0;
  const ignored = { add: () => undefined };
  const counted = { requests: ignored, hits: { add: () => void (hits += 1) }, evictions: ignored };
  const features = () => Promise.reject(new Error('not needed'));
  const database = {
    features,
    plans: new KeptPlans(counted),
    schema: new SchemaCache(() => Promise.resolve(schema)),
  };
  database.schema.adopt(schema);
  const config = { ...DEFAULTS, pass: { kind: 'embedded', dir: '' } } as const;
  const steps = compileSteps(config, database, BUILD);
  const { askedBy, prepare } = compilePreparation(steps, database);
  const wireOf = ({ line, headers = {}, body = '' }: Sent) => new TestWire(line, { headers, body });
  return {
    hits: () => hits,
    async cached(sent: Sent, role = 'anon'): Promise<Work | string> {
      const { x } = wireOf(sent);
      try {
        const asked = await askedBy(x, role);
        const prepared = asked && (await prepare(x, asked, role));
        return prepared && 'work' in prepared ? prepared.work : 'nothing';
      } catch (error) {
        return (error as Error).message;
      }
    },
    async planned(sent: Sent, role = 'anon'): Promise<Work | string> {
      const { x } = wireOf(sent);
      try {
        const parsed = steps.queryOf(x, steps.headOf(x), { args: x.args, range: x.header('range') });
        const content = await readContent(x, parsed);
        const plan = content && steps.planIn(schema, requestWith(parsed, content), role);
        return plan && plan.kind !== 'options' ? steps.workOf(plan) : 'nothing';
      } catch (error) {
        return (error as Error).message;
      }
    },
  };
}

interface Sent {
  readonly line: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };

const shop = pipeline(`${SHOP}
  create function pick(n int) returns int immutable language sql as $$ select n $$;
  create function pick(n text) returns text immutable language sql as $$ select n $$;
  revoke all on function pick(int), pick(text) from public, anon, web_user;
  grant execute on function pick(int) to web_user;
  grant execute on function pick(text) to anon;
  create function add(a int, b int) returns int immutable language sql as $$ select a + b $$;
  create function sum_of(variadic n int[]) returns int immutable language sql as $$ select 1 $$;
  create function clients_of(town text) returns setof clients stable language sql as $$ select * from clients where city = town $$;
  create function grouped("having" text, "distinct" text default 'no') returns text immutable language sql as $$ select "having" || "distinct" $$;
  create function whole(json) returns json immutable language sql as $$ select $1 $$;`);

test.each([
  'GET /api/clients?or=(name.eq.%00text7,id.eq.1)',
  'GET /api/clients?id=eq.5&or=(name.eq.%00text0,id.eq.1)',
])('%s binds what the client wrote', async (line) => {
  const { cached, planned } = planners(shop.it.schema);
  for (let i = 0; i < 2; i += 1) expect(await cached({ line })).toEqual(await planned({ line }));
});

const shapes: [line: string, more: Omit<Sent, 'line'>, literals: string[][]][] = [
  ['GET /api/clients?id=eq.$', {}, [['1'], ['2'], ['x'], ['']]],
  [
    'GET /api/clients?name=like.$&city=neq.$',
    {},
    [
      ['A*', 'Rome'],
      ['*', '*'],
    ],
  ],
  ['GET /api/clients?id=in.($)', {}, [['1,2'], ['3'], ['"a,b"'], ['']]],
  [
    'GET /api/clients?select=name,projects(name)&projects.id=gt.$&id=lt.$',
    {},
    [
      ['1', '2'],
      ['7', '8'],
    ],
  ],
  ['GET /api/clients?select=*,projects!inner(id)&projects.budget=gte.$&limit=5', {}, [['1'], ['2']]],
  ['GET /api/clients?id=eq.$', { headers: { prefer: 'count=exact', range: '0-1' } }, [['1'], ['2']]],
  ['GET /api/clients?id=gt.$', { headers: { prefer: 'count=estimated' } }, [['1'], ['2']]],
  ['GET /api/clients?id=eq.$', { headers: { accept: 'text/csv' } }, [['1'], ['2']]],
  ['GET /api/clients?id=eq.$', { headers: { accept: 'application/vnd.pgrst.object+json' } }, [['1'], ['2']]],
  ['HEAD /api/clients?id=eq.$', {}, [['1'], ['2']]],
  [
    'GET /api/clients?select=city,count()&having=count().gt.$&having=or(id.max().lt.9,count().eq.2)&order=count()',
    { headers: { prefer: 'count=exact' } },
    [['1'], ['2']],
  ],
  [
    'GET /api/clients?select=name,projects!inner(count())&projects.having=budget.sum().not.in.($)',
    {},
    [['1,2'], ['3']],
  ],
  ['GET /api/clients?select=city&distinct=on.*&id=gt.$', {}, [['1'], ['2']]],
  ['GET /api/rpc/grouped?having=$&distinct=x', {}, [['1'], ['a.sum'], ['count.gt.1']]],
  [
    'GET /api/rpc/add?a=$&b=$',
    {},
    [
      ['1', '2'],
      ['3', '4'],
    ],
  ],
  [
    'GET /api/rpc/clients_of?town=$&id=gt.$',
    {},
    [
      ['Oslo', '1'],
      ['Rome', '2'],
    ],
  ],
  [
    'POST /api/clients',
    { headers: JSON_TYPE, body: '{"id":$,"name":"$"}' },
    [
      ['1', 'a'],
      ['2', 'b'],
    ],
  ],
  [
    'POST /api/clients',
    { headers: { ...JSON_TYPE, prefer: 'return=representation' }, body: '[{"id":$}]' },
    [['1'], ['2']],
  ],
  [
    'POST /api/clients',
    { headers: { 'content-type': 'text/csv' }, body: 'id,name\n$,$' },
    [
      ['1', 'a'],
      ['2', 'b'],
    ],
  ],
  [
    'POST /api/clients?on_conflict=id',
    { headers: { ...JSON_TYPE, prefer: 'resolution=merge-duplicates' }, body: '{"id":$}' },
    [['1'], ['2']],
  ],
  [
    'PUT /api/clients?id=eq.$',
    { headers: JSON_TYPE, body: '{"id":$,"name":"x"}' },
    [
      ['1', '1'],
      ['2', '2'],
    ],
  ],
  [
    'PATCH /api/clients?id=eq.$',
    { headers: JSON_TYPE, body: '{"name":"$"}' },
    [
      ['1', 'a'],
      ['2', 'b'],
    ],
  ],
  [
    'PATCH /api/clients?id=gt.$&limit=2&order=id',
    { headers: JSON_TYPE, body: '{"name":"$"}' },
    [
      ['1', 'a'],
      ['2', 'b'],
    ],
  ],
  ['DELETE /api/clients?id=eq.$', { headers: { prefer: 'return=representation' } }, [['1'], ['2']]],
  [
    'POST /api/rpc/add',
    { headers: JSON_TYPE, body: '{"a":$,"b":$}' },
    [
      ['1', '2'],
      ['3', '4'],
    ],
  ],
  ['POST /api/rpc/whole', { headers: JSON_TYPE, body: '{"any":$}' }, [['1'], ['2']]],
];
test.each(shapes)('the plan of the cache is that without it: %s with %j', async (line, more, fillings) => {
  const { cached, planned, hits } = planners(shop.it.schema);
  for (const literals of fillings) {
    const sent = fill({ line, ...more }, literals);
    const work = await cached(sent);
    expect(work, sent.line).toEqual(await planned(sent));
    expect(work, sent.line).toHaveProperty('main');
  }
  expect(hits()).toBe(fillings.length - 1);
});

const own: [why: string, requests: Sent[]][] = [
  ['an unknown column', [{ line: 'GET /api/clients?nope=eq.1' }, { line: 'GET /api/clients?nope=eq.2' }]],
  ['a filter without operator', [{ line: 'GET /api/clients?id=1' }, { line: 'GET /api/clients?id=2' }]],
  ['an unknown table', [{ line: 'GET /api/nope?id=eq.1' }, { line: 'GET /api/nope?id=eq.2' }]],
  [
    'arguments for a variadic function',
    [
      { line: 'GET /api/rpc/sum_of?n=1' },
      { line: 'GET /api/rpc/sum_of?n=1&n=2' },
      { line: 'GET /api/rpc/sum_of?n=2' },
    ],
  ],
  [
    'an argument of the name of a clause, and the clause',
    ['x', 'count().gt.1', 'eq.x', 'count().gt.2', 'on.*', 'x'].map((value) => ({
      line: `GET /api/rpc/grouped?having=${value}&distinct=${value}`,
    })),
  ],
  [
    'a filter of groups with a fault',
    ['count.gt.1', 'count().gt.1', 'eq.1', 'count().gt'].map((value) => ({
      line: `GET /api/clients?select=city&having=${value}`,
    })),
  ],
  [
    'an argument that is given twice',
    [{ line: 'GET /api/rpc/add?a=1&a=2&b=3' }, { line: 'GET /api/rpc/add?a=4&a=5&b=6' }],
  ],
  [
    'a key that the body contradicts',
    [{ line: 'PUT /api/clients?name=eq.1', headers: JSON_TYPE, body: '{"id":1}' }],
  ],
  [
    'arguments as one object',
    ['1', '2'].map((a) => ({
      line: `GET /api/rpc/whole?a=${a}`,
      headers: { prefer: 'params=single-object' },
    })),
  ],
  [
    'a form',
    ['1', '2'].map((a) => ({
      line: 'POST /api/rpc/add',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `a=${a}&b=2`,
    })),
  ],
  [
    'bodies of other columns',
    ['{"id":1}', '{"name":"a"}', '{"nope":1}', '{"id":1,"name":"b"}', '{}', '[]'].map((body) => ({
      line: 'POST /api/clients',
      headers: JSON_TYPE,
      body,
    })),
  ],
  [
    'an empty body and an empty object',
    ['', '{}', ''].map((body) => ({ line: 'POST /api/rpc/whole', headers: JSON_TYPE, body })),
  ],
  ['a range in the query', ['0', '1', '2'].map((n) => ({ line: `GET /api/clients?limit=${n}&offset=${n}` }))],
  [
    'an absent and an empty header',
    [{ line: 'GET /api/clients' }, { line: 'GET /api/clients', headers: { accept: '' } }],
  ],
];
test.each(own)('%s has the same outcome with the cache, each time', async (_, requests) => {
  const { cached, planned } = planners(shop.it.schema);
  for (const sent of [...requests, ...requests]) {
    expect(await cached(sent), JSON.stringify(sent)).toEqual(await planned(sent));
  }
});

test('a role does not get the plan of another one', async () => {
  const { cached, planned } = planners(shop.it.schema);
  const sent = { line: 'GET /api/rpc/pick?n=1' };
  const casts = [];
  for (const role of ['anon', 'web_user', 'anon', 'web_user']) {
    const work = await cached(sent, role);
    expect(work).toEqual(await planned(sent, role));
    casts.push(/\$1::\w+/.exec(JSON.stringify(work))?.[0]);
  }
  expect(casts).toEqual(['$1::text', '$1::integer', '$1::text', '$1::integer']);
});

const text = fc.string({ unit: 'binary', maxLength: 12 });
const name = fc.constantFrom(
  'id',
  'name',
  'client_id',
  'meta->>lead',
  'projects.id',
  'clients.name',
  'nope',
  'order',
  'or',
);
const operator = fc.constantFrom(
  'eq.',
  'not.eq.',
  'like.',
  'in.(',
  'not.in.(',
  'is.',
  'fts.',
  'cs.',
  '',
  'eq(any).',
  'not.',
);
const filter = fc.record({ name, operator, first: text, second: text });
const select = fc.constantFrom('', 'select=id&', 'select=*,clients(name)&', 'select=clients!inner(*)&');
const line = (table: string, chosen: string, filters: { name: string; operator: string; value: string }[]) =>
  `GET /api/${table}?${chosen}${filters
    .map(
      ({ name: column, operator: test_, value }) =>
        `${column}=${test_}${encodeURIComponent(value)}${test_.endsWith('(') ? ')' : ''}`,
    )
    .join('&')}`;
test('for any filters, other literals get the plan that they would have had', async () => {
  const { cached, planned } = planners(shop.it.schema);
  await fc.assert(
    fc.asyncProperty(select, fc.array(filter, { maxLength: 4 }), async (chosen, filters) => {
      for (const which of ['first', 'second', 'first'] as const) {
        const values = filters.map((one) => ({ ...one, value: one[which] }));
        const sent = { line: line('projects', chosen, values) };
        expect(await cached(sent), sent.line).toEqual(await planned(sent));
      }
    }),
    { numRuns: 500 },
  );
});

function fill({ line, headers, body }: Sent, literals: readonly string[]): Sent {
  const values = [...literals];
  const filled = (text: string): string => text.replace(/\$/g, () => values.shift() ?? '');
  return { line: filled(line), ...(headers && { headers }), ...(body && { body: filled(body) }) };
}
