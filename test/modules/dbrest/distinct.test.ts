import { expect, test } from 'vitest';
import type { ReadTarget } from '../../../src/modules/dbrest/plan/node.ts';
import { faultOf, pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const named = (...names: string[]): unknown => names.map((name) => ({ name }));

const NO_AGGREGATES = { aggregates: false };
const distinct: [request: string, rows: unknown, count: number][] = [
  ['clients?select=city&distinct=on.*&order=city', [{ city: 'Oslo' }, { city: 'Rome' }], 2],
  ['clients?select=city&distinct=on.*&order=city.desc&limit=1', [{ city: 'Rome' }], 2],
  ['clients?distinct=on.*&select=*&order=id&limit=1', [{ id: 1, name: 'Acme', city: 'Rome' }], 3],
  [
    'projects?select=clients(city)&distinct=on.*&order=clients(city)',
    [{ clients: { city: 'Oslo' } }, { clients: { city: 'Rome' } }, { clients: null }],
    3,
  ],
  [
    'tasks?select=project_id,name&distinct=on.(project_id)&order=project_id,hours.desc',
    [
      { project_id: 1, name: 'code' },
      { project_id: 2, name: 'test' },
      { project_id: 3, name: 'load' },
    ],
    3,
  ],
  [
    'tasks?select=name&distinct=on.(done,project_id)&order=project_id.desc&limit=1&offset=1',
    named('test'),
    4,
  ],
  [
    'tasks?select=name,projects()&distinct=on.(projects(client_id))&order=projects(client_id),hours.desc',
    named('code', 'load'),
    2,
  ],
  [
    'projects?select=name&distinct=on.(meta->tags->>0)&order=meta->tags->>0,id',
    named('Web', 'App', 'Data'),
    3,
  ],
  [
    'projects?select=client_id,count()&distinct=on.(count())&order=count(),client_id',
    [
      { client_id: 2, count: 1 },
      { client_id: 1, count: 2 },
    ],
    2,
  ],
  ['clients?select=name,projects()&distinct=on.(projects(count))&id=gt.1', named('Core', 'Bolt'), 2],
  [
    'users?select=name,tasks(project_id)&tasks.distinct=on.*&id=eq.1',
    [{ name: 'Ann', tasks: [{ project_id: 1 }] }],
    1,
  ],
  [
    'users?select=name,...tasks(project_id)&tasks.distinct=on.*&tasks.order=project_id&id=eq.2',
    [{ name: 'Bob', project_id: [1, 2] }],
    1,
  ],
  [
    'users?select=name,tasks(name)&tasks.distinct=on.(project_id)&tasks.order=project_id,hours.desc&id=eq.1',
    [{ name: 'Ann', tasks: [{ name: 'code' }] }],
    1,
  ],
  ['users?select=name,tasks!inner()&tasks.distinct=on.(project_id)&tasks.offset=1', named('Bob'), 1],
];

test.each(distinct)('equal rows come once, and are counted once: %s', async (request, rows, count) => {
  expect([await shop.it.rows(request), await shop.it.count(request)]).toEqual([rows, count]);
});

const faults: [request: string, fault: string, options?: Partial<ReadTarget>][] = [
  [
    'clients?select=city&distinct=on.*&order=name',
    '400 42P10 for SELECT DISTINCT, ORDER BY expressions must appear in select list',
  ],
  [
    'tasks?distinct=on.(project_id)&order=hours',
    '400 42P10 SELECT DISTINCT ON expressions must match initial ORDER BY expressions',
  ],
  [
    'clients?select=city,count()&distinct=on.*',
    '400 PGRST123 Use of aggregate functions is not allowed',
    NO_AGGREGATES,
  ],
];

test.each(faults)('%s is refused: %s', async (request, fault, options) => {
  const { status, code, message } = await faultOf(() => shop.it.rows(request, options));
  expect(`${status} ${code} ${message}`).toBe(fault);
});

test('distinct rows need no aggregates', async () => {
  expect(await shop.it.rows('clients?select=city&distinct=on.*&order=city&limit=1', NO_AGGREGATES)).toEqual([
    { city: 'Oslo' },
  ]);
});
