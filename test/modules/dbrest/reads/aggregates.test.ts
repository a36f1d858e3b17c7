import { describe } from 'vitest';
import { type FaultCase, fixtureGateway, givesFaults, givesRows, type RowsCase } from '../fixture/gateway.ts';

const gateway = fixtureGateway({
  more: 'location /plain/ { dbrest_pass $dsn; dbrest_aggregates off; }',
});

const rows: readonly RowsCase[] = [
  ['clients?select=count()', [{ count: 4 }]],
  ['clients?select=n:count()::text&city=eq.Oslo', [{ n: '2' }]],
  [
    'employees?select=salary.sum(),salary.avg(),salary.min(),salary.max(),salary.count()',
    [{ sum: 15500.5, avg: 3875.125, min: 3000.5, max: 5000, count: 4 }],
  ],
  [
    'employees?select=total:salary.sum()::int,avg:salary::int.avg()::numeric(8,1)',
    [{ total: 15501, avg: 3875.3 }],
  ],
  [
    'clients?select=city,count()&order=city.nullslast',
    [
      { city: 'Oslo', count: 2 },
      { city: 'Rome', count: 1 },
      { city: null, count: 1 },
    ],
  ],
  [
    'employees?select=dept:department_id,salary.max()&order=department_id.nullslast',
    [
      { dept: 1, max: 5000 },
      { dept: 2, max: 4000 },
      { dept: null, max: null },
    ],
  ],
  [
    'clients?select=vip:notes->>vip,id.count()&order=notes->>vip.nullslast',
    [
      { vip: 'false', count: 1 },
      { vip: 'true', count: 1 },
      { vip: null, count: 2 },
    ],
  ],
  ['products?select=attributes->weight::float8.sum()', [{ sum: 2.2 }]],
  [
    'settings_log?select=old::jsonb,count()&id=lt.3&limit=1&old->>0=eq.1',
    [{ old: [1, 'two', null], count: 1 }],
  ],
  [
    'clients?select=initials,count()&order=initials&limit=2',
    [
      { initials: 'A', count: 1 },
      { initials: 'B', count: 1 },
    ],
  ],
  [
    'numbers?select=part,count()&part=lt.2&order=part',
    [
      { part: 0, count: 714 },
      { part: 1, count: 715 },
    ],
  ],
  ['clients?select=count()&id=gt.99', [{ count: 0 }]],
  ['clients?select=city,count()&id=gt.99', []],
];
const bare: readonly RowsCase[] = [
  ['clients?select=count', [{ count: 4 }]],
  ['clients?select=n:count::text&city=eq.Oslo', [{ n: '2' }]],
  [
    'clients?select=name,orders(count)&order=id&limit=2',
    [
      { name: 'Acme', orders: [{ count: 2 }] },
      { name: 'Bolt', orders: [{ count: 1 }] },
    ],
  ],
  ['/plain/clients?select=orders(n:count)&orders.id=gt.1&id=eq.1', [{ orders: [{ n: 1 }] }]],
  ['/plain/skills?select=name,employees(count)&id=eq.1', [{ name: 'sql', employees: [{ count: 2 }] }]],
];
describe('count as a column', () => {
  givesRows(gateway, bare);
});

describe('aggregates of rows', () => {
  givesRows(gateway, rows);
});

