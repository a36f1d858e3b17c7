import { describe } from 'vitest';
import { fixtureGateway, givesRows, type RowsCase } from '../fixture/gateway.ts';

const gateway = fixtureGateway();
const named = (...names: string[]): object[] => names.map((name) => ({ name }));
const ids = (...of: number[]): object[] => of.map((id) => ({ id }));

const kinds: readonly RowsCase[] = [
  [
    'orders?select=id,clients(name)&id=in.(1,4)&order=id',
    [
      { id: 1, clients: { name: 'Acme' } },
      { id: 4, clients: null },
    ],
  ],
  [
    'clients?select=name,orders(id)&id=lt.4&order=id&orders.order=id',
    [
      { name: 'Acme', orders: ids(1, 2) },
      { name: 'Bolt', orders: ids(3) },
      { name: 'Core', orders: [] },
    ],
  ],
  [
    'employees?select=name,profiles(nickname)&id=in.(1,3)&order=id',
    [
      { name: 'Ann', profiles: { nickname: 'Boss' } },
      { name: 'Cid', profiles: null },
    ],
  ],
  [
    'profiles?select=nickname,employees(name)&employee_id=eq.1',
    [{ nickname: 'Boss', employees: { name: 'Ann' } }],
  ],
  [
    'orders?select=id,invoices(paid)&id=in.(1,2)&order=id',
    [
      { id: 1, invoices: { paid: true } },
      { id: 2, invoices: null },
    ],
  ],
  [
    'employees?select=name,skills(name)&id=lt.3&order=id&skills.order=id',
    [
      { name: 'Ann', skills: named('sql', 'tea') },
      { name: 'Bob', skills: named('sql') },
    ],
  ],
  [
    'skills?select=name,employees(name)&id=eq.1&employees.order=id',
    [{ name: 'sql', employees: named('Ann', 'Bob') }],
  ],
  [
    'employees?select=name,employee_skills(level,skills(name))&id=eq.2',
    [{ name: 'Bob', employee_skills: [{ level: 1, skills: { name: 'sql' } }] }],
  ],
  [
    'desk_uses?select=id,desks(sunny,offices(city))&id=in.(1,4)&order=id',
    [
      { id: 1, desks: { sunny: true, offices: { city: 'Rome' } } },
      { id: 4, desks: null },
    ],
  ],
  [
    'desks?select=number,desk_uses(employees(name))&office_id=eq.1&order=number',
    [
      { number: 1, desk_uses: [{ employees: { name: 'Ann' } }] },
      { number: 2, desk_uses: [{ employees: { name: 'Bob' } }] },
    ],
  ],
  [
    'measurements?select=value,sensors(name)&order=value&limit=1',
    [{ value: 20.5, sensors: { name: 'attic' } }],
  ],
  [
    'sensors?select=name,measurements(value)&measurements.order=value&order=id',
    [
      { name: 'attic', measurements: [{ value: 20.5 }, { value: 25 }] },
      { name: 'cellar', measurements: [{ value: 21 }] },
    ],
  ],
  [
    'clients?select=name,orders(id,order_items(line,products(name,suppliers(name))))&id=eq.2',
    [
      {
        name: 'Bolt',
        orders: [
          {
            id: 3,
            order_items: [
              { line: 1, products: { name: 'Hammer', suppliers: { name: 'Steel Co' } } },
              { line: 2, products: { name: '100% "Glue", (new)', suppliers: null } },
            ],
          },
        ],
      },
    ],
  ],
];
describe('kinds of relationships', () => {
  givesRows(gateway, kinds);
});

const selves: readonly RowsCase[] = [
  [
    'employees?select=name,reports_to(name)&id=lt.3&order=id',
    [
      { name: 'Ann', reports_to: null },
      { name: 'Bob', reports_to: { name: 'Ann' } },
    ],
  ],
  ['employees?select=name,chief:boss_id(name)&id=eq.2', [{ name: 'Bob', chief: { name: 'Ann' } }]],
  ['employees?select=name,chief:employees!boss_id(name)&id=eq.2', [{ name: 'Bob', chief: [] }]],
  [
    'employees?select=name,reports:employees!reports_to(name)&id=eq.1&reports.order=id',
    [{ name: 'Ann', reports: named('Bob', 'Cid') }],
  ],
  [
    'employees?select=name,boss(name,boss(name))&id=eq.4',
    [{ name: 'Dee', boss: { name: 'Cid', boss: { name: 'Ann' } } }],
  ],
  [
    'categories?select=name,parent_id(name,parent_id(name))&id=eq.3',
    [{ name: 'Hand tools', parent_id: { name: 'Tools', parent_id: { name: 'All' } } }],
  ],
  [
    'categories?select=name,children(name)&id=eq.1&children.order=id',
    [{ name: 'All', children: named('Tools', 'Furniture') }],
  ],
  [
    'employees?select=name,pupils:mentorships!mentor(since,pupil(name))&id=eq.3',
    [{ name: 'Cid', pupils: [{ since: '2022-02-01', pupil: { name: 'Dee' } }] }],
  ],
];
describe('self references', () => {
  givesRows(gateway, selves);
});

const hints: readonly RowsCase[] = [
  ['employees?select=name,id(nickname)&id=eq.1', [{ name: 'Ann', id: { nickname: 'Boss' } }]],
  ['employees?select=name,profiles!id(nickname)&id=eq.1', [{ name: 'Ann', profiles: { nickname: 'Boss' } }]],
  [
    'orders?select=id,invoices_order_id_fkey(paid)&id=eq.1',
    [{ id: 1, invoices_order_id_fkey: { paid: true } }],
  ],
  ['orders?select=id,addresses!billing(street)&id=eq.1', [{ id: 1, addresses: { street: 'A Street' } }]],
  ['orders?select=id,addresses!shipping_id(street)&id=eq.1', [{ id: 1, addresses: { street: 'B Street' } }]],
  [
    'orders?select=id,billing(street),shipping(street)&id=eq.1',
    [{ id: 1, billing: { street: 'A Street' }, shipping: { street: 'B Street' } }],
  ],
  [
    'orders?select=id,from:billing_id(street),to:shipping_id(street)&id=eq.1',
    [{ id: 1, from: { street: 'A Street' }, to: { street: 'B Street' } }],
  ],
  [
    'addresses?select=street,orders!billing(id)&id=eq.1&orders.order=id',
    [{ street: 'A Street', orders: ids(1, 2) }],
  ],
  ['addresses?select=street,orders!shipping_id(id)&id=eq.1', [{ street: 'A Street', orders: ids(2) }]],
  [
    'products?select=name,categories!product_categories(name)&id=eq.1&categories.order=id',
    [{ name: 'Hammer', categories: named('Tools', 'Hand tools') }],
  ],
  [
    'products?select=name,categories!favourites(name)&id=eq.3',
    [{ name: 'Table', categories: named('Furniture') }],
  ],
  [
    'departments?select=name,employees!works_in(name)&id=eq.2&employees.order=id',
    [{ name: 'Research', employees: named('Cid', 'Dee') }],
  ],
  [
    'departments?select=name,employees!heads(name)&id=eq.2',
    [{ name: 'Research', employees: { name: 'Cid' } }],
  ],
  [
    'employees?select=name,departments!heads!inner(name)&order=id',
    [
      { name: 'Ann', departments: { name: 'Sales' } },
      { name: 'Cid', departments: { name: 'Research' } },
    ],
  ],
];
describe('hints', () => {
  givesRows(gateway, hints);
});
