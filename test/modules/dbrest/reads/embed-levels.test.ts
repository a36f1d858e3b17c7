import { describe } from 'vitest';
import { fixtureGateway, givesRows, type RowsCase } from '../fixture/gateway.ts';

const gateway = fixtureGateway();
const named = (...names: string[]): object[] => names.map((name) => ({ name }));
const ids = (...of: number[]): object[] => of.map((id) => ({ id }));

const joins: readonly RowsCase[] = [
  [
    'clients?select=name,orders!inner(id)&order=id&orders.order=id',
    [
      { name: 'Acme', orders: ids(1, 2) },
      { name: 'Bolt', orders: ids(3) },
    ],
  ],
  ['clients?select=name,orders!inner()&orders.status=eq.paid', named('Bolt')],
  [
    'clients?select=name,orders!left(id)&orders.status=eq.paid&id=lt.3&order=id',
    [
      { name: 'Acme', orders: [] },
      { name: 'Bolt', orders: ids(3) },
    ],
  ],
  ['orders?select=id,clients!inner(name)&clients.city=eq.Oslo', [{ id: 3, clients: { name: 'Bolt' } }]],
  [
    'clients?select=name,orders!inner(order_items!inner(products!inner(name)))&orders.order_items.products.name=eq.Saw',
    [{ name: 'Acme', orders: [{ order_items: [{ products: { name: 'Saw' } }] }] }],
  ],
  ['clients?select=name,orders()&orders=is.null&order=id', named('Core', 'Žluťoučký 馬')],
  ['clients?select=name,orders()&orders=not.is.null&order=id', named('Acme', 'Bolt')],
  [
    'clients?select=name,orders()&or=(orders.not.is.null,name.eq.Core)&order=id',
    named('Acme', 'Bolt', 'Core'),
  ],
  ['orders?select=id,c:clients()&c=is.null', ids(4)],
  ['orders?select=id,c:clients()&c=not.is.null&id=gt.2', ids(3)],
  [
    'clients?select=name,orders()&orders=is.null&orders.status=eq.new&order=id',
    named('Bolt', 'Core', 'Žluťoučký 馬'),
  ],
];
describe('inner joins and null tests', () => {
  givesRows(gateway, joins);
});

const levels: readonly RowsCase[] = [
  [
    'orders?select=id,clients(town:city)&order=clients(town).desc,id&id=lt.4',
    [
      { id: 1, clients: { town: 'Rome' } },
      { id: 2, clients: { town: 'Rome' } },
      { id: 3, clients: { town: 'Oslo' } },
    ],
  ],
  [
    'orders?select=id,clients(town:city,orders(id))&order=clients(town),id.desc&id=in.(1,3)&clients.orders.id=lt.4&clients.orders.order=id',
    [
      { id: 3, clients: { town: 'Oslo', orders: ids(3) } },
      { id: 1, clients: { town: 'Rome', orders: ids(1, 2) } },
    ],
  ],
  ['clients?select=name,orders(id)&orders.id=gt.1&id=eq.1', [{ name: 'Acme', orders: ids(2) }]],
  [
    'clients?select=name,orders(id)&orders.order=id.desc&orders.limit=1&id=eq.1',
    [{ name: 'Acme', orders: ids(2) }],
  ],
  [
    'clients?select=name,orders(id)&orders.order=id&orders.offset=1&id=eq.1',
    [{ name: 'Acme', orders: ids(2) }],
  ],
  [
    'clients?select=name,orders(id)&orders.or=(id.eq.1,status.eq.sent)&orders.order=id&id=eq.1',
    [{ name: 'Acme', orders: ids(1, 2) }],
  ],
  [
    'clients?select=name,orders(id)&orders.not.and=(id.eq.1,status.eq.new)&id=eq.1',
    [{ name: 'Acme', orders: ids(2) }],
  ],
  ['clients?select=name,o:orders(id)&o.id=eq.1&id=eq.1', [{ name: 'Acme', o: ids(1) }]],
  [
    'clients?select=orders(id,order_items(line))&orders.order_items.order=line.desc&orders.order_items.limit=1&orders.id=eq.1&id=eq.1',
    [{ orders: [{ id: 1, order_items: [{ line: 2 }] }] }],
  ],
  [
    'orders?select=id,clients(name,notes->tags)&clients.notes->>vip=eq.true&id=eq.1',
    [{ id: 1, clients: { name: 'Acme', tags: ['old', 'big'] } }],
  ],
  ['clients?select=x:orders(id),y:orders(id)&x.id=eq.1&y.id=eq.2&id=eq.1', [{ x: ids(1), y: ids(2) }]],
];
describe('filters, orders and limits of an embed', () => {
  givesRows(gateway, levels);
});

const spreads: readonly RowsCase[] = [
  [
    'orders?select=id,...clients(client:name,city)&id=in.(1,4)&order=id',
    [
      { id: 1, client: 'Acme', city: 'Rome' },
      { id: 4, client: null, city: null },
    ],
  ],
  [
    'order_items?select=line,...orders(status,...clients(name))&order_id=eq.3&line=eq.1',
    [{ line: 1, status: 'paid', name: 'Bolt' }],
  ],
  [
    'clients?select=name,...orders(order:id,status)&orders.order=id&id=lt.4&order=id',
    [
      { name: 'Acme', order: [1, 2], status: ['new', 'sent'] },
      { name: 'Bolt', order: [3], status: ['paid'] },
      { name: 'Core', order: [], status: [] },
    ],
  ],
  [
    'employees?select=name,...skills(skill:name)&skills.order=id&id=eq.1',
    [{ name: 'Ann', skill: ['sql', 'tea'] }],
  ],
  ['orders?select=id,...clients!inner(name)&clients.name=eq.Bolt', [{ id: 3, name: 'Bolt' }]],
  ['orders?select=...clients(id,orders(id))&id=eq.2', [{ id: 1, orders: ids(1, 2) }]],
  [
    'orders?select=id,...clients(name)&order=clients(name).desc.nullslast,id.desc',
    [
      { id: 3, name: 'Bolt' },
      { id: 2, name: 'Acme' },
      { id: 1, name: 'Acme' },
      { id: 4, name: null },
    ],
  ],
];
describe('spreads', () => {
  givesRows(gateway, spreads);
});
