import { expect, test } from 'vitest';
import { faultOf, pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const logic: [request: string, rows: unknown][] = [
  ['tasks?select=id&name=like(any).{d*,*oad}&order=id', [{ id: 1 }, { id: 4 }]],
  ['tasks?select=id&name=not.like(any).{d*,*oad}&order=id', [{ id: 2 }, { id: 3 }]],
  ['tasks?select=id&name=ilike(all).{*D*,*O*}&order=id', [{ id: 2 }, { id: 4 }]],
  ['tasks?select=id&name=match(any).{^d,d$}&order=id', [{ id: 1 }, { id: 4 }]],
  ['tasks?select=id&hours=gt(all).{2,4}&order=id', [{ id: 1 }, { id: 2 }]],
  ['tasks?select=id&id=eq(any).{1,3}&order=id', [{ id: 1 }, { id: 3 }]],
  ['tasks?select=id&or=(id.eq.1,and(id.gt.2,done.is.false))&order=id', [{ id: 1 }, { id: 3 }]],
  ['tasks?select=id&not.or=(id.eq.1,id.eq.2)&order=id', [{ id: 3 }, { id: 4 }]],
  ['tasks?select=id&not.and=(id.gt.1,id.lt.4)&order=id', [{ id: 1 }, { id: 4 }]],
  ['tasks?select=id&and=(name.in.(design,"code"),not.and(id.eq.1,hours.eq.5))&order=id', [{ id: 2 }]],
  [
    'tasks?select=id&or=(id.eq(any).{1,2},name.like.*oad)&or=(done.is.true,id.eq.2)&order=id',
    [{ id: 1 }, { id: 2 }, { id: 4 }],
  ],
  ['projects?select=id&or=(meta->lead->>name.eq.Zoe,meta->tags.cs.["c"])&order=id', [{ id: 1 }, { id: 2 }]],
  ['projects?select=id&meta->lead->>name=eq.Zoe', [{ id: 1 }]],
  ['projects?select=id&meta->tags=cs.["c"]', [{ id: 2 }]],
  ['projects?select=id&meta->tags->0=eq."a"', [{ id: 1 }]],
  ['projects?select=id&meta->tags->>-1=in.(b,c)&order=id', [{ id: 1 }, { id: 2 }]],
  ['projects?select=id&meta->lead=not.is.null', [{ id: 1 }]],
  ['projects?select=id&meta->lead->>name=fts(simple).zoe', [{ id: 1 }]],
  [
    'projects?select=id,meta->tags->0,meta->lead->>name,x:meta->>lead,meta->tags->1::text&id=eq.1',
    [{ id: 1, tags: '"b"', name: 'Zoe', x: '{"name": "Zoe"}' }],
  ],
  [
    'projects?select=id&order=meta->lead->>name.nullslast,id.desc',
    [{ id: 1 }, { id: 4 }, { id: 3 }, { id: 2 }],
  ],
];

test('a cast may name a type of the database', async () => {
  expect(await shop.it.rows('orders?select=id,status::order_status&id=eq.1')).toEqual([
    { id: 1, status: 'new' },
  ]);
  expect(shop.it.sql('tasks?select=id::order_status')).toContain('r."id"::"public"."order_status" as "id"');
  expect(await faultOf(() => shop.it.rows('orders?select=status::hidden_status'))).toMatchObject({
    code: '42704',
  });
  const found = shop.it.sql('orders?select=status::hidden_status[]', { searchPath: ['public', 'hidden'] });
  expect(found).toContain('r."status"::"hidden"."hidden_status"[] as "status"');
});

const casts: [cast: string, sql: string][] = [
  ['numeric(10,2)', 'numeric(10, 2)'],
  ['VARCHAR(5)[]', 'character varying(5)[]'],
  ['timestamp(0) with  time zone', 'timestamp(0) with time zone'],
  ['timetz(3)', 'time(3) with time zone'],
  ['bpchar', 'bpchar'],
  ['pg_catalog.int4', 'integer'],
  ['_int4', 'integer[]'],
  ['pg_catalog._numeric(3)', 'numeric(3)[]'],
  ['public.order_status[]', '"public"."order_status"[]'],
];
test.each(casts)('a cast to %s is one to %s', (cast, sql) => {
  expect(shop.it.sql(`tasks?select=id::${cast}`)).toContain(`r."id"::${sql} as "id"`);
});

test.each([
  ['text(3)', 'PGRST100', '"failed to parse select parameter (id::text(3))" (line 1, column 9)'],
  ['pg_sleep', '42704', 'type "pg_sleep" does not exist'],
  ['pg_sleep(10)', '42704', 'type "pg_sleep" does not exist'],
  ['public.varchar(3)', '42704', 'type "public.varchar" does not exist'],
  ['varchar(1,2)', 'PGRST100', undefined],
  ['numeric(1,2,3)', 'PGRST100', undefined],
  ['numeric(x)', 'PGRST100', undefined],
  ['hidden.hidden_status', '42704', 'type "hidden.hidden_status" does not exist'],
  ['pg_catalog.pg_class', '42704', 'type "pg_catalog.pg_class" does not exist'],
])('a cast to %s is refused with %s', async (cast, code, message) => {
  const fault = await faultOf(() => shop.it.rows(`tasks?select=id::${cast}`));
  expect(fault).toMatchObject({ code, status: 400, ...(message && { message }) });
});

test.each(logic)('a tree of filters, a modifier or a path: %s', async (request, rows) => {
  expect(await shop.it.rows(request)).toEqual(rows);
});
