import { PostgrestClient } from '@supabase/postgrest-js';
import { beforeAll, expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';
import { SHOP } from './shop.ts';
import { SECRET, sign } from './tokens.ts';

const GRANTS = `
  grant select on all tables in schema public to anon, web_user;
  create table notes (id int primary key, owner text, body text);
  alter table notes enable row level security;
  create policy own on notes for select to web_user
    using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');
  grant select on notes to anon, web_user;
  insert into notes values (1, 'ann', 'mine'), (2, 'bob', 'his');
`;

const file = wholeFile();
let client: PostgrestClient;
let url: string;
beforeAll(async () => {
  const { dsn } = await postgres(SHOP + GRANTS);
  const gw = await startGateway(
    file,
    `server { location /rest/v1/ { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}"; } }`,
  );
  url = `${gw.url}/rest/v1`;
  client = new PostgrestClient(url);
});

type LibraryResponse = { data: unknown; count: number | null; status: number; error: unknown };

/** Calls of the client library, and their results. */
const reads: readonly {
  it: string;
  read: (c: PostgrestClient) => PromiseLike<LibraryResponse>;
  data: unknown;
  count?: number;
}[] = [
  {
    it: 'filters, orders and limits',
    read: (c) =>
      c.from('clients').select('id,name').neq('city', 'Rome').order('id', { ascending: false }).limit(1),
    data: [{ id: 3, name: 'Core' }],
  },
  {
    it: 'reads one row as an object',
    read: (c) => c.from('clients').select('name').eq('id', 1).single(),
    data: { name: 'Acme' },
  },
  {
    it: 'reads no row as null',
    read: (c) => c.from('clients').select('name').eq('id', 99).maybeSingle(),
    data: null,
  },
  {
    it: 'embeds children and filters them',
    read: (c) => c.from('clients').select('name,projects(name)').eq('projects.name', 'App').eq('id', 1),
    data: [{ name: 'Acme', projects: [{ name: 'App' }] }],
  },
  {
    it: 'embeds a parent under another name',
    read: (c) => c.from('projects').select('name,owner:clients!inner(name)').eq('clients.name', 'Bolt'),
    data: [{ name: 'Data', owner: { name: 'Bolt' } }],
  },
  {
    it: 'takes logic trees and lists',
    read: (c) => c.from('clients').select('id').or('id.eq.1,name.like.B*').in('id', [1, 2, 3]).order('id'),
    data: [{ id: 1 }, { id: 2 }],
  },
  {
    it: 'orders by deeper relations',
    read: (c) =>
      c
        .from('tasks')
        .select('id,projects(clients())')
        .order('projects(clients(name))', { ascending: false })
        .order('id')
        .limit(2),
    data: [{ id: 4 }, { id: 1 }],
  },
  {
    it: 'orders by the number of related rows, and these by an aggregate',
    read: (c) =>
      c
        .from('clients')
        .select('id,projects(id,tasks())')
        .order('tasks(hours.sum())', { referencedTable: 'projects' })
        .order('projects(count)', { ascending: false })
        .limit(1),
    data: [{ id: 1, projects: [{ id: 2 }, { id: 1 }] }],
  },
  {
    it: 'filters groups',
    read: (c) =>
      c
        .from('projects')
        .select('client_id,total:budget.sum()')
        .filter('having', 'budget.sum().gt', 60)
        .order('total'),
    data: [{ client_id: 1, total: 300.5 }],
  },
  {
    it: 'takes equal rows once and counts them so',
    read: (c) =>
      c
        .from('clients')
        .select('city', { count: 'exact' })
        .filter('distinct', 'on', '*')
        .order('city')
        .limit(1),
    data: [{ city: 'Oslo' }],
    count: 2,
  },
  {
    it: 'takes the first row of each group',
    read: (c) =>
      c
        .from('tasks')
        .select('name')
        .filter('distinct', 'on', '(project_id)')
        .order('project_id')
        .order('hours', { ascending: false })
        .range(0, 1),
    data: [{ name: 'code' }, { name: 'test' }],
  },
  {
    it: 'counts and pages by range',
    read: (c) => c.from('clients').select('id', { count: 'exact' }).order('id').range(1, 2),
    data: [{ id: 2 }, { id: 3 }],
    count: 3,
  },
  {
    it: 'counts without rows',
    read: (c) => c.from('clients').select('*', { count: 'exact', head: true }),
    data: null,
    count: 3,
  },
  {
    it: 'aggregates',
    read: (c) => c.from('clients').select('city,count()').order('city'),
    data: [
      { city: 'Oslo', count: 2 },
      { city: 'Rome', count: 1 },
    ],
  },
  {
    it: 'counts children',
    read: (c) => c.from('clients').select('name,projects(count)').order('id').limit(1),
    data: [{ name: 'Acme', projects: [{ count: 2 }] }],
  },
  {
    it: 'reads CSV',
    read: (c) => c.from('clients').select('id,name').eq('id', 1).csv(),
    data: 'id,name\n1,Acme',
  },
];

for (const { it, read, data, count = null } of reads) {
  test(`the client library ${it}`, async () => {
    const response = await read(client);
    expect(response.error).toBeNull();
    expect(response.data).toEqual(data);
    expect(response.count).toBe(count);
  });
}

test('the client library sees the rows that its token may see', async () => {
  const token = sign({ role: 'web_user', sub: 'ann' });
  const ann = new PostgrestClient(url, { headers: { Authorization: `Bearer ${token}` } });
  expect((await ann.from('notes').select('id,body')).data).toEqual([{ id: 1, body: 'mine' }]);
  expect((await client.from('notes').select('id,body')).data).toEqual([]);
});

test('the client library gets an error with code, hint and message', async () => {
  const { error, status } = await client.from('clint').select('*');
  expect(status).toBe(404);
  expect(error).toMatchObject({
    code: 'PGRST205',
    message: "Could not find the table 'public.clint' in the schema cache",
  });
});

test('the client library sends long lists as a QUERY, given a fetch that does', async () => {
  const sent: string[] = [];
  const fetchLong = (target: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { href, pathname, search } = new URL(target as string);
    sent.push(init.method ?? 'GET');
    if (search.length < 4_000) return fetch(href, init);
    const headers = new Headers(init.headers);
    headers.set('Content-Type', 'application/x-www-form-urlencoded');
    headers.set('X-HTTP-Method-Override', 'QUERY');
    return fetch(new URL(pathname, href), { ...init, method: 'POST', headers, body: search.slice(1) });
  };
  const long = new PostgrestClient(url, { fetch: fetchLong });
  const ids = Array.from({ length: 4_000 }, (_, i) => i + 2);
  const { data, count, error } = await long
    .from('clients')
    .select('id', { count: 'exact' })
    .in('id', ids)
    .order('id');
  expect({ data, count, error, sent }).toEqual({
    data: [{ id: 2 }, { id: 3 }],
    count: 2,
    error: null,
    sent: ['GET'],
  });
});
