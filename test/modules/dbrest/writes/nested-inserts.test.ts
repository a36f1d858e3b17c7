import { expect, test } from 'vitest';
import { sign } from '../../../harness/tokens.ts';
import { type FixtureGateway, fixtureGateway } from '../fixture/gateway.ts';
import { ROWS, testWrites, type WriteCase } from './cases.ts';

const ON = 'dbrest_pass $dsn; dbrest_anon_role web_user; dbrest_nested_insert on;';
const gateway: FixtureGateway = fixtureGateway({
  http: 'proxy_cache_path cache keys_zone=rows:1m; add_header X-Cache $upstream_cache_status;',
  more: `
    location /try/ { ${ON} dbrest_tx_end rollback; }
    location /keep/ { ${ON} dbrest_batch on; }
    location /cached/ { dbrest_pass $dsn; dbrest_cache rows; dbrest_cache_valid 1m; dbrest_cache_listen off; }
    location /off/ { dbrest_pass $dsn; dbrest_anon_role web_user; }`,
});
const READER = { authorization: `Bearer ${sign({ role: 'anon' })}` };

const nested: readonly WriteCase[] = [
  {
    it: 'are inserted with the row that they refer to',
    call: 'POST orders?select=id,status,order_items(line,product_id,quantity)',
    body: {
      id: 50,
      status: 'sent',
      order_items: [
        { line: 1, product_id: 2 },
        { line: 2, product_id: 3 },
      ],
    },
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        {
          id: 50,
          status: 'sent',
          order_items: [
            { line: 1, product_id: 2, quantity: 1 },
            { line: 2, product_id: 3, quantity: 1 },
          ],
        },
      ],
    },
  },
  {
    it: 'get the key that the database makes',
    call: 'POST clients?select=name,carts(name,quantity)',
    body: { name: 'New', carts: [{ name: 'main', quantity: 4 }] },
    prefer: ROWS,
    expected: { status: 201, json: [{ name: 'New', carts: [{ name: 'main', quantity: 4 }] }] },
  },
  {
    it: 'come before the rows that refer to them',
    call: 'POST products?select=name,suppliers(id,name)',
    body: { id: 50, name: 'Vice', price: 9, suppliers: { id: 60, name: 'Iron Co' } },
    prefer: ROWS,
    expected: { status: 201, json: [{ name: 'Vice', suppliers: { id: 60, name: 'Iron Co' } }] },
  },
  {
    it: 'belong to the rows that they are in',
    call: 'POST clients?select=name,carts(name,quantity)',
    body: [
      {
        name: 'One',
        carts: [
          { name: 'a', quantity: 1 },
          { name: 'b', quantity: 2 },
        ],
      },
      { name: 'Two', carts: [] },
      { name: 'Three', carts: null },
      { name: 'Four', carts: [{ name: 'c', quantity: 3 }] },
    ],
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        {
          name: 'One',
          carts: [
            { name: 'a', quantity: 1 },
            { name: 'b', quantity: 2 },
          ],
        },
        { name: 'Two', carts: [] },
        { name: 'Three', carts: [] },
        { name: 'Four', carts: [{ name: 'c', quantity: 3 }] },
      ],
    },
  },
  {
    it: 'may be missing in some rows that refer to them',
    call: 'POST products?select=name,suppliers(name)',
    body: [
      { id: 51, name: 'A', price: 1, suppliers: null },
      { id: 52, name: 'B', price: 1, suppliers: { id: 61, name: 'S1' } },
      { id: 53, name: 'C', price: 1, suppliers: null },
      { id: 54, name: 'D', price: 1, suppliers: { id: 62, name: 'S2' } },
    ],
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        { name: 'A', suppliers: null },
        { name: 'B', suppliers: { name: 'S1' } },
        { name: 'C', suppliers: null },
        { name: 'D', suppliers: { name: 'S2' } },
      ],
    },
  },
  {
    it: 'are nested over several tables, in both directions',
    call: 'POST orders?select=id,clients(name),order_items(line,products(name,suppliers(name)))',
    body: {
      id: 50,
      clients: { name: 'New' },
      order_items: [
        { line: 1, products: { id: 70, name: 'P1', price: 1, suppliers: { id: 71, name: 'S1' } } },
        { line: 2, products: { id: 72, name: 'P2', price: 1, suppliers: { id: 73, name: 'S2' } } },
      ],
    },
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        {
          id: 50,
          clients: { name: 'New' },
          order_items: [
            { line: 1, products: { name: 'P1', suppliers: { name: 'S1' } } },
            { line: 2, products: { name: 'P2', suppliers: { name: 'S2' } } },
          ],
        },
      ],
    },
  },
  {
    it: 'are an object where there is one at most',
    call: 'POST orders?select=id,invoices(paid)',
    body: { id: 50, invoices: { paid: true } },
    prefer: ROWS,
    expected: { status: 201, json: [{ id: 50, invoices: { paid: true } }] },
  },
  {
    it: 'take a hint among several keys',
    call: 'POST orders?select=id,addresses!billing(street)',
    body: { id: 50, 'addresses!billing': { id: 60, street: 'D Street' } },
    prefer: ROWS,
    expected: { status: 201, json: [{ id: 50, addresses: { street: 'D Street' } }] },
  },
  {
    it: 'may be of the same table',
    call: 'POST categories?select=id,categories(id,name)',
    body: {
      id: 50,
      name: 'Root',
      categories: [
        { id: 51, name: 'Leaf' },
        { id: 52, name: 'Twig' },
      ],
    },
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        {
          id: 50,
          categories: [
            { id: 51, name: 'Leaf' },
            { id: 52, name: 'Twig' },
          ],
        },
      ],
    },
  },
  {
    it: 'stand beside JSON columns',
    call: 'POST clients?select=notes,carts(name)',
    body: { name: 'New', notes: { carts: [{ x: 1 }, 2], deep: { er: {} } }, carts: [{ name: 'n' }] },
    prefer: ROWS,
    expected: {
      status: 201,
      json: [{ notes: { carts: [{ x: 1 }, 2], deep: { er: {} } }, carts: [{ name: 'n' }] }],
    },
  },
  {
    it: 'are in members that columns= names, as client libraries do',
    call: 'POST orders?columns="id","order_items"&select=id,discount,order_items(line,product_id)',
    body: [
      { id: 50, discount: 1, order_items: [{ line: 1, product_id: 2 }], unknown: [{ x: 1 }] },
      { id: 51, other: 1 },
    ],
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        { id: 50, discount: null, order_items: [{ line: 1, product_id: 2 }] },
        { id: 51, discount: null, order_items: [] },
      ],
    },
  },
  {
    it: 'leave defaults to the rows around them that lack a column',
    call: 'POST orders?columns=id,status,order_items&select=id,status,order_items(line)',
    body: [
      { id: 50, order_items: [{ line: 1, product_id: 2 }] },
      { id: 51, status: 'sent' },
    ],
    prefer: `${ROWS},missing=default`,
    expected: {
      status: 201,
      json: [
        { id: 50, status: 'new', order_items: [{ line: 1 }] },
        { id: 51, status: 'sent', order_items: [] },
      ],
    },
  },
  {
    it: 'are none if their member is null',
    call: 'POST orders?select=id,order_items(line)',
    body: { id: 50, order_items: null },
    prefer: ROWS,
    expected: { status: 201, json: [{ id: 50, order_items: [] }] },
  },
  {
    it: 'are none if their member is null and columns= names it',
    call: 'POST orders?columns=id,order_items&select=id,order_items(line)',
    body: [{ id: 50, order_items: null }],
    prefer: ROWS,
    expected: { status: 201, json: [{ id: 50, order_items: [] }] },
  },
  {
    it: 'are none if columns= names their member and no row has it',
    call: 'POST orders?columns=id,order_items,invoices&select=id,order_items(line)',
    body: [{ id: 50 }, { id: 51, invoices: null }],
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        { id: 50, order_items: [] },
        { id: 51, order_items: [] },
      ],
    },
  },
  {
    it: 'may be in one of the members that columns= names',
    call: 'POST orders?columns=id,order_items,invoices&select=id,order_items(line)',
    body: [{ id: 50, order_items: [{ line: 1, product_id: 2 }] }],
    prefer: ROWS,
    expected: { status: 201, json: [{ id: 50, order_items: [{ line: 1 }] }] },
  },
  {
    it: 'are none if their member is null in rows that are nested',
    call: 'POST orders?select=id,order_items(line,product_id)',
    body: { id: 50, order_items: [{ line: 1, products: null, product_id: 2 }] },
    prefer: ROWS,
    expected: { status: 201, json: [{ id: 50, order_items: [{ line: 1, product_id: 2 }] }] },
  },
  {
    it: 'do not show in the location',
    call: 'POST orders',
    body: { id: 50, order_items: [{ line: 1, product_id: 2 }] },
    prefer: 'return=headers-only',
    expected: { status: 201, body: '', location: '/try/orders?id=eq.50' },
  },
  {
    it: 'do not count',
    call: 'POST orders',
    body: [
      { id: 50, order_items: [{ line: 1, product_id: 2 }] },
      { id: 51, order_items: [{ line: 1, product_id: 2 }] },
    ],
    prefer: 'count=exact',
    expected: { status: 201, body: '', headers: { 'content-range': '*/2' } },
  },
];
testWrites('rows of related tables', gateway, nested);

