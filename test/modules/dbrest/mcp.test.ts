import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { HOSTILE } from './hostile.ts';
import { sign } from '../../harness/tokens.ts';
import { call, errorOf, names, toolsOf, toolsOfFile } from './tool-server.ts';

const tools = toolsOfFile();

test('a client of the SDK connects, and learns who serves it', async () => {
  const client = await tools.it.connect('/api/');
  expect(client.getServerVersion()).toMatchObject({ name: 'gw' });
  expect(client.getServerCapabilities()).toEqual({ tools: {} });
  expect(client.getInstructions()).toContain('list_tables');
  expect(await client.ping()).toEqual({});
});

const READING = ['list_tables', 'describe_table', 'read_rows'];

test('the tools are those of the role, and read unless "write" is said', async () => {
  const reading = await names(await tools.it.connect('/api/'));
  expect(reading.slice(0, 3)).toEqual(READING);
  expect(reading).toContain('call_film_count');
  for (const absent of ['call_add_film', 'call_mixed', 'call_for_users', 'insert_rows'])
    expect(reading).not.toContain(absent);
  expect(await names(await tools.it.connect('/api/', 'web_user'))).toContain('call_for_users');
  const writing = await names(await tools.it.connect('/write/', 'web_user'));
  for (const name of [
    'insert_rows',
    'update_rows',
    'delete_rows',
    'call_add_film',
    'call_mixed',
    'call_second_f',
  ])
    expect(writing).toContain(name);
  for (const name of [...reading, ...writing]) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(new Set(writing).size).toBe(writing.length);
});

test('a location of functions alone has no tools for tables', async () => {
  const client = await tools.it.connect('/rpc/');
  const list = await names(client);
  expect(list).not.toContain('read_rows');
  expect((await call(client, 'call_film_count')).structuredContent).toEqual({ result: 3 });
});

test('tools are listed in pages, and a cursor that nobody gave is refused', async () => {
  const client = await tools.it.connect('/api/', 'many');
  const first = await client.listTools();
  expect(first.tools).toHaveLength(100);
  const all = await names(client);
  expect([all.length, new Set(all).size]).toEqual([153, 153]);
  await expect(client.listTools({ cursor: 'x' })).rejects.toThrow('unknown cursor');
});

test('tools say what they take, what they are for, and whether they change anything', async () => {
  const byName = new Map(
    (await toolsOf(await tools.it.connect('/write/', 'web_user'))).map((tool) => [tool.name, tool]),
  );
  expect(byName.get('call_film_count')).toMatchObject({
    description: 'Counts films',
    inputSchema: { type: 'object', properties: { min_id: { type: ['integer', 'null'] } } },
    annotations: { readOnlyHint: true, destructiveHint: false },
  });
  expect(byName.get('call_add_film')?.inputSchema.required).toEqual(['id', 'title']);
  expect(byName.get('call_add_film')?.annotations).toMatchObject({
    readOnlyHint: false,
    destructiveHint: true,
  });
  expect(byName.get('delete_rows')?.annotations).toMatchObject({
    readOnlyHint: false,
    destructiveHint: true,
  });
  expect(byName.get('insert_rows')?.annotations).toMatchObject({
    readOnlyHint: false,
    destructiveHint: false,
  });
  expect(byName.get('read_rows')?.inputSchema.properties).toMatchObject({
    schema: { enum: ['public', 'second'] },
    limit: { maximum: 1_000, default: 100 },
  });
});

