import { expect, test } from 'vitest';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const relations: [request: string, rows: unknown][] = [
  [
    'projects?select=id,clients(*)&order=id&limit=3&offset=1',
    [
      { id: 2, clients: { id: 1, name: 'Acme', city: 'Rome' } },
      { id: 3, clients: { id: 2, name: 'Bolt', city: 'Oslo' } },
      { id: 4, clients: null },
    ],
  ],
  [
    'projects?select=id,c:clients(name)&id=in.(1,4)&order=id',
    [
      { id: 1, c: { name: 'Acme' } },
      { id: 4, c: null },
    ],
  ],
  [
    'clients?select=id,projects(id,name)&order=id',
    [
      {
        id: 1,
        projects: [
          { id: 1, name: 'Web' },
          { id: 2, name: 'App' },
        ],
      },
      { id: 2, projects: [{ id: 3, name: 'Data' }] },
      { id: 3, projects: [] },
    ],
  ],
  [
    'clients?select=projects(id,tasks(id,users(name)))&id=eq.1',
    [
      {
        projects: [
          {
            id: 1,
            tasks: [
              { id: 1, users: [{ name: 'Ann' }] },
              { id: 2, users: [{ name: 'Ann' }, { name: 'Bob' }] },
            ],
          },
          { id: 2, tasks: [{ id: 3, users: [{ name: 'Bob' }] }] },
        ],
      },
    ],
  ],
  [
    'projects?select=id,project_details(notes)&order=id&limit=2',
    [
      { id: 1, project_details: { notes: 'first' } },
      { id: 2, project_details: null },
    ],
  ],
  [
    'project_details?select=notes,projects(name)&order=project_id',
    [
      { notes: 'first', projects: { name: 'Web' } },
      { notes: 'third', projects: { name: 'Data' } },
    ],
  ],
  [
    'tasks?select=id,users(name)&id=lt.3&order=id',
    [
      { id: 1, users: [{ name: 'Ann' }] },
      { id: 2, users: [{ name: 'Ann' }, { name: 'Bob' }] },
    ],
  ],
  [
    'users?select=name,tasks(name)&id=in.(2,3)&order=id',
    [
      { name: 'Bob', tasks: [{ name: 'code' }, { name: 'test' }] },
      { name: 'Cid', tasks: [] },
    ],
  ],
  [
    'part_uses?select=id,parts(name)&order=id',
    [
      { id: 1, parts: { name: 'bolt' } },
      { id: 2, parts: { name: 'nut' } },
      { id: 3, parts: null },
    ],
  ],
  [
    'parts?select=name,part_uses(id)&order=a,b',
    [
      { name: 'bolt', part_uses: [{ id: 1 }] },
      { name: 'nut', part_uses: [{ id: 2 }] },
    ],
  ],
  [
    'orders?select=id,b:addresses!billing(street),s:addresses!shipping_id(street)&order=id',
    [
      { id: 1, b: { street: 'A St' }, s: { street: 'B St' } },
      { id: 2, b: { street: 'A St' }, s: { street: 'A St' } },
      { id: 3, b: { street: 'B St' }, s: null },
    ],
  ],
  [
    'orders?select=id,billing(street),shipping_id(street)&id=eq.3',
    [{ id: 3, billing: { street: 'B St' }, shipping_id: null }],
  ],
  [
    'addresses?select=id,orders!billing(id),s:orders!shipping_id(id)&order=id',
    [
      { id: 1, orders: [{ id: 1 }, { id: 2 }], s: [{ id: 2 }] },
      { id: 2, orders: [{ id: 3 }], s: [{ id: 1 }] },
    ],
  ],
  ['tasks?select=id,users!users_tasks(name)&id=eq.3', [{ id: 3, users: [{ name: 'Bob' }] }]],
  [
    'project_list?select=title,clients(name)&order=project_id&limit=1',
    [{ title: 'WEB', clients: { name: 'Acme' } }],
  ],
  [
    'clients?select=name,project_list(title)&order=id',
    [
      { name: 'Acme', project_list: [{ title: 'WEB' }, { title: 'APP' }] },
      { name: 'Bolt', project_list: [{ title: 'DATA' }] },
      { name: 'Core', project_list: [] },
    ],
  ],
  [
    'open_list?select=name,projects(name),users(name)&order=task_id',
    [
      { name: 'code', projects: { name: 'Web' }, users: [{ name: 'Ann' }, { name: 'Bob' }] },
      { name: 'test', projects: { name: 'App' }, users: [{ name: 'Bob' }] },
    ],
  ],
  [
    'open_list?select=name,project_list(title)&order=task_id',
    [
      { name: 'code', project_list: { title: 'WEB' } },
      { name: 'test', project_list: { title: 'APP' } },
    ],
  ],
  ['task_teams?select=size,clients(name)&id=eq.2', [{ size: 2, clients: { name: 'Acme' } }]],
  [
    'big_clients?select=name,projects(id)&order=id',
    [
      { name: 'Acme', projects: [{ id: 1 }, { id: 2 }] },
      { name: 'Bolt', projects: [{ id: 3 }] },
    ],
  ],
  [
    'projects?select=id,big_clients(name)&id=gt.2&order=id',
    [
      { id: 3, big_clients: { name: 'Bolt' } },
      { id: 4, big_clients: null },
    ],
  ],
  [
    'projects?select=id,main_client(name)&id=gt.2&order=id',
    [
      { id: 3, main_client: { name: 'Bolt' } },
      { id: 4, main_client: null },
    ],
  ],
  [
    'clients?select=name,tasks(name)&id=gt.1&order=id',
    [
      { name: 'Bolt', tasks: [{ name: 'load' }] },
      { name: 'Core', tasks: [] },
    ],
  ],
  [
    'users?select=name,boss(name,boss(name)),reports(name)&id=gt.2&order=id',
    [
      { name: 'Cid', boss: { name: 'Ann', boss: { name: null } }, reports: [] },
      { name: 'Dee', boss: { name: 'Bob', boss: { name: 'Ann' } }, reports: [] },
    ],
  ],
  [
    'projects?select=id,clients(id,projects(id,clients(id)))&id=eq.1',
    [
      {
        id: 1,
        clients: {
          id: 1,
          projects: [
            { id: 1, clients: { id: 1 } },
            { id: 2, clients: { id: 1 } },
          ],
        },
      },
    ],
  ],
  [
    'tasks?select=id,projects(client_id(name))&id=eq.1',
    [{ id: 1, projects: { client_id: { name: 'Acme' } } }],
  ],
  ['projects?select=clients()&id=eq.1', [{}]],
];

test.each(relations)('related rows are embedded: %s', async (request, rows) => {
  expect(await shop.it.rows(request)).toEqual(rows);
});