const refused: readonly WriteCase[] = [
  {
    it: 'that columns= leaves out',
    call: 'POST orders?columns=id',
    body: [{ id: 50 }, { id: 51, order_items: [{ line: 1, product_id: 1 }] }],
    expected: { status: 400, body: /"DBREST109".*columns.*leaves out 'order_items', which has rows/ },
  },
  {
    it: 'in elements beside others that are no objects',
    call: 'POST clients?columns=carts',
    body: [{ carts: [{ name: 'a' }] }, 1],
    expected: { status: 400, body: /"code":"22023"/ },
  },
  {
    it: 'as null where no relation has the name',
    call: 'POST orders',
    body: { id: 50, order_itms: null },
    expected: { status: 400, body: /"PGRST204".*'order_itms'/ },
  },
  {
    it: 'as a value',
    call: 'POST orders?columns=id,order_items',
    body: [{ id: 50, order_items: 5 }],
    expected: { status: 400, body: /"PGRST204".*'order_items'/ },
  },
  {
    it: 'with an unknown column',
    call: 'POST orders',
    body: { id: 50, order_items: [{ lin: 1 }] },
    expected: { status: 400, body: /"PGRST204".*'lin' column of 'order_items'/ },
  },
  {
    it: 'of a relation that is not there',
    call: 'POST orders',
    body: { id: 50, order_itms: [{ line: 1 }] },
    expected: { status: 400, body: /"PGRST200"/ },
  },
  {
    it: 'of several relations',
    call: 'POST orders',
    body: { id: 50, addresses: { id: 60, street: 'x' } },
    expected: { status: 300, body: /"PGRST201"/ },
  },
  {
    it: 'through a junction',
    call: 'POST products',
    body: { id: 50, name: 'x', price: 1, 'categories!product_categories': [{ id: 1 }] },
    expected: { status: 400, body: /"DBREST109".*'categories!product_categories'/ },
  },
  {
    it: 'with other keys',
    call: 'POST orders',
    body: { id: 50, order_items: [{ line: 1, product_id: 1 }, { line: 2 }] },
    expected: { status: 400, body: /"DBREST109".*'order_items' differ/ },
  },
  {
    it: 'as an object where there may be several',
    call: 'POST orders',
    body: { id: 50, order_items: { line: 1, product_id: 1 } },
    expected: { status: 400, body: /"DBREST109".*list of objects/ },
  },
  {
    it: 'with the column that is filled in',
    call: 'POST orders',
    body: { id: 50, order_items: [{ order_id: 1, line: 1, product_id: 1 }] },
    expected: { status: 400, body: /"DBREST109".*'order_items\.order_id' is given twice/ },
  },
  {
    it: 'beside the column that is filled in',
    call: 'POST products',
    body: { id: 50, name: 'x', price: 1, supplier_id: 1, suppliers: { id: 60, name: 'y' } },
    expected: { status: 400, body: /"DBREST109".*'supplier_id' is given twice/ },
  },
  {
    it: 'in an upsert',
    call: 'POST orders',
    body: { id: 50, order_items: [{ line: 1, product_id: 1 }] },
    prefer: 'resolution=merge-duplicates',
    expected: { status: 400, body: /"DBREST109"/ },
  },
  {
    it: 'that the role may not insert',
    call: 'POST orders',
    body: { id: 50, order_items: [{ line: 1, product_id: 1 }] },
    headers: READER,
    expected: { status: 403, body: /"42501"/ },
  },
  {
    it: 'in too many rows',
    call: 'POST orders',
    body: { id: 50, order_items: Array.from({ length: 10_001 }, (_, i) => ({ line: i, product_id: 1 })) },
    expected: { status: 400, body: /at most 10000 rows/ },
  },
];
testWrites('rows of related tables are refused', gateway, refused);

