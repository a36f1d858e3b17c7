import { describe } from 'vitest';
import type { FaultCase, RowsCase } from '../fixture/gateway.ts';
import { fixtureGateway, givesFaults, givesRows } from '../fixture/gateway.ts';

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
describe('kinds of relationships', () => givesRows(gateway, kinds));

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
describe('self references', () => givesRows(gateway, selves));

const hints: readonly RowsCase[] = [
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
describe('hints', () => givesRows(gateway, hints));

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
describe('inner joins and null tests', () => givesRows(gateway, joins));

const levels: readonly RowsCase[] = [
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
describe('filters, orders and limits of an embed', () => givesRows(gateway, levels));

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
describe('spreads', () => givesRows(gateway, spreads));

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
describe('views', () => givesRows(gateway, views));

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
describe('computed relationships', () => givesRows(gateway, computed));

const faults: readonly FaultCase[] = [
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
describe('what cannot be embedded', () => givesFaults(gateway, faults));
