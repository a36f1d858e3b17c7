import { expect, test } from 'vitest';
import type { ApiTypes } from '../../../src/modules/dbrest/types/index.ts';
import type { DbrestConfig } from '../../../src/modules/dbrest/directives/index.ts';
import { library } from './library.ts';

const api = library();
const TYPES = 'application/vnd.dbrest.types+json';

async function typesFor(config: Partial<DbrestConfig>): Promise<ApiTypes> {
  const { status, body } = await (await api.location(config)).get('/api/', { accept: TYPES });
  expect(status).toBe(200);
  return JSON.parse(body) as ApiTypes;
}

const tablesOf = ({ schemas }: ApiTypes, name: string): readonly string[] | undefined =>
  schemas.find((schema) => schema.name === name)?.tables.map((table) => table.name);

test('the root describes types under their media type, whatever else is accepted less', async () => {
  const location = await api.location({});
  const accept = `${TYPES}, application/json;q=0.5`;
  const { status, headers, body } = await location.get('/api/', { accept });
  expect([status, headers['content-type']]).toEqual([200, `${TYPES}; charset=utf-8`]);
  expect(Object.keys(JSON.parse(body) as object)).toEqual(['schemas']);
  const less = await location.get('/api/', { accept: `application/json, ${TYPES};q=0.5` });
  expect(Object.keys(JSON.parse(less.body) as object)).toContain('openapi');
});

test('types are those of all schemas that are served, of what the role may use', async () => {
  const schemas = ['public', 'other'];
  const anon = await typesFor({ schemas });
  expect(anon.schemas.map(({ name }) => name)).toEqual(schemas);
  expect(tablesOf(anon, 'public')).toEqual([
    'authors',
    'books',
    'copies',
    'odd / näme',
    'parted',
    'partly',
    'written',
  ]);
  expect(tablesOf(anon, 'other')).toEqual(['things']);
  const user = await typesFor({ schemas, anonRole: 'web_user' });
  expect(tablesOf(user, 'public')).toEqual(['authors', 'books', 'copies']);
  expect(tablesOf(user, 'other')).toEqual([]);
  expect(tablesOf(await typesFor({ openapi: 'ignore-privileges' }), 'public')).toContain('hidden');
});

test('a role without privileges on a schema learns nothing of it', async () => {
  const { schemas } = await typesFor({ schemas: ['closed'] });
  expect(schemas).toEqual([
    { name: 'closed', tables: [], views: [], functions: [], enums: [], composites: [] },
  ]);
});

test('the types and the OpenAPI document are kept apart', async () => {
  const location = await api.location({ schemas: ['public', 'other'] });
  const types = await location.get('/api/', { accept: TYPES });
  const document = await location.get('/api/');
  expect((await location.get('/api/', { accept: TYPES })).body).toBe(types.body);
  expect((await location.get('/api/')).body).toBe(document.body);
  expect(types.body).not.toBe(document.body);
});

test('tables cannot be asked for types', async () => {
  const { status } = await (await api.location({})).get('/api/books', { accept: TYPES });
  expect(status).toBe(406);
});