test('rows of related tables are columns that are missing without the directive', async () => {
  const body = JSON.stringify({ id: 50, order_items: [{ line: 1, product_id: 1 }] });
  const response = await gateway.gw.fetch('/off/orders', { method: 'POST', body });
  expect([response.status, response.body]).toEqual([
    400,
    expect.stringMatching(/"PGRST204".*'order_items' column of 'orders'/),
  ]);
});

test('rows of related tables are inserted all or none', async () => {
  const { gw, db } = gateway;
  const send = (line: number) =>
    gw.fetch('/keep/orders', {
      method: 'POST',
      body: JSON.stringify({
        id: 80,
        order_items: [
          { line: 1, product_id: 1 },
          { line, product_id: 999 - 998 * (line % 2) },
        ],
      }),
    });
  expect((await send(2)).status).toBe(409);
  const count = `select (select count(*)::int from orders where id = 80) as orders, (select count(*)::int from order_items where order_id = 80) as items`;
  expect(await db.query(count)).toEqual([{ orders: 0, items: 0 }]);
  expect((await send(3)).status).toBe(201);
  expect(await db.query(count)).toEqual([{ orders: 1, items: 2 }]);
});

test('what shows rows of related tables leaves the cache', async () => {
  const { gw } = gateway;
  const read = async (): Promise<string> => {
    const { headers, body } = await gw.fetch('/cached/order_items?order_id=eq.81&select=line');
    return `${headers.get('x-cache')} ${body}`;
  };
  expect([await read(), await read()]).toEqual(['MISS []', 'HIT []']);
  const body = JSON.stringify({ id: 81, order_items: [{ line: 1, product_id: 1 }] });
  expect((await gw.fetch('/keep/orders', { method: 'POST', body })).status).toBe(201);
  expect(await read()).toBe('MISS [{"line":1}]');
});

