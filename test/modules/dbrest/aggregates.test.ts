import { expect, test } from 'vitest';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const aggregates: [request: string, rows: unknown][] = [
  [
    'tasks?select=hours.sum(),p:projects(n:name,c:clients(name))&order=projects(name).desc&limit=2',
    [
      { sum: 13, p: { n: 'Web', c: { name: 'Acme' } } },
      { sum: 2, p: { n: 'Data', c: { name: 'Bolt' } } },
    ],
  ],
  [
    'tasks?select=count(),projects(name,...clients(c:name,projects(n:id)),project_details(notes))&project_id=eq.1',
    [
      {
        count: 2,
        projects: {
          name: 'Web',
          c: 'Acme',
          projects: [{ n: 1 }, { n: 2 }],
          project_details: { notes: 'first' },
        },
      },
    ],
  ],
  ['projects?select=count()', [{ count: 4 }]],
  ['projects?select=n:count()::text&id=gt.99', [{ n: '0' }]],
  [
    'tasks?select=hours.avg(),hours.min(),hours.max(),hours.count(),total:hours.sum()',
    [{ avg: 4.5, min: 2, max: 8, count: 4, total: 18 }],
  ],
  [
    'projects?select=client_id,count(),budget.sum()&order=client_id',
    [
      { client_id: 1, count: 2, sum: 300.5 },
      { client_id: 2, count: 1, sum: 50 },
      { client_id: null, count: 1, sum: null },
    ],
  ],
  [
    'projects?select=client_id,total:budget.sum()::int&order=client_id&limit=2',
    [
      { client_id: 1, total: 301 },
      { client_id: 2, total: 50 },
    ],
  ],
  [
    'orders?select=status,amount.sum()::text&order=status.desc',
    [
      { status: 'sent', sum: '30' },
      { status: 'new', sum: '30' },
    ],
  ],
  [
    'tasks?select=*,count()&id=eq.1',
    [{ id: 1, name: 'design', project_id: 1, hours: 5, done: true, count: 1 }],
  ],
  [
    'projects?select=lead:meta->lead->>name,count()&order=meta->lead->>name',
    [
      { lead: 'Zoe', count: 1 },
      { lead: null, count: 3 },
    ],
  ],
  [
    'projects?select=meta->tags->>0,second:meta->tags->>1.count()&id=lt.3&order=meta->tags->>0',
    [
      { tags: 'a', second: 1 },
      { tags: 'c', second: 0 },
    ],
  ],
  ['tasks?select=hours::text.max()', [{ max: '8' }]],
  [
    'projects?select=clients(name),budget.sum()&order=clients(name)',
    [
      { clients: { name: 'Acme' }, sum: 300.5 },
      { clients: { name: 'Bolt' }, sum: 50 },
      { clients: null, sum: null },
    ],
  ],
  [
    'projects?select=clients(name),budget.sum()&order=clients(city)&limit=2',
    [
      { clients: { name: 'Bolt' }, sum: 50 },
      { clients: { name: 'Acme' }, sum: 300.5 },
    ],
  ],
  [
    'clients?select=name,projects(count(),budget.max())&order=id',
    [
      { name: 'Acme', projects: [{ count: 2, max: 200 }] },
      { name: 'Bolt', projects: [{ count: 1, max: 50 }] },
      { name: 'Core', projects: [{ count: 0, max: null }] },
    ],
  ],
  [
    'clients?select=name,projects(id,tasks(hours.sum()))&id=eq.1',
    [
      {
        name: 'Acme',
        projects: [
          { id: 1, tasks: [{ sum: 13 }] },
          { id: 2, tasks: [{ sum: 3 }] },
        ],
      },
    ],
  ],
  ['projects?select=name,clients(count())&id=gt.3', [{ name: 'Inner', clients: { count: 0 } }]],
  [
    'projects?select=...clients(city,n:id.count())&order=clients(city)',
    [
      { city: 'Oslo', n: 1 },
      { city: 'Rome', n: 2 },
      { city: null, n: 0 },
    ],
  ],
  [
    'projects?select=id,...clients(count())&order=id',
    [
      { id: 1, count: 1 },
      { id: 2, count: 1 },
      { id: 3, count: 1 },
      { id: 4, count: 0 },
    ],
  ],
  [
    'tasks?select=done,...projects(...clients(id.max()))&order=done',
    [
      { done: false, max: 1 },
      { done: true, max: 2 },
    ],
  ],
  [
    'projects?select=budget.sum(),tasks(count())&id=lt.3',
    [
      { sum: 200, tasks: [{ count: 1 }] },
      { sum: 100.5, tasks: [{ count: 2 }] },
    ],
  ],
];

test.each(aggregates)('an aggregate is grouped by the columns beside it: %s', async (request, rows) => {
  expect(await shop.it.rows(request)).toEqual(rows);
});

test('the count of grouped rows is the number of groups', async () => {
  expect(await shop.it.count('projects?select=client_id,count()')).toBe(3);
  expect(await shop.it.count('projects?select=...clients(city),count()')).toBe(3);
});
