import { expect, test } from 'vitest';
import type { ReadTarget } from '../../../src/modules/dbrest/plan/node.ts';
import { faultOf, pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const named = (...names: string[]): unknown => names.map((name) => ({ name }));

const NO_AGGREGATES = { aggregates: false };
const byRelated: [request: string, rows: unknown][] = [
  ['clients?select=name,projects()&order=projects(count).desc', named('Acme', 'Bolt', 'Core')],
  ['clients?select=name,projects()&order=projects(count())', named('Core', 'Bolt', 'Acme')],
  [
    'clients?select=name,projects(count)&order=projects(count).desc&limit=2',
    [
      { name: 'Acme', projects: [{ count: 2 }] },
      { name: 'Bolt', projects: [{ count: 1 }] },
    ],
  ],
  [
    'clients?select=name,p:projects(total:budget.sum()::text)&order=p(total).desc.nullslast',
    [
      { name: 'Acme', p: [{ total: '300.50' }] },
      { name: 'Bolt', p: [{ total: '50.00' }] },
      { name: 'Core', p: [{ total: null }] },
    ],
  ],
  ['clients?select=name,projects()&order=projects(budget.sum()).desc', named('Core', 'Acme', 'Bolt')],
  ['clients?select=name,projects()&order=projects(meta->tags->>1.max())', named('Acme', 'Bolt', 'Core')],
  [
    'clients?select=name,projects()&projects.budget=gt.100&order=projects(budget::int.min()).asc.nullsfirst,id.desc',
    named('Core', 'Bolt', 'Acme'),
  ],
  [
    'clients?select=name,projects(id)&projects.limit=1&projects.order=id&order=projects(count).desc&limit=1',
    [{ name: 'Acme', projects: [{ id: 1 }] }],
  ],
  ['clients?select=name,projects!inner()&order=projects(count)', named('Bolt', 'Acme')],
  [
    'clients?select=name,projects(tasks!inner())&projects.tasks.done=is.true&order=projects(count).desc,id.desc',
    named('Bolt', 'Acme', 'Core'),
  ],
  ['users?select=name,tasks()&order=tasks(count).desc,id', named('Ann', 'Bob', 'Dee', 'Cid')],
  ['users?select=name,reports()&order=reports(count).desc,id', named('Ann', 'Bob', 'Cid', 'Dee')],
  [
    'addresses?select=street,orders!billing()&order=orders(amount.sum()).desc,id',
    [{ street: 'A St' }, { street: 'B St' }],
  ],
  ['clients?select=name,...projects(ids:id)&order=projects(count)&limit=1', [{ name: 'Core', ids: [] }]],
  [
    'tasks?select=name,projects(clients())&order=projects(clients(name)).desc,id',
    named('load', 'design', 'code', 'test'),
  ],
  [
    'tasks?select=name,p:projects(name,c:clients(city))&order=p(c(name)).desc,id&limit=2',
    [
      { name: 'load', p: { name: 'Data', c: { city: 'Oslo' } } },
      { name: 'design', p: { name: 'Web', c: { city: 'Rome' } } },
    ],
  ],
  [
    'tasks?select=name,...projects(p:name,...clients(c:city))&order=projects(clients(name)).desc,id&limit=1',
    [{ name: 'load', p: 'Data', c: 'Oslo' }],
  ],
  [
    'projects?select=name,clients()&order=clients(city).desc.nullsfirst,clients(city),id',
    named('Inner', 'Web', 'App', 'Data'),
  ],
  [
    'tasks?select=name,projects(*,clients())&order=projects(clients(city)).desc,projects(name)&limit=1',
    [{ name: 'test', projects: { id: 2, name: 'App', client_id: 1, budget: 200, meta: { tags: ['c'] } } }],
  ],
  [
    'projects?select=name,clients(projects())&order=clients(projects(count)).desc.nullslast,id',
    named('Web', 'App', 'Data', 'Inner'),
  ],
  [
    'users_tasks?select=role,tasks(projects(clients()))&order=tasks(projects(clients(name))).desc,user_id,task_id&limit=2',
    [{ role: 'ops' }, { role: 'lead' }],
  ],
  [
    'clients?select=name,projects(name,tasks())&projects.order=tasks(count),id.desc&id=eq.1',
    [{ name: 'Acme', projects: [{ name: 'App' }, { name: 'Web' }] }],
  ],
];

test.each(byRelated)('rows are ordered by what they are related to: %s', async (request, rows) => {
  expect(await shop.it.rows(request)).toEqual(rows);
});

const faults: [request: string, fault: string, options?: Partial<ReadTarget>][] = [
  ['clients?order=projects(count)', "400 PGRST108 'projects' is not an embedded resource in this request"],
  [
    'clients?select=projects()&order=projects(name)',
    "400 PGRST118 A related order on 'projects' is not possible",
  ],
  [
    'clients?select=projects(tasks())&order=projects(tasks(count))',
    "400 PGRST118 A related order on 'projects' is not possible",
  ],
  [
    'projects?select=clients()&order=clients(id.sum())',
    "400 PGRST118 A related order on 'clients' is not possible",
  ],
  [
    'tasks?select=projects(clients())&order=projects(nope(name))',
    "400 PGRST108 'nope' is not an embedded resource in this request",
  ],
  [
    'tasks?select=projects(clients())&order=projects(clients(nope))',
    '400 42703 column clients.nope does not exist',
  ],
  ['clients?select=projects()&order=projects(nope.sum())', '400 42703 column projects.nope does not exist'],
  [
    'clients?select=city,count(),projects()&order=projects(count)',
    '400 42803 column "clients.id" must appear in the GROUP BY clause or be used in an aggregate function',
  ],
  [
    'clients?select=projects(count)&order=projects(count)',
    '400 PGRST123 Use of aggregate functions is not allowed',
    NO_AGGREGATES,
  ],
];

test.each(faults)('%s is refused: %s', async (request, fault, options) => {
  const { status, code, message } = await faultOf(() => shop.it.rows(request, options));
  expect(`${status} ${code} ${message}`).toBe(fault);
});
