import { expect, test } from 'vitest';
import { library } from './library.ts';

const api = library();

const columns: [column: string, schema: Record<string, unknown>][] = [
  ['id', { type: 'integer', format: 'bigint', 'x-pg-identity': 'by default' }],
  ['title', { type: 'string', format: 'text', description: 'As on the cover' }],
  ['mood', { type: ['string', 'null'], format: 'public.mood', enum: ['sad', 'ok', null], default: 'ok' }],
  ['price', { type: ['number', 'null'], format: 'numeric', 'x-pg-type': 'numeric(10,2)', default: 9.5 }],
  ['count', { type: 'integer', format: 'integer', default: 0 }],
  [
    'tags',
    {
      type: ['array', 'null'],
      format: 'text[]',
      items: { type: ['string', 'null'], format: 'text' },
      default: [],
    },
  ],
  [
    'moods',
    {
      type: ['array', 'null'],
      format: 'public.mood[]',
      items: { type: ['string', 'null'], format: 'public.mood', enum: ['sad', 'ok', null] },
    },
  ],
  ['mail', { type: 'string', format: 'text', 'x-pg-type': 'public.email', description: 'An address' }],
  [
    'cost',
    {
      type: ['object', 'null'],
      format: 'public.money_amount',
      properties: {
        amount: { type: ['number', 'null'], format: 'numeric', 'x-pg-type': 'numeric(12,2)' },
        currency: { type: ['string', 'null'], format: 'text' },
      },
    },
  ],
  ['data', { format: 'jsonb', default: { a: 1 } }],
  ['raw', { format: 'json' }],
  ['at', { type: ['string', 'null'], format: 'timestamp with time zone', 'x-pg-default': 'now()' }],
  ['born', { type: ['string', 'null'], format: 'date' }],
  ['ref', { type: ['string', 'null'], format: 'uuid' }],
  ['flag', { type: 'boolean', format: 'boolean', default: false }],
  ['note', { type: ['string', 'null'], format: 'text', default: "it's" }],
  ['code', { type: ['string', 'null'], format: 'character', maxLength: 3, 'x-pg-type': 'character(3)' }],
  ['bits', { type: ['string', 'null'], format: 'bytea' }],
  ['ratio', { type: ['number', 'null'], format: 'real' }],
  ['exact', { type: ['number', 'null'], format: 'numeric' }],
  ['big', { type: ['integer', 'null'], format: 'bigint', 'x-pg-default': `'9007199254740993'::bigint` }],
  ['words', { type: ['string', 'null'], format: 'tsvector', readOnly: true }],
  ['period', { type: ['string', 'null'], format: 'int4range' }],
  ['labels', { format: 'public.hstore' }],
  ['author', { anyOf: [{ $ref: '#/components/schemas/authors' }, { type: 'null' }] }],
];
test.each(columns)('the column %s is %j', async (name, schema) => {
  const shown = (await api.describe({ anonRole: 'web_user' })).components.schemas['books'];
  const found = shown?.properties[name] ?? {};
  const keys = new Set(['type', 'format', 'readOnly', 'default', ...Object.keys(schema)]);
  if (name === 'id') keys.delete('x-pg-default');
  const compared = Object.fromEntries(Object.entries(found).filter(([key]) => keys.has(key)));
  expect(compared).toEqual(schema);
});

test('a key column is described in words and in data', async () => {
  const { schemas } = (await api.describe()).components;
  expect(schemas['books']).toMatchObject({
    'x-primary-key': ['id'],
    properties: {
      id: { description: 'Note:\nThis is a Primary Key.<pk/>' },
      author_id: {
        description: "Note:\nThis is a Foreign Key to `authors.id`.<fk table='authors' column='id'/>",
      },
    },
  });
  expect((schemas['books'] as unknown as Record<string, unknown>)['x-relationships']).toContainEqual({
    target: 'authors',
    cardinality: 'many-to-one',
    constraint: 'books_author_id_fkey',
    columns: [['author_id', 'id']],
  });
});