test('an item of a batch has rows of related tables', async () => {
  const item = (id: number, prefer: string) => ({
    method: 'POST',
    path: '/orders?select=id,order_items(line)',
    headers: { prefer },
    body: { id, order_items: [{ line: 7, product_id: 1 }] },
  });
  const { status, body } = await gateway.gw.fetch('/keep/rpc/batch', {
    method: 'POST',
    body: JSON.stringify([item(82, ROWS), item(83, 'return=minimal'), item(84, ROWS)]),
  });
  const shown = (id: number) =>
    expect.objectContaining({ status: 201, body: [{ id, order_items: [{ line: 7 }] }] });
  expect([status, JSON.parse(body)]).toEqual([
    200,
    [shown(82), expect.objectContaining({ status: 201 }), shown(84)],
  ]);
});

test('rows of related tables are refused where a trigger leaves out the rows around them', async () => {
  const { gw, db } = gateway;
  await db.query(`create function skip() returns trigger language plpgsql as $$ begin if new.name = 'no' then return null; end if; return new; end $$;
    create trigger skip before insert on clients for each row execute function skip()`);
  const body = JSON.stringify(['yes', 'no', 'also'].map((name) => ({ name, carts: [{ name }] })));
  await gw.expect(
    'POST /keep/clients',
    { status: 400, body: /"DBREST109".*"Not every row was inserted"/ },
    { body },
  );
  expect(await db.query(`select from carts where name in ('yes', 'no', 'also')`)).toEqual([]);
  await db.query('drop trigger skip on clients');
});

test('2,000 rows each have their own', async () => {
  const { gw, db } = gateway;
  const body = JSON.stringify(
    Array.from({ length: 2_000 }, (_, i) => ({ name: `n${i}`, carts: [{ name: `c${i}`, quantity: i }] })),
  );
  expect((await gw.fetch('/keep/clients', { method: 'POST', body })).status).toBe(201);
  const [row] = await db.query(
    `select count(*)::int as n from clients c join carts k on k.client_id = c.id where c.name = 'n' || k.quantity and k.name = 'c' || k.quantity`,
  );
  expect(row).toEqual({ n: 2_000 });
});