test('tables are listed and described as far as the role may use them', async () => {
  const client = await tools.it.connect('/api/');
  const { tables } = (await call(client, 'list_tables')).structuredContent as { tables: { name: string }[] };
  expect(tables.map(({ name }) => name)).toEqual(['films', 'makers', 'numbers', 'wide']);
  expect(tables[0]).toEqual({
    schema: 'public',
    name: 'films',
    kind: 'table',
    may: ['read'],
    comment: 'All films',
  });
  const after = await call(client, 'list_tables', { after: 'makers' });
  expect(after.structuredContent).toMatchObject({ tables: [{ name: 'numbers' }, { name: 'wide' }] });
  const described = (await call(client, 'describe_table', { table: 'films' })).structuredContent;
  expect(described).toMatchObject({
    primaryKey: ['id'],
    related: [{ table: 'makers', cardinality: 'many-to-one' }],
  });
  expect((described as { columns: unknown[] }).columns).toEqual(
    expect.arrayContaining([
      { name: 'title', type: 'text', nullable: false, comment: 'As on the poster' },
      {
        name: 'mood',
        type: 'public.mood',
        nullable: true,
        default: "'ok'::public.mood",
        values: ['sad', 'ok'],
      },
    ]) as unknown,
  );
});

test('a table that the role does not see is unknown, and one that it sees is suggested for a similar name', async () => {
  const client = await tools.it.connect('/api/');
  expect(errorOf(await call(client, 'describe_table', { table: 'hidden' }))).toMatchObject({
    code: 'PGRST205',
  });
  expect(errorOf(await call(client, 'describe_table', { table: 'hiden' }))).toMatchObject({
    code: 'PGRST205',
    hint: null,
  });
  expect(errorOf(await call(client, 'describe_table', { table: 'film' }))).toMatchObject({
    code: 'PGRST205',
    hint: "Perhaps you meant the table 'public.films'",
  });
});

const reads: [given: Record<string, unknown>, ids: unknown[]][] = [
  [{ filters: [{ column: 'id', value: 1 }] }, [1]],
  [{ filters: [{ column: 'title', operator: 'like', value: 't*' }] }, [2]],
  [{ filters: [{ column: 'title', operator: 'in', value: ['one', 'x",(y'] }] }, [1]],
  [{ filters: [{ column: 'maker', value: null }], limit: 1, select: 'title' }, [undefined]],
  [{ filters: [{ column: 'maker', operator: 'neq', value: null }] }, [1, 2]],
  [
    { filters: [{ column: 'maker', operator: 'neq', value: null, not: true }], select: 'id::text' },
    ['9007199254740993'],
  ],
  [{ filters: [{ column: 'id', operator: 'lt', value: 3, not: false }], order: 'id.desc' }, [2, 1]],
  [{ filters: [{ column: 'id', value: 1, not: true }], limit: 1 }, [2]],
  [{ filters: [{ column: 'maker', operator: 'is', value: null }], select: 'id::text' }, ['9007199254740993']],
  [{ filters: [{ column: 'tags', operator: 'cs', value: ['a'] }] }, [1]],
  [{ filters: [{ column: 'data', operator: 'cs', value: { k: 1 } }] }, [1]],
  [{ filters: [{ column: 'a "b', operator: 'is', value: null }], limit: 1, offset: 1 }, [2]],
  [{ filters: [{ column: 'data->>k', value: '1' }] }, [1]],
  [{ select: 'id,makers!inner(name)', filters: [{ column: 'makers.name', value: 'Ann' }] }, [1]],
  [{ select: 'id,m:makers!inner(*)', filters: [{ column: 'm."name"', value: 'Bob' }] }, [2]],
  [{ select: 'id,makers(name)', order: 'makers(name).desc.nullslast', limit: 2 }, [2, 1]],
  [{ select: 'maker,id:id.max()', having: 'maker.max().not.is.null', order: 'id.max()' }, [1, 2]],
  [{ select: 'id', distinct: true, limit: 1 }, [1]],
  [{ limit: 0 }, []],
];
test.each(reads)('read_rows with %j gives %j', async (given, ids) => {
  const client = await tools.it.connect('/api/');
  const result = await call(client, 'read_rows', { table: 'films', order: 'id', ...given });
  expect(result.isError).toBe(false);
  const { rows } = result.structuredContent as { rows: { id?: unknown }[] };
  expect(rows.map(({ id }) => id)).toEqual(ids);
});