const embedded: readonly RowsCase[] = [
  [
    'orders?select=...clients(town:city,n:count())&order=clients(town).desc&id=lt.4',
    [
      { town: 'Rome', n: 2 },
      { town: 'Oslo', n: 1 },
    ],
  ],
  [
    'orders?select=id,...clients(town:city)&order=clients(town),id&id=lt.4',
    [
      { id: 3, town: 'Oslo' },
      { id: 1, town: 'Rome' },
      { id: 2, town: 'Rome' },
    ],
  ],
  [
    'clients?select=name,orders(count())&order=id&id=lt.4',
    [
      { name: 'Acme', orders: [{ count: 2 }] },
      { name: 'Bolt', orders: [{ count: 1 }] },
      { name: 'Core', orders: [{ count: 0 }] },
    ],
  ],
  [
    'clients?select=name,orders(status,count())&id=eq.1&orders.order=status',
    [
      {
        name: 'Acme',
        orders: [
          { status: 'new', count: 1 },
          { status: 'sent', count: 1 },
        ],
      },
    ],
  ],
  [
    'orders?select=id,order_items(quantity.sum())&order=id',
    [
      { id: 1, order_items: [{ sum: 3 }] },
      { id: 2, order_items: [{ sum: 1 }] },
      { id: 3, order_items: [{ sum: 13 }] },
      { id: 4, order_items: [{ sum: null }] },
    ],
  ],
  [
    'orders?select=count(),clients(name)&order=clients(name).nullslast',
    [
      { count: 2, clients: { name: 'Acme' } },
      { count: 1, clients: { name: 'Bolt' } },
      { count: 1, clients: null },
    ],
  ],
  [
    'orders?select=count(),...clients(city)&order=clients(city).nullslast',
    [
      { count: 1, city: 'Oslo' },
      { count: 2, city: 'Rome' },
      { count: 1, city: null },
    ],
  ],
  [
    'order_items?select=quantity.sum(),...products(...suppliers(name))',
    [
      { sum: 3, name: null },
      { sum: 13, name: 'Steel Co' },
      { sum: 1, name: 'Wood Co' },
    ],
  ],
  [
    'orders?select=status,...invoices(total->amount::numeric.sum())&order=status',
    [
      { status: 'new', sum: 40.5 },
      { status: 'paid', sum: 106 },
      { status: 'sent', sum: null },
    ],
  ],
  [
    'order_items?select=order_id,...products(price.max(),spend:price.sum())&order=order_id',
    [
      { order_id: 1, max: 20.5, spend: 30.5 },
      { order_id: 2, max: 100, spend: 100 },
      { order_id: 3, max: 10, spend: 12 },
    ],
  ],
  [
    'desk_uses?select=id.count(),...desks(offices(city))&desk_number=not.is.null',
    [
      { count: 1, offices: { city: 'Oslo' } },
      { count: 2, offices: { city: 'Rome' } },
    ],
  ],
];
describe('aggregates in embeds and spreads', () => {
  givesRows(gateway, embedded);
});

const notGrouped = (column: string): object => ({
  message: `column "${column}" must appear in the GROUP BY clause or be used in an aggregate function`,
});
const faults: readonly FaultCase[] = [
  ['/plain/clients?select=city,count', 400, 'PGRST123'],
  [
    '/plain/clients?select=count()',
    400,
    'PGRST123',
    { message: 'Use of aggregate functions is not allowed' },
  ],
  ['/plain/clients?select=name,orders(id.sum())', 400, 'PGRST123'],
  [
    'clients?select=name,...orders(id.sum())',
    400,
    'PGRST127',
    {
      message: 'Feature not implemented',
      details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
    },
  ],
  ['clients?select=name.median()', 400, 'PGRST100'],
  ['clients?select=name.sum()', 404, '42883'],
  [
    'settings_log?select=old,count()',
    404,
    '42883',
    { hint: 'Rows are grouped by every column beside an aggregate: cast it, for example to jsonb or text.' },
  ],
  ['clients?select=city,count()&order=name', 400, '42803', notGrouped('clients.name')],
  ['clients?select=id::text,count()&order=id', 400, '42803', notGrouped('clients.id')],
  ['products?select=name,count()&order=label', 400, '42803', notGrouped('products.*')],
  ['client_list?select=client_no,count()&order=city', 400, '42803', notGrouped('client_list.city')],
  ['clients?select=id,o:orders(status,count())&o.order=id', 400, '42803', notGrouped('orders.id')],
  ['rpc/all_employees?select=id,count()&order=name', 400, '42803', notGrouped('employees.name')],
  ['orders?select=count(),clients()&order=clients(name)', 400, '42803', notGrouped('clients.name')],
  ['orders?select=count(),...clients(n:id.max())&order=clients(id)', 400, '42803', notGrouped('clients.id')],
  ['orders?select=n:client_id,count()&order=n', 400, '42703', { message: 'column orders.n does not exist' }],
];
const orders: readonly RowsCase[] = [
  [
    'clients?select=id,count()&order=name.desc&id=lt.3',
    [
      { id: 2, count: 1 },
      { id: 1, count: 1 },
    ],
  ],
  ['products?select=id,count()&order=label.desc&limit=1', [{ id: 3, count: 1 }]],
  [
    'orders?select=count(),clients(name)&order=clients(name)&client_id=lt.3',
    [
      { count: 2, clients: { name: 'Acme' } },
      { count: 1, clients: { name: 'Bolt' } },
    ],
  ],
  [
    'orders?select=count(),...clients(name)&order=clients(name).desc&client_id=lt.3',
    [
      { count: 1, name: 'Bolt' },
      { count: 2, name: 'Acme' },
    ],
  ],
];
describe('grouped rows in order', () => {
  givesRows(gateway, orders);
});

describe('aggregates that are refused', () => {
  givesFaults(gateway, faults);
});
