import SwaggerParser from '@apidevtools/swagger-parser';
import { expect, onTestFinished, test } from 'vitest';
import { postgres } from '../../harness/postgres.ts';
import { type Direct, direct } from './direct.ts';
import { library } from './library.ts';

const api = library();
const V2 = 'application/openapi+json;version=2.0';

interface Swagger {
  readonly swagger?: string;
  readonly openapi?: string;
  readonly basePath: string;
  readonly host?: string;
  readonly schemes?: readonly string[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly definitions: Readonly<Record<string, Definition>>;
}
interface Operation {
  readonly tags: readonly string[];
  readonly parameters: readonly Readonly<Record<string, unknown>>[];
}
interface Definition {
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

async function read(config: Parameters<typeof api.location>[0] = {}, accept = V2): Promise<Swagger> {
  const { status, body } = await (await api.location(config)).get('/api/', { accept });
  expect(status).toBe(200);
  return JSON.parse(body) as Swagger;
}

test('the description of version 2.0 is valid, for every role and with everything in it', async () => {
  for (const config of [{}, { anonRole: 'web_user' }, { openapi: 'ignore-privileges' }] as const) {
    const document = await read(config);
    expect([document.swagger, document.basePath]).toEqual(['2.0', '/api']);
    await SwaggerParser.validate(structuredClone(document) as never);
  }
});

const versions = [
  [{}, V2, '2.0'],
  [{}, 'application/openapi+json; Version="2.0"', '2.0'],
  [{}, 'application/openapi+json', undefined],
  [{}, 'application/openapi+json;version=3.1', undefined],
  [{ openapiVersion: '2.0' }, '*/*', '2.0'],
  [{ openapiVersion: '2.0' }, 'application/json', '2.0'],
  [{ openapiVersion: '2.0' }, 'application/openapi+json;version=3.1', undefined],
] as const;
test.each(versions)(
  'with %j and Accept: %s the description has swagger: %s',
  async (config, accept, swagger) => {
    const document = await read(config, accept);
    expect([document.swagger, document.openapi]).toEqual([swagger, swagger ? undefined : '3.1.0']);
  },
);

test('the media type of the response names the version', async () => {
  const { headers } = await (await api.location({})).get('/api/', { accept: V2 });
  expect(headers['content-type']).toBe(`${V2}; charset=utf-8`);
});

test('the host is that of dbrest_openapi_server', async () => {
  const { host, schemes, basePath } = await read({ openapiServer: 'https://api.example.org:8443/v1/' });
  expect({ host, schemes, basePath }).toEqual({
    host: 'api.example.org:8443',
    schemes: ['https'],
    basePath: '/v1',
  });
});

test('tables have the definitions, parameters and operations of PostgREST', async () => {
  const { definitions, paths } = await read({ anonRole: 'web_user' });
  expect(definitions['books']?.required).toEqual(['id', 'title', 'author_id', 'count', 'mail', 'flag']);
  expect(definitions['books']?.properties).toMatchObject({
    id: { type: 'integer', format: 'bigint', description: 'Note:\nThis is a Primary Key.<pk/>' },
    title: { type: 'string', format: 'text', description: 'As on the cover' },
    author_id: { description: expect.stringContaining("<fk table='authors' column='id'/>") as string },
    mood: { type: 'string', format: 'public.mood', enum: ['sad', 'ok'], default: 'ok' },
    tags: { type: 'array', items: { type: 'string' } },
    code: { type: 'string', maxLength: 3 },
  });
  expect(definitions['books']?.properties['data']).not.toHaveProperty('type');
  expect(Object.keys(paths['/books'] ?? {})).toEqual(['get', 'post', 'patch', 'delete']);
  expect(Object.keys(paths['/counted'] ?? {})).toEqual([]);
  expect(paths['/books']?.['get']?.parameters).toContainEqual({ $ref: '#/parameters/rowFilter.books.title' });
  expect(paths['/books']?.['post']?.parameters[0]).toEqual({ $ref: '#/parameters/body.books' });
});

test('functions have their arguments, and GET only if they may be called so', async () => {
  const { dsn } = await postgres(`
    create function add(a int, b int default 1) returns int immutable language sql as 'select 1';
    create function note(what text, more json, variadic tags text[]) returns void volatile language sql as '';
    create function many(variadic ids int[]) returns int stable language sql as 'select 1';`);
  const location: Direct = await direct({ onTestFinished }, dsn);
  const { paths } = JSON.parse((await location.get('/api/', { accept: V2 })).body) as Swagger;
  expect(Object.keys(paths['/rpc/add'] ?? {})).toEqual(['get', 'post']);
  expect(paths['/rpc/add']?.['get']?.parameters).toEqual([
    { name: 'a', required: true, in: 'query', type: 'integer', format: 'integer' },
    { name: 'b', required: false, in: 'query', type: 'integer', format: 'integer' },
  ]);
  expect(Object.keys(paths['/rpc/note'] ?? {})).toEqual(['post']);
  expect(paths['/rpc/note']?.['post']?.parameters[0]).toMatchObject({
    name: 'args',
    in: 'body',
    schema: { type: 'object', required: ['what', 'more', 'tags'], properties: { what: { type: 'string' } } },
  });
  expect(paths['/rpc/many']?.['get']?.parameters[0]).toMatchObject({
    type: 'array',
    collectionFormat: 'multi',
  });
});
