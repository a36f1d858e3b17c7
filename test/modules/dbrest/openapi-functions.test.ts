import SwaggerParser from '@apidevtools/swagger-parser';
import { expect, test } from 'vitest';
import { FIXTURE } from './fixture/index.ts';
import { isMethod, library } from './library.ts';

const COMMENTS = `
  comment on function public.add_them is E'Adds\\nTwo numbers.';
  comment on schema public is null;
`;
const api = library(FIXTURE + COMMENTS);

test('the description of a large schema is valid OpenAPI 3.1, with functions of every kind', async () => {
  for (const config of [
    {},
    { anonRole: 'web_user' },
    { openapi: 'ignore-privileges' },
    { rpc: 'on' },
    { batch: true },
  ] as const) {
    const described = structuredClone(await api.describe(config));
    expect(await SwaggerParser.validate(described as never)).toHaveProperty('openapi', '3.1.0');
  }
});

const methods: [role: string, name: string, methods: string[]][] = [
  ['anon', 'add_them', ['get', 'post']],
  ['anon', 'note_quietly', ['post']],
  ['anon', 'not_for_anon', []],
  ['web_user', 'not_for_anon', ['get', 'post']],
  ['web_user', 'a_procedure', []],
  ['web_user', 'edit_client', []],
  ['anon', '%C3%9Cn%C3%AF%20(fn)', ['get', 'post']],
];
test.each(methods)('%s may call %s by %j', async (role, name, expected) => {
  expect(
    Object.keys((await api.describe({ anonRole: role })).paths[`/rpc/${name}`] ?? {}).filter(isMethod),
  ).toEqual(expected);
});

const INTEGER = { type: ['integer', 'null'], format: 'integer' };
const TEXT = { type: ['string', 'null'], format: 'text' };
const named = (properties: Record<string, unknown>, required?: string[]) => ({
  type: 'object',
  ...(required && { required }),
  properties,
});
const bodies: [name: string, type: string, schema: unknown][] = [
  ['add_them', 'application/json', named({ a: INTEGER, b: INTEGER }, ['a', 'b'])],
  ['greet', 'application/json', named({ name: TEXT, greeting: TEXT })],
  ['body_text', 'text/plain', { type: 'string' }],
  ['body_json', 'application/json', {}],
  ['body_bytes', 'application/octet-stream', { type: 'string', format: 'binary' }],
  ['twofold', 'application/json', { anyOf: [named({ v: INTEGER }, ['v']), named({ v: TEXT }, ['v'])] }],
];
test.each(bodies)('%s takes %s %j', async (name, type, schema) => {
  const { paths } = await api.describe();
  expect(paths[`/rpc/${name}`]?.['post']?.requestBody?.content[type]?.schema).toEqual(schema);
});

const results: [name: string, schema: unknown][] = [
  ['add_them', INTEGER],
  ['three_numbers', { type: 'array', items: INTEGER }],
  ['get_employee', { $ref: '#/components/schemas/employees' }],
  ['all_employees', { type: 'array', items: { $ref: '#/components/schemas/employees' } }],
  ['secret_rows', { type: 'array', items: { type: 'object' } }],
  ['points', { type: 'array', items: named({ x: INTEGER, y: TEXT }) }],
  ['split', named({ tens: INTEGER, ones: INTEGER })],
  ['note_quietly', undefined],
];
test.each(results)('%s gives %j', async (name, schema) => {
  const { responses } = (await api.describe()).paths[`/rpc/${name}`]?.['post'] ?? {};
  expect(responses?.['200']?.content?.['application/json']?.schema).toEqual(schema);
  expect(responses?.['204'] !== undefined).toBe(schema === undefined);
});

test('arguments in a query have name, type and whether they are required; a set can be read like a table', async () => {
  const { paths } = await api.describe();
  expect(paths['/rpc/add_them']?.['get']).toMatchObject({
    summary: 'Adds',
    description: 'Two numbers.',
    parameters: [
      { name: 'a', in: 'query', required: true, schema: { type: 'integer', format: 'integer' } },
      { name: 'b', in: 'query', required: true },
      { $ref: '#/components/parameters/preferCall' },
      { $ref: '#/components/parameters/ifNoneMatch' },
      { $ref: '#/components/parameters/ifMatch' },
    ],
  });
  expect(paths['/rpc/greet']?.['get']?.parameters[0]).toMatchObject({ name: 'name', required: false });
  const references = paths['/rpc/points']?.['get']?.parameters.map(({ $ref }) => $ref);
  expect(references).toContain('#/components/parameters/select');
});

const shapes: [rpc: 'auto' | 'on' | 'off', own: string, absent: string][] = [
  ['auto', '/rpc/add_them', '/add_them'],
  ['on', '/add_them', '/clients'],
  ['off', '/clients', '/rpc/add_them'],
];
test.each(shapes)('dbrest_rpc %s has %s, and not %s', async (rpc, own, absent) => {
  const { info, paths } = await api.describe({ rpc });
  expect(info['title']).toBe('REST API of the schema "public"');
  expect(Object.keys(paths)).toContain(own);
  expect(Object.keys(paths)).not.toContain(absent);
});

test.each([
  [{ batch: true }, '/rpc/batch'],
  [{ batch: true, rpc: 'on' }, '/batch'],
  [{ batch: true, rpc: 'off' }, '/rpc/batch'],
] as const)('with %j batches are described at %s', async (config, path) => {
  const { paths } = await api.describe(config);
  expect(paths[path]?.['post']?.summary).toBe('Runs requests in one transaction: all of them, or none');
  expect((await api.describe({ ...config, batch: false })).paths[path]).toBeUndefined();
});
