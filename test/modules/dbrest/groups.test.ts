import { expect, test } from 'vitest';
import type { ReadTarget } from '../../../src/modules/dbrest/plan/node.ts';
import { faultOf, pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const named = (...names: string[]): unknown => names.map((name) => ({ name }));

const NO_AGGREGATES = { aggregates: false };
const groups: [request: string, rows: unknown][] = [
  [
    'projects?select=client_id,total:budget.sum()&order=total.desc.nullslast',
    [
      { client_id: 1, total: 300.5 },
      { client_id: 2, total: 50 },
      { client_id: null, total: null },
    ],
  ],
  [
    'projects?select=client_id,budget.sum()&order=budget.sum().nullsfirst&limit=1',
    [{ client_id: null, sum: null }],
  ],
  [
    'projects?select=client_id&order=count().desc,client_id.desc&limit=2',
    [{ client_id: 1 }, { client_id: null }],
  ],
  ['projects?select=client_id&order=budget::int.max()&limit=1', [{ client_id: 2 }]],
  [
    'tasks?select=done,...projects(...clients(top:id.max()))&order=top.desc',
    [
      { done: true, top: 2 },
      { done: false, top: 1 },
    ],
  ],
  [
    'clients?select=name,projects(client_id,count())&projects.order=count()&id=eq.1',
    [{ name: 'Acme', projects: [{ client_id: 1, count: 2 }] }],
  ],
  [
    'clients?select=city,count(),projects()&order=count().desc',
    [
      { city: 'Oslo', count: 2 },
      { city: 'Rome', count: 1 },
    ],
  ],
  ['clients?select=id,count(),projects()&order=projects(count)&limit=1', [{ id: 3, count: 1 }]],
  ['projects?select=client_id,budget.sum()&having=budget.sum().gt.100', [{ client_id: 1, sum: 300.5 }]],
  [
    'projects?select=client_id&having=or(count().gt.1,budget.sum().is.null)&order=client_id',
    [{ client_id: 1 }, { client_id: null }],
  ],
  [
    'projects?select=client_id&having=not.and(count().eq.1,budget.max().not.is.null)&having=client_id.max().not.is.null',
    [{ client_id: 1 }],
  ],
  ['clients?select=city&having=count().in.(2,3)', [{ city: 'Oslo' }]],
  ['clients?select=city&having=name.min().like.A*', [{ city: 'Rome' }]],
  ['projects?select=client_id&having=budget::int.sum().eq(any).{300,301}', [{ client_id: 1 }]],
  ['projects?select=count()&having=count().gt.9', []],
  [
    'clients?select=name,projects!inner(count())&projects.having=count().gte.2',
    [{ name: 'Acme', projects: [{ count: 2 }] }],
  ],
  ['clients?select=name,projects!inner()&projects.having=budget.sum().lt.100', named('Bolt')],
  ['clients?select=name,projects()&projects.having=count().eq.0&projects=not.is.null', named('Core')],
];

test.each(groups)('groups are ordered and filtered by aggregates: %s', async (request, rows) => {
  expect(await shop.it.rows(request)).toEqual(rows);
});

const faults: [request: string, fault: string, options?: Partial<ReadTarget>][] = [
  ['clients?order=total', '400 42703 column clients.total does not exist'],
  ['clients?select=city&having=nope.sum().gt.1', '400 42703 column clients.nope does not exist'],
  ['clients?select=...projects(id)&projects.having=count().gt.1', '400 PGRST127 Feature not implemented'],
  ['projects?select=...clients(id)&clients.having=count().gt.1', '400 PGRST127 Feature not implemented'],
  ['projects?select=...clients(id)&clients.order=count()', '400 PGRST127 Feature not implemented'],
  [
    'clients?select=city&having=count().gt.1',
    '400 PGRST123 Use of aggregate functions is not allowed',
    NO_AGGREGATES,
  ],
  [
    'clients?select=city&order=count()',
    '400 PGRST123 Use of aggregate functions is not allowed',
    NO_AGGREGATES,
  ],
];

test.each(faults)('%s is refused: %s', async (request, fault, options) => {
  const { status, code, message } = await faultOf(() => shop.it.rows(request, options));
  expect(`${status} ${code} ${message}`).toBe(fault);
});
