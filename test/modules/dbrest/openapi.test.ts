import SwaggerParser from '@apidevtools/swagger-parser';
import { expect, test } from 'vitest';
import { type Document, isMethod, library } from './library.ts';

const api = library();

test('the description is valid OpenAPI 3.1, for every role and with everything in it', async () => {
  for (const config of [{}, { anonRole: 'web_user' }, { openapi: 'ignore-privileges' }] as const) {
    const document = await api.describe({ ...config, schemas: ['public', 'other'] });
    expect(document.openapi).toBe('3.1.0');
    await SwaggerParser.validate(structuredClone(document) as never);
  }
});

test('columns that are never null are required of a row, and those without a default of a new row', async () => {
  const { schemas } = (await api.describe({ anonRole: 'web_user' })).components;
  const notNull = ['id', 'title', 'author_id', 'count', 'mail', 'flag'];
  expect(schemas['books']?.required).toEqual(notNull);
  expect(schemas['books.insert']?.required).toEqual(['title', 'author_id', 'mail']);
  expect(schemas['books.update']?.required).toBeUndefined();
  expect(schemas['books.insert']).toMatchObject({ $ref: '#/components/schemas/books.update' });
  expect(Object.keys(schemas['books.update']?.properties ?? {})).not.toContain('words');
  expect(schemas['authors.insert']).toMatchObject({ required: ['name'] });
  expect(Object.keys(schemas['authors.update']?.properties ?? {})).toEqual(['name']);
  const { schemas: forAnon } = (await api.describe()).components;
  expect(Object.keys(forAnon['written.insert']?.properties ?? {})).toEqual(['id', 'word', 'note']);
  expect(schemas['titles.insert']?.required).toBeUndefined();
});

test('a comment gives title and description of the API or an operation', async () => {
  const { info, paths } = await api.describe();
  expect(info).toMatchObject({ title: 'Library', description: 'Books and who wrote them.' });
  expect(paths['/books']?.['get']).toMatchObject({
    summary: 'All books',
    description: 'Each of them once.\nNo copies.',
  });
});

test('conditions are shown where they hold', async () => {
  const shown = async (config: Parameters<typeof api.describe>[0], path: string): Promise<string[]> => {
    const document = await api.describe({ anonRole: 'web_user', ...config });
    await SwaggerParser.validate(structuredClone(document) as never);
    return ['get', 'put', 'patch', 'delete', 'post'].map((method) => {
      const text = JSON.stringify(document.paths[path]?.[method]);
      return ['ifNoneMatch', 'ifMatch', 'ifAbsent', '"304"', '"412"']
        .filter((word) => text.includes(word))
        .join();
    });
  };
  const read = 'ifNoneMatch,ifMatch,"304","412"';
  const write = 'ifMatch,"412"';
  const versions = { rowVersion: 'xmin' };
  expect(await shown({}, '/books')).toEqual([read, '', '', '', '']);
  expect(await shown(versions, '/books')).toEqual([read, 'ifMatch,ifAbsent,"412"', write, write, '']);
  expect(await shown(versions, '/titles')).toEqual([read, '', '', '', '']);
  expect(await shown({ etag: false }, '/books')).toEqual(['', '', '', '', '']);
});

const methods: [role: string, path: string, methods: string[]][] = [
  ['anon', '/', ['get']],
  ['anon', '/books', ['get']],
  ['web_user', '/books', ['get', 'post', 'put', 'patch', 'delete']],
  ['web_user', '/authors', ['get', 'post', 'patch', 'delete']],
  ['web_user', '/titles', ['get', 'post', 'put', 'patch', 'delete']],
  ['anon', '/counted', ['get']],
  ['anon', '/written', ['post']],
  ['anon', '/partly', ['get', 'patch']],
  ['anon', '/hidden', []],
  ['web_user', '/hidden', []],
  ['anon', '/parted', ['get']],
  ['anon', '/parted_1', []],
];
test.each(methods)('%s may use %s by %j', async (role, path, expected) => {
  expect(Object.keys((await api.describe({ anonRole: role })).paths[path] ?? {}).filter(isMethod)).toEqual(
    expected,
  );
});

