import { expect, test } from 'vitest';
import { pipeline } from './pipeline.ts';
import { SHOP } from './shop.ts';

const shop = pipeline(SHOP);

const statements: [request: string, rows: string[]][] = [
  [
    'projects?select=id,clients(name)&id=eq.1',
    [
      'select r."id", (select pg_catalog.row_to_json(t.*) from (select r1."name" from "public"."clients" r1',
      'where r1."id" = r."client_id") t) as "clients" from "public"."projects" r where r."id" = $1',
    ],
  ],
  [
    'projects?select=id,clients!inner(name)',
    [
      'select r."id", pg_catalog.row_to_json(j1.*) as "clients" from "public"."projects" r',
      'join lateral (select r1."name" from "public"."clients" r1 where r1."id" = r."client_id") j1 on true',
    ],
  ],
  [
    'clients?select=*,projects(id)&projects.order=id.desc&projects.limit=2&projects.budget=gt.1&limit=9',
    [
      'select r.*, coalesce((select pg_catalog.json_agg(t.*) from (select r1."id" from "public"."projects" r1',
      'where r1."client_id" = r."id" and r1."budget" > $1 order by r1."id" desc limit $2) t), \'[]\') as "projects"',
      'from "public"."clients" r limit $3',
    ],
  ],
  [
    'clients?select=id,projects!inner(id)',
    [
      'select r."id", coalesce((select pg_catalog.json_agg(t.*) from (select r1."id" from "public"."projects" r1',
      'where r1."client_id" = r."id") t), \'[]\') as "projects" from "public"."clients" r',
      'where exists (select 1 from "public"."projects" r1 where r1."client_id" = r."id")',
    ],
  ],
  [
    'users?select=tasks(id)',
    [
      'select coalesce((select pg_catalog.json_agg(t.*) from (select r1."id" from "public"."tasks" r1',
      'join "public"."users_tasks" m2 on r1."id" = m2."task_id" where m2."user_id" = r."id") t), \'[]\') as "tasks"',
      'from "public"."users" r',
    ],
  ],
  [
    'projects?select=id,...clients(client:name)&order=clients(name)',
    [
      'select r."id", j1.c1 as "client" from "public"."projects" r',
      'left join lateral (select r1."name" as c1 from "public"."clients" r1 where r1."id" = r."client_id") j1 on true',
      'order by j1.c1',
    ],
  ],
  [
    'projects?select=label,main_client(*)',
    [
      'select "public"."label"(r.*) as "label", (select pg_catalog.row_to_json(t.*) from',
      '(select r1.* from "public"."main_client"(r.*) r1 limit $1) t) as "main_client" from "public"."projects" r',
    ],
  ],
  [
    'projects?select=meta->lead->>name,count()&or=(id.eq.1,meta->tags->>0.eq.a)',
    [
      'select (r."meta"->$1::text->>$2::text) as "name", pg_catalog.count(*) as "count" from "public"."projects" r',
      'where (r."id" = $3 or (r."meta"->$4::text->>$5::integer) = $6) group by 1',
    ],
  ],
  [
    'clients?select=id,tasks(),projects()&projects=is.null',
    [
      'select r."id" from "public"."clients" r',
      'where not (exists (select 1 from "public"."projects" r1 where r1."client_id" = r."id"))',
    ],
  ],
];

test('the conditions of nested embeds do not multiply in the statement', () => {
  const levels = Array.from({ length: 9 }, (_, i) => `e${i}`);
  const select = levels.reduceRight(
    (inside, name, i) => `${name}:${i % 2 === 0 ? 'tasks' : 'users'}!inner(id,${inside})`,
    'name',
  );
  const tests = levels.slice(1).flatMap((name, i) => {
    const path = levels.slice(0, i + 1).join('.');
    return [`${path}.or=(${Array.from({ length: 20 }, () => `${name}.not.is.null`).join(',')})`];
  });
  expect(shop.it.sql(`users?select=${select}&${tests.join('&')}`).length).toBeLessThan(50_000);
});

test.each(statements)('%s is one statement', (request, rows) => {
  const text = `select coalesce(pg_catalog.json_agg(t.*), '[]')::text, pg_catalog.count(*)::text from (${rows.join(' ')}) t`;
  expect(shop.it.sql(request)).toBe(text);
});