test('numbers keep their digits, in filters, rows and arguments', async () => {
  const send = async (path: string, name: string, json: string): Promise<string> => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${json}}}`;
    return (
      await tools.it.post(`${path}mcp`, body, { authorization: `Bearer ${sign({ role: 'web_user' })}` })
    ).body;
  };
  const filter = `{"table":"films","filters":[{"column":"id","value":9007199254740993}]}`;
  expect(await send('/api/', 'read_rows', filter)).toContain('"data":12345678901234567890.10');
  expect(await send('/api/', 'call_film_count', '{"min_id":9007199254740994}')).toContain('{"result":0}');
  await send('/write/', 'insert_rows', '{"table":"films","rows":{"id":9007199254740995,"title":"x"}}');
  expect(await tools.it.db.query('select id::text from films where title = $1', ['x'])).toEqual([
    { id: '9007199254740995' },
  ]);
});

test('rows and bytes of a result are bounded', async () => {
  const client = await tools.it.connect('/api/');
  const rowsOf = (result: CallToolResult) => (result.structuredContent as { rows: unknown[] }).rows.length;
  expect(rowsOf(await call(client, 'read_rows', { table: 'numbers' }))).toBe(100);
  expect(rowsOf(await call(client, 'read_rows', { table: 'numbers', limit: 1_000 }))).toBe(1_000);
  expect(errorOf(await call(client, 'read_rows', { table: 'numbers', limit: 1_001 }))).toMatchObject({
    code: 'DBREST133',
  });
  expect(errorOf(await call(client, 'read_rows', { table: 'wide', limit: 500 }))).toMatchObject({
    code: 'DBREST135',
  });
  const few = await tools.it.connect('/few/');
  expect(rowsOf(await call(few, 'read_rows', { table: 'numbers' }))).toBe(3);
});

test('tools that write change what the role may change, by filters', async () => {
  const client = await tools.it.connect('/write/', 'web_user');
  const films = [
    { id: 10, title: 'ten' },
    { id: 11, title: 'eleven' },
  ];
  const inserted = await call(client, 'insert_rows', { table: 'films', rows: films, returning: 'id' });
  expect(inserted.structuredContent).toEqual({ rows: [{ id: 10 }, { id: 11 }] });
  const updated = await call(client, 'update_rows', {
    table: 'films',
    filters: [
      { column: 'id', operator: 'gte', value: 10 },
      { column: 'id', operator: 'lt', value: 100 },
    ],
    values: { title: 'new' },
  });
  expect(updated.structuredContent).toEqual({ affected: 2 });
  const values = [
    { id: 11, title: 'new' },
    { id: 10, title: 'new' },
    { id: 99, title: 'new' },
  ];
  const listed = await call(client, 'update_rows', { table: 'films', values, returning: 'id' });
  expect(listed.structuredContent).toEqual({ rows: [{ id: 10 }, { id: 11 }] });
  const filters = [{ column: 'title', value: 'new' }];
  expect((await call(client, 'delete_rows', { table: 'films', filters })).structuredContent).toEqual({
    affected: 2,
  });
  expect((await call(client, 'call_add_film', { id: 12, title: 'f' })).structuredContent).toMatchObject({
    result: { id: 12 },
  });
  expect(await tools.it.db.query('select id from films where id between 10 and 20')).toEqual([{ id: '12' }]);
});

test('a change without a filter, and one that the role may not make, are refused', async () => {
  const client = await tools.it.connect('/write/', 'web_user');
  for (const given of [{}, { filters: [] }, { filters: null }])
    expect(errorOf(await call(client, 'delete_rows', { table: 'films', ...given }))).toMatchObject({
      code: 'DBREST133',
    });
  for (const values of [[{ title: 'x' }], [{ id: 1, title: 'x' }, { title: 'x' }], [1]])
    expect(errorOf(await call(client, 'update_rows', { table: 'films', values }))).toHaveProperty('code');
  expect(
    errorOf(await call(client, 'update_rows', { table: 'films', values: { title: 'x' } })),
  ).toMatchObject({
    code: 'DBREST133',
  });
  // On an embedded relation a filter would not hold back a change.
  const filters = [{ column: 'makers.name', value: 'Ann' }];
  const below = { table: 'films', filters, returning: 'id,makers(name)' };
  expect(errorOf(await call(client, 'delete_rows', below))).toMatchObject({ code: '42703' });
  expect(
    errorOf(await call(client, 'insert_rows', { table: 'makers', rows: { id: 9, name: 'x' } })),
  ).toMatchObject({ code: '42501' });
  expect(
    errorOf(await call(client, 'insert_rows', { table: 'films', rows: { id: 1, title: 'x' } })),
  ).toMatchObject({ code: '23505' });
  expect(
    errorOf(await call(client, 'insert_rows', { table: 'rpc/add_film', rows: { id: 5, title: 'x' } })),
  ).toMatchObject({ code: 'PGRST205' });
  expect(await tools.it.db.query(`select id from films where id < 10 and title <> 'x'`)).toHaveLength(2);
});

test('a location that only reads knows no tool that writes', async () => {
  const client = await tools.it.connect('/api/', 'web_user');
  for (const name of [
    'insert_rows',
    'update_rows',
    'delete_rows',
    'call_add_film',
    'call_mixed',
    'nope',
    'constructor',
  ])
    await expect(call(client, name, { table: 'films', rows: { id: 5 } })).rejects.toThrow('unknown tool');
});

test('row security holds, and the role is that of the token of each request', async () => {
  const client = await tools.it.connect('/write/', 'web_user');
  expect((await call(client, 'read_rows', { table: 'notes' })).structuredContent).toMatchObject({
    rows: [{ text: 'mine' }],
  });
  const foreign = await call(client, 'update_rows', {
    table: 'notes',
    filters: [{ column: 'id', value: 2 }],
    values: { text: 'x' },
  });
  expect(foreign.structuredContent).toEqual({ affected: 0 });
  expect((await call(client, 'call_for_users')).structuredContent).toEqual({ result: 'web_user' });
  expect(errorOf(await call(await tools.it.connect('/api/'), 'read_rows', { table: 'notes' }))).toMatchObject(
    {
      code: 'PGRST205',
    },
  );
});

test('an error of the database is a result for the model to read', async () => {
  const client = await tools.it.connect('/api/');
  expect(errorOf(await call(client, 'call_refuse'))).toMatchObject({ code: 'PT418', message: 'a teapot' });
  const titel = { code: '42703', hint: 'Perhaps you meant to reference the column "films.title".' };
  for (const given of [{ select: 'titel' }, { order: 'titel' }, { filters: [{ column: 'titel', value: 1 }] }])
    expect(errorOf(await call(client, 'read_rows', { table: 'films', ...given }))).toMatchObject(titel);
  const elsewhere = { table: 'films', filters: [{ column: 'makers.name', value: 'Ann' }] };
  expect(errorOf(await call(client, 'read_rows', elsewhere))).toMatchObject({ code: 'PGRST108' });
  expect(errorOf(await call(client, 'call_film_count', { nope: 1 }))).toMatchObject({ code: 'PGRST202' });
});

test('functions with names that no tool may have are called by others', async () => {
  const client = await tools.it.connect('/api/');
  const odd = (await toolsOf(client)).find(({ description }) => description?.includes('ödd name!'));
  expect((await call(client, odd?.name ?? '')).structuredContent).toEqual({ result: 7 });
});

test('no argument becomes SQL, a path or a header', async () => {
  const client = await tools.it.connect('/write/', 'web_user');
  for (const text of HOSTILE.filter((one, i) => one.length < 1_000 && i % 4 === 0)) {
    const filter = { column: 'title', value: text };
    for (const given of [
      { table: text },
      { table: 'films', select: text },
      { table: 'films', order: text },
      { table: 'films', filters: [{ column: text, value: 1 }] },
      { table: 'films', filters: [filter, { ...filter, operator: 'in', value: [text] }] },
      { table: 'films', schema: text },
    ]) {
      const result = await call(client, 'read_rows', given);
      expect(JSON.stringify(result)).not.toMatch(/42601|PGRSTX00|XX000/);
    }
  }
  expect(await tools.it.db.query('select id from films')).toHaveLength(3);
});
