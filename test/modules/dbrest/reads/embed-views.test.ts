import { describe } from 'vitest';
import { type FaultCase, fixtureGateway, givesFaults, givesRows, type RowsCase } from '../fixture/gateway.ts';

const gateway = fixtureGateway();
const named = (...names: string[]): object[] => names.map((name) => ({ name }));
const ids = (...of: number[]): object[] => of.map((id) => ({ id }));

const views: readonly RowsCase[] = [
  ['client_list?select=title,orders(id)&client_no=eq.2', [{ title: 'BOLT', orders: ids(3) }]],
  ['orders?select=id,client_list(title)&id=eq.3', [{ id: 3, client_list: { title: 'BOLT' } }]],
  ['busy_clients?select=title,orders(id)&id=eq.2', [{ title: 'BOLT', orders: ids(3) }]],
  [
    'order_overview?select=order_id,order_items(line)&order_id=eq.2',
    [{ order_id: 2, order_items: [{ line: 1 }] }],
  ],
  [
    'order_overview?select=order_id,clients!client_id(name)&order_id=eq.1',
    [{ order_id: 1, clients: { name: 'Acme' } }],
  ],
  [
    'paid_orders?select=id,clients(name),order_items(line)',
    [{ id: 3, clients: { name: 'Bolt' }, order_items: [{ line: 1 }, { line: 2 }] }],
  ],
  [
    'product_stats?select=name,sold,suppliers(name),product_categories(category_id)&id=eq.2',
    [{ name: 'Saw', sold: 1, suppliers: { name: 'Steel Co' }, product_categories: [{ category_id: 3 }] }],
  ],
  ['suppliers?select=name,product_stats(sold)&id=eq.2', [{ name: 'Wood Co', product_stats: [{ sold: 1 }] }]],
  [
    'department_sizes?select=people,departments(name)&department_id=eq.1',
    [{ people: 2, departments: { name: 'Sales' } }],
  ],
  ['twice?select=id,clients!client_id(name)&id=eq.1', [{ id: 1, clients: { name: 'Acme' } }]],
  ['client_list?select=client_no,label&client_no=eq.1', [{ client_no: 1, label: '#1' }]],
];
describe('views', () => {
  givesRows(gateway, views);
});

const computed: readonly RowsCase[] = [
  [
    'orders?select=id,main_address(street)&id=in.(1,4)&order=id',
    [
      { id: 1, main_address: { street: 'B Street' } },
      { id: 4, main_address: null },
    ],
  ],
  [
    'clients?select=name,all_items(order_id,line,products(name))&id=eq.2&all_items.line=eq.1',
    [{ name: 'Bolt', all_items: [{ order_id: 3, line: 1, products: { name: 'Hammer' } }] }],
  ],
  ['clients?select=name,all_items!inner()&order=id', named('Acme', 'Bolt')],
  ['orders?select=id,main_address()&order=main_address(street).nullslast,id&limit=2', ids(2, 1)],
  ['orders?select=id,...main_address(street)&id=eq.1', [{ id: 1, street: 'B Street' }]],
];
describe('computed relationships', () => {
  givesRows(gateway, computed);
});

const faults: readonly FaultCase[] = [
  ['measurements_2023', 404, 'PGRST205'],
  [
    'sensors?select=id,measurements_2023(id)',
    400,
    'PGRST200',
    { hint: "Perhaps you meant 'measurements' instead of 'measurements_2023'." },
  ],
  [
    'orders?select=id,addresses(street)',
    300,
    'PGRST201',
    {
      message: "Could not embed because more than one relationship was found for 'orders' and 'addresses'",
      hint: "Try changing 'addresses' to one of the following: 'addresses!billing', 'addresses!shipping'. Find the desired relationship in the 'details' key.",
      details: [
        {
          cardinality: 'many-to-one',
          embedding: 'orders with addresses',
          relationship: 'billing using orders(billing_id) and addresses(id)',
        },
        {
          cardinality: 'many-to-one',
          embedding: 'orders with addresses',
          relationship: 'shipping using orders(shipping_id) and addresses(id)',
        },
      ],
    },
  ],
  [
    'products?select=name,categories(name)',
    300,
    'PGRST201',
    {
      hint: "Try changing 'categories' to one of the following: 'categories!favourites', 'categories!product_categories'. Find the desired relationship in the 'details' key.",
    },
  ],
  ['departments?select=name,employees(name)', 300, 'PGRST201'],
  [
    'orders?select=id,products(name)',
    400,
    'PGRST200',
    {
      message: "Could not find a relationship between 'orders' and 'products' in the schema cache",
      details:
        "Searched for a foreign key relationship between 'orders' and 'products' in the schema 'public', but no matches were found.",
      hint: null,
    },
  ],
  [
    'orders?select=id,client(name)',
    400,
    'PGRST200',
    { hint: "Perhaps you meant 'clients' instead of 'client'." },
  ],
  [
    'orders?select=id,clients!nope(name)',
    400,
    'PGRST200',
    {
      details:
        "Searched for a foreign key relationship between 'orders' and 'clients' using the hint 'nope' in the schema 'public', but no matches were found.",
    },
  ],
  [
    'clients?select=id&orders.id=eq.1',
    400,
    'PGRST108',
    {
      message: "'orders' is not an embedded resource in this request",
      hint: "Verify that 'orders' is included in the 'select' query parameter.",
    },
  ],
  [
    'clients?select=id,orders(id)&order=orders(id)',
    400,
    'PGRST118',
    {
      message: "A related order on 'orders' is not possible",
      details: "'clients' and 'orders' do not form a many-to-one or one-to-one relationship",
    },
  ],
  [
    'clients?select=id,orders(id)&orders=eq.1',
    400,
    'PGRST120',
    {
      message: "Bad operator on the 'orders' embedded resource",
      details: 'Only is null or not is null filters are allowed on embedded resources',
    },
  ],
  ['clients?select=id,orders(nope)', 400, '42703', { message: 'column orders.nope does not exist' }],
  ['clients?select=id,orders(id)&orders.nope=eq.1', 400, '42703'],
];
describe('embeds that are refused', () => {
  givesFaults(gateway, faults);
});
