import { expect, test } from 'vitest';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const rows: [request: string, rows: unknown][] = [
  [
    'orders?select=billing:addresses(street),shipping_id:addresses(id)&id=eq.1',
    [{ billing: { street: 'A St' }, shipping_id: { id: 2 } }],
  ],
  [
    'clients?select=id,projects!inner(id)&or=(projects.not.is.null,id.eq.9)&projects.id=gt.1&order=id',
    [
      { id: 1, projects: [{ id: 2 }] },
      { id: 2, projects: [{ id: 3 }] },
    ],
  ],
  ['clients?select=id,projects()&or=(projects.is.null,id.eq.2)&projects=is.null', [{ id: 3 }]],
  [
    'projects?select=id,clients!inner(name)&clients.city=eq.Rome&order=id',
    [
      { id: 1, clients: { name: 'Acme' } },
      { id: 2, clients: { name: 'Acme' } },
    ],
  ],
  [
    'projects?select=id,clients(name)&clients.city=eq.Rome&id=gt.1&order=id',
    [
      { id: 2, clients: { name: 'Acme' } },
      { id: 3, clients: null },
      { id: 4, clients: null },
    ],
  ],
  [
    'clients?select=id,projects!inner(id)&projects.budget=gt.60',
    [{ id: 1, projects: [{ id: 1 }, { id: 2 }] }],
  ],
  [
    'clients?select=id,projects!left(id)&projects.id=eq.3&order=id',
    [
      { id: 1, projects: [] },
      { id: 2, projects: [{ id: 3 }] },
      { id: 3, projects: [] },
    ],
  ],
  ['projects?select=id,tasks!inner()&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }]],
  [
    'projects?select=id,tasks!inner(users!inner(name))&tasks.users.name=eq.Bob&order=id',
    [
      { id: 1, tasks: [{ users: [{ name: 'Bob' }] }] },
      { id: 2, tasks: [{ users: [{ name: 'Bob' }] }] },
    ],
  ],
  [
    'clients?select=name,project_list!inner(title)&project_list.title=eq.WEB',
    [{ name: 'Acme', project_list: [{ title: 'WEB' }] }],
  ],
  [
    'clients?select=id,projects(id)&projects.order=id.desc&projects.limit=1&order=id',
    [
      { id: 1, projects: [{ id: 2 }] },
      { id: 2, projects: [{ id: 3 }] },
      { id: 3, projects: [] },
    ],
  ],
  [
    'clients?select=id,projects(id)&projects.order=id&projects.offset=1&id=eq.1',
    [{ id: 1, projects: [{ id: 2 }] }],
  ],
  ['clients?select=id,projects(id)&projects.limit=0&id=eq.1', [{ id: 1, projects: [] }]],
  [
    'clients?select=id,projects(id)&projects.or=(id.eq.1,budget.lt.60)&order=id',
    [
      { id: 1, projects: [{ id: 1 }] },
      { id: 2, projects: [{ id: 3 }] },
      { id: 3, projects: [] },
    ],
  ],
  [
    'clients?select=id,projects(id,tasks(id))&projects.tasks.id=eq.1&projects.tasks.order=id&id=eq.1',
    [
      {
        id: 1,
        projects: [
          { id: 1, tasks: [{ id: 1 }] },
          { id: 2, tasks: [] },
        ],
      },
    ],
  ],
  ['clients?select=id,p:projects(id)&p.id=eq.1&id=eq.1', [{ id: 1, p: [{ id: 1 }] }]],
  ['clients?select=id,p:projects(id)&projects.id=eq.1&id=eq.1', [{ id: 1, p: [{ id: 1 }] }]],
  [
    'clients?select=id,a:projects(id),b:projects(id)&a.id=eq.1&b.id=eq.2&id=eq.1',
    [{ id: 1, a: [{ id: 1 }], b: [{ id: 2 }] }],
  ],
  ['clients?select=id,projects()&projects=is.null', [{ id: 3 }]],
  ['clients?select=id,projects()&projects=not.is.null&order=id', [{ id: 1 }, { id: 2 }]],
  ['clients?select=id,projects(id)&projects=is.not_null&id=gt.1', [{ id: 2, projects: [{ id: 3 }] }]],
  ['clients?select=id,p:projects()&p.budget=gt.60&p=not.is.null', [{ id: 1 }]],
  ['projects?select=id,clients()&clients=is.null', [{ id: 4 }]],
  ['projects?select=id,clients()&clients=not.is.null&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }]],
  [
    'projects?select=id,clients(),tasks()&or=(clients.is.null,tasks.not.is.null)&tasks.done=is.true&order=id',
    [{ id: 1 }, { id: 3 }, { id: 4 }],
  ],
  [
    'projects?select=id,clients(name)&order=clients(name).desc.nullslast,id',
    [
      { id: 3, clients: { name: 'Bolt' } },
      { id: 1, clients: { name: 'Acme' } },
      { id: 2, clients: { name: 'Acme' } },
      { id: 4, clients: null },
    ],
  ],
  [
    'projects?select=id,clients(*)&order=clients(city),clients(name)&limit=2',
    [
      { id: 3, clients: { id: 2, name: 'Bolt', city: 'Oslo' } },
      { id: 1, clients: { id: 1, name: 'Acme', city: 'Rome' } },
    ],
  ],
  [
    'projects?select=id,clients()&order=clients(city).desc.nullslast,id',
    [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }],
  ],
  [
    'projects?select=id,...clients(name)&order=clients(city).nullsfirst,id',
    [
      { id: 4, name: null },
      { id: 3, name: 'Bolt' },
      { id: 1, name: 'Acme' },
      { id: 2, name: 'Acme' },
    ],
  ],
];

test.each(rows)('filters, orders and limits of embeds: %s', async (request, expected) => {
  expect(await shop.it.rows(request)).toEqual(expected);
});

const spreads: [request: string, rows: unknown][] = [
  [
    'projects?select=id,...clients(client:name,city)&id=gt.2&order=id',
    [
      { id: 3, client: 'Bolt', city: 'Oslo' },
      { id: 4, client: null, city: null },
    ],
  ],
  [
    'tasks?select=id,...projects(name,...clients(client:name))&id=eq.4',
    [{ id: 4, name: 'Data', client: 'Bolt' }],
  ],
  ['tasks?select=id,...users(*)&id=eq.2', [{ id: [1, 2], name: ['Ann', 'Bob'], boss_id: [null, 1] }]],
  [
    'clients?select=name,...projects(project:name,budget)&projects.order=budget.desc&id=in.(1,3)&order=id',
    [
      { name: 'Acme', project: ['App', 'Web'], budget: [200, 100.5] },
      { name: 'Core', project: [], budget: [] },
    ],
  ],
  [
    'clients?select=name,...projects(id,...tasks(hours))&order=id',
    [
      { name: 'Acme', id: [1, 2], hours: [[5, 8], [3]] },
      { name: 'Bolt', id: [3], hours: [[2]] },
      { name: 'Core', id: [], hours: [] },
    ],
  ],
  [
    'clients?select=name,...projects(...tasks(...users(name)))&id=eq.1',
    [{ name: [[['Ann'], ['Ann', 'Bob']], [['Bob']]] }],
  ],
  [
    'clients?select=name,...projects!inner(id)&order=id',
    [
      { name: 'Acme', id: [1, 2] },
      { name: 'Bolt', id: [3] },
    ],
  ],
  ['projects?select=id,...clients!inner(name)&clients.city=eq.Oslo', [{ id: 3, name: 'Bolt' }]],
  ['projects?select=id,clients(...projects(id))&id=eq.1', [{ id: 1, clients: { id: [1, 2] } }]],
  [
    'projects?select=id,...main_client(name)&id=gt.2&order=id',
    [
      { id: 3, name: 'Bolt' },
      { id: 4, name: null },
    ],
  ],
];

test.each(spreads)(
  'a spread embed gives its columns to the rows around it: %s',
  async (request, expected) => {
    expect(await shop.it.rows(request)).toEqual(expected);
  },
);

test.each([...rows, ...spreads])('the count is the number of rows of %s', async (request, expected) => {
  const [path = '', ...more] = request.split('&');
  const all = [path, ...more.filter((parameter) => !/^(limit|offset)=/.test(parameter))].join('&');
  const isCut = all !== request;
  const length = isCut ? ((await shop.it.rows(all)) as unknown[]).length : (expected as unknown[]).length;
  expect(await shop.it.count(request)).toBe(length);
});

test('the row limit of a response also limits each embed', async () => {
  const rows = await shop.it.rows('clients?select=projects(id)&projects.order=id&order=id', {
    maxRows: { usual: 1, named: [] },
  });
  expect(rows).toEqual([{ projects: [{ id: 1 }] }]);
});
