import { expect, test } from 'vitest';
import { faultOf, pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const notFound = (parent: string, child: string, hint = ''): object => ({
  status: 400,
  code: 'PGRST200',
  message: `Could not find a relationship between '${parent}' and '${child}' in the schema cache`,
  details: `Searched for a foreign key relationship between '${parent}' and '${child}'${hint} in the schema 'public', but no matches were found.`,
});
const meant = (instead: string, of: string): string => `Perhaps you meant '${instead}' instead of '${of}'.`;
const notEmbedded = (name: string): object => ({
  status: 400,
  code: 'PGRST108',
  message: `'${name}' is not an embedded resource in this request`,
  details: null,
  hint: `Verify that '${name}' is included in the 'select' query parameter.`,
});

const faults: [request: string, fault: object][] = [
  ['projects?select=client(id)', { ...notFound('projects', 'client'), hint: meant('clients', 'client') }],
  ['projects?select=taskz(id)', { ...notFound('projects', 'taskz'), hint: meant('tasks', 'taskz') }],
  ['projects?select=xyzzy(id)', { ...notFound('projects', 'xyzzy'), hint: null }],
  [
    'projects?select=clients!nope(id)',
    { ...notFound('projects', 'clients', " using the hint 'nope'"), hint: null },
  ],
  ['clients?select=projects(addresses(id))', { ...notFound('projects', 'addresses'), hint: null }],
  [
    'order_list?select=addresses(id)',
    { ...notFound('order_list', 'addresses'), hint: meant('open_list', 'order_list') },
  ],
  [
    'clients?select=secret_project(id)',
    { ...notFound('clients', 'secret_project'), hint: meant('projects', 'secret_project') },
  ],
  [
    'projects?select=hidden_tasks(id)',
    { ...notFound('projects', 'hidden_tasks'), hint: meant('open_tasks', 'hidden_tasks') },
  ],
  ['clients?select=id(*)', { ...notFound('clients', 'id'), hint: null }],
  ['projects?clients.id=eq.1', notEmbedded('clients')],
  ['projects?clients.order=id', notEmbedded('clients')],
  ['projects?clients.limit=1', notEmbedded('clients')],
  ['projects?clients.or=(id.eq.1)', notEmbedded('clients')],
  ['projects?select=clients(id)&clients.tasks.id=eq.1', notEmbedded('tasks')],
  ['projects?select=id&order=clients(name)', notEmbedded('clients')],
  [
    'clients?select=p:projects(id)&order=p(name)',
    {
      status: 400,
      code: 'PGRST118',
      message: "A related order on 'p' is not possible",
      details: "'clients' and 'p' do not form a many-to-one or one-to-one relationship",
      hint: 'Order by an aggregate of its rows, for example "p(count)" or "p(amount.sum())".',
    },
  ],
  [
    'clients?select=id,projects(id)&or=(id.eq.1,projects.eq.1)',
    {
      status: 400,
      code: 'PGRST120',
      message: "Bad operator on the 'projects' embedded resource",
      details: 'Only is null or not is null filters are allowed on embedded resources',
      hint: null,
    },
  ],
  [
    'clients?select=name,...projects(budget.sum())',
    {
      status: 400,
      code: 'PGRST127',
      message: 'Feature not implemented',
      details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
      hint: null,
    },
  ],
  [
    'users?select=...tasks(...projects(count()))',
    {
      status: 400,
      code: 'PGRST127',
      details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
    },
  ],
  [
    'orders?select=addresses(id)',
    {
      status: 300,
      code: 'PGRST201',
      message: "Could not embed because more than one relationship was found for 'orders' and 'addresses'",
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
      hint: "Try changing 'addresses' to one of the following: 'addresses!billing', 'addresses!shipping'. Find the desired relationship in the 'details' key.",
    },
  ],
  [
    'users?select=users!follows(id)',
    {
      status: 300,
      code: 'PGRST201',
      details: [
        {
          cardinality: 'many-to-many',
          embedding: 'users with users',
          relationship:
            'follows using follows_followed_id_fkey(followed_id) and follows_follower_id_fkey(follower_id)',
        },
        {
          cardinality: 'many-to-many',
          embedding: 'users with users',
          relationship:
            'follows using follows_follower_id_fkey(follower_id) and follows_followed_id_fkey(followed_id)',
        },
      ],
      hint: "Try changing 'users' to one of the following: 'users!follows_follower_id_fkey', 'users!follows_followed_id_fkey'. Find the desired relationship in the 'details' key.",
    },
  ],
  ['projects?select=clients(nope)', { code: '42703', message: 'column clients.nope does not exist' }],
  [
    'projects?select=clients(*)&clients.nope=eq.1',
    { code: '42703', message: 'column clients.nope does not exist' },
  ],
  [
    'projects?select=clients(*)&order=clients(nope)',
    { code: '42703', message: 'column clients.nope does not exist' },
  ],
  ['projects?select=secret_label', { code: '42703', message: 'column projects.secret_label does not exist' }],
  ['projects?select=reports(*)', { code: 'PGRST200' }],
];

test.each(faults)('a fault of %s', async (request, expected) => {
  expect(await faultOf(() => shop.it.rows(request))).toMatchObject(expected);
});

test('aggregates can be switched off at every level', async () => {
  for (const select of ['count()', 'projects(budget.sum())', 'projects(...clients(count()))']) {
    expect(
      await faultOf(() => shop.it.rows(`clients?select=${select}`, { aggregates: false })),
    ).toMatchObject({
      status: 400,
      code: 'PGRST123',
      message: 'Use of aggregate functions is not allowed',
    });
  }
});

test('the body of an ambiguous embed lists the choices as objects with sorted keys', async () => {
  const fault = await faultOf(() => shop.it.rows('orders?select=addresses(id)'));
  expect(fault.reason).toBe('Multiple Choices');
  expect(fault.body('verbose')).toMatch(
    /^\{"code":"PGRST201","details":\[\{"cardinality":"many-to-one","embedding":.*"relationship":/,
  );
});