test('with dbrest_nested_insert, new rows may have rows of related tables', async () => {
  const describe = async (nestedInsert: boolean) => {
    const document = await api.describe({ anonRole: 'web_user', nestedInsert });
    await SwaggerParser.validate(structuredClone(document) as never);
    const { schemas } = document.components;
    return ['authors.insert', 'books.insert'].map((name) => schemas[name]);
  };
  const row = (name: string) => ({ $ref: `#/components/schemas/${name}.insert` });
  const nested = (name: string, schema: object) =>
    expect.objectContaining({
      allOf: [{ properties: expect.objectContaining({ [name]: schema }) as object }],
    }) as object;
  expect(await describe(true)).toEqual([
    nested('books', { type: 'array', items: row('books') }),
    nested('authors', row('authors')),
  ]);
  const [, book] = await describe(true);
  // The rows of the author around it, or in it, tell the author.
  expect(book).toMatchObject({ required: ['title', 'mail'] });
  expect(JSON.stringify(await describe(false))).not.toContain('allOf');
});

test('paths that can be read say that they take a QUERY', async () => {
  const { paths } = await api.describe({ anonRole: 'anon' });
  const told = ['/books', '/written'].map((path) => 'description' in (paths[path] ?? {}));
  expect(told).toEqual([true, false]);
});

test('only columns are shown that the role may read or write', async () => {
  const { schemas, parameters } = (await api.describe()).components;
  expect(Object.keys(schemas['partly']?.properties ?? {})).toEqual(['id', 'open']);
  expect(Object.keys(schemas['partly.update']?.properties ?? {})).toEqual(['open']);
  expect(Object.keys(parameters)).not.toContain('rowFilter.partly.secret');
  expect(schemas['written']?.properties).toMatchObject({
    id: { writeOnly: true },
    word: { writeOnly: true },
  });
  expect(JSON.stringify(schemas)).not.toContain('hidden');
});

test('dbrest_openapi ignore-privileges shows everything', async () => {
  const { paths } = await api.describe({ openapi: 'ignore-privileges' });
  expect(Object.keys(paths['/hidden'] ?? {}).filter(isMethod)).toEqual([
    'get',
    'post',
    'put',
    'patch',
    'delete',
  ]);
});

test('names are escaped in URLs and in component names', async () => {
  const { paths, components } = await api.describe();
  expect(Object.keys(paths)).toContain('/odd%20%2F%20n%C3%A4me');
  const name = 'odd.20..2f..20.n.e4.me';
  expect(Object.keys(components.schemas[name]?.properties ?? {})).toEqual(['a b', 'select', '~/%']);
  const filters = Object.keys(components.parameters).filter((key) => key.startsWith(`rowFilter.${name}.`));
  expect(filters.map((key) => components.parameters[key]?.name)).toEqual(['a b', '~/%']);
});

test('reads take filters of groups where aggregates are allowed, and distinct rows', async () => {
  const refs = async (config: object, path: string): Promise<string[]> => {
    const { paths } = await api.describe(config);
    const parameters = paths[path]?.['get']?.parameters as { $ref: string }[];
    return parameters.map(({ $ref }) => $ref.replace('#/components/parameters/', ''));
  };
  expect(await refs({}, '/books')).toEqual(expect.arrayContaining(['having', 'distinct', 'order']));
  const without = await refs({ aggregates: false }, '/books');
  expect([without.includes('having'), without.includes('distinct')]).toEqual([false, true]);
  const { paths } = await api.describe({ anonRole: 'web_user' });
  expect(JSON.stringify(paths['/books']?.['patch'])).not.toContain('parameters/having');
});

test('a header chooses among several schemas, and operations list them', async () => {
  const location = await api.location({ schemas: ['public', 'other', 'closed'] });
  const other = await location.get('/api/', { 'accept-profile': 'other' });
  expect(other.headers['content-profile']).toBe('other');
  const { paths, components } = JSON.parse(other.body) as Document;
  expect(Object.keys(paths)).toEqual(['/', '/things']);
  expect(components.parameters['acceptProfile']).toMatchObject({
    name: 'Accept-Profile',
    schema: { enum: ['public', 'other', 'closed'], default: 'public' },
  });
  expect(paths['/things']?.['get']?.parameters).toContainEqual({
    $ref: '#/components/parameters/acceptProfile',
  });
  const closed = await location.get('/api/', { 'accept-profile': 'closed' });
  expect(Object.keys((JSON.parse(closed.body) as Document).paths)).toEqual(['/']);
  expect((await location.get('/api/', { 'accept-profile': 'pg_catalog' })).status).toBe(406);
});
