import type { Call } from './orchestra.ts';

const rows = (...data: readonly object[]): object => ({ error: null, status: 200, data });

/** Selections, embeds, and every method that shapes a result. */
export const READS: readonly Call[] = [
  {
    it: 'select without columns',
    run: (c) => c.from('sections').select().eq('id', 1),
    gives: rows({ id: 1, name: 'strings' }),
  },
  {
    it: 'select with other names, casts and blanks',
    run: (c) => c.from('instruments').select('id::text, title: name').eq('id', 1),
    gives: rows({ id: '1', title: 'violin' }),
  },
  {
    it: 'select of JSON paths',
    run: (c) =>
      c.from('instruments').select('facts->maker->>name, made:facts->maker, n:facts->strings').eq('id', 1),
    gives: rows({ name: 'Amati', made: { name: 'Amati' }, n: 4 }),
  },
  {
    it: 'select with a count of rows, exact, planned and estimated',
    run: async (c) => {
      const counted = await Promise.all(
        (['exact', 'planned', 'estimated'] as const).map((count) =>
          c.from('sections').select('id', { count }).limit(1),
        ),
      );
      return counted.map(({ count, error }) => [typeof count, error]);
    },
    gives: [
      ['number', null],
      ['number', null],
      ['number', null],
    ],
  },
  {
    it: 'select of the count alone',
    run: (c) => c.from('instruments').select('*', { count: 'exact', head: true }),
    gives: { error: null, data: null, count: 4 },
  },
  {
    it: 'embeds of children, of a parent and through a junction',
    run: (c) =>
      c
        .from('players')
        .select('name, instruments(name, section:sections!inner(name))')
        .lt('id', 10)
        .order('id')
        .order('id', { referencedTable: 'instruments', ascending: false }),
    gives: rows(
      {
        name: 'Ann',
        instruments: [
          { name: 'viola', section: { name: 'strings' } },
          { name: 'violin', section: { name: 'strings' } },
        ],
      },
      { name: 'Bob', instruments: [{ name: 'flute', section: { name: 'woodwinds' } }] },
    ),
  },
  {
    it: 'embeds by the names of their keys',
    run: (c) =>
      c.from('messages').select('body, from:players!sent_by(name), to:players!sent_to(name)').eq('id', 1),
    gives: rows({ body: 'hello', from: { name: 'Ann' }, to: { name: 'Bob' } }),
  },
  {
    it: 'counts of embedded rows',
    run: (c) => c.from('sections').select('name, instruments(count)').eq('id', 1),
    gives: rows({ name: 'strings', instruments: [{ count: 2 }] }),
  },
  {
    it: 'filters of embedded rows that may be missing',
    run: (c) => c.from('sections').select('name, instruments()').is('instruments', null),
    gives: rows({ name: 'percussion' }),
  },
  {
    it: 'spread embeds, to one and to many',
    run: (c) => c.from('instruments').select('name, ...sections(section:name)').eq('id', 1),
    gives: rows({ name: 'violin', section: 'strings' }),
  },
  {
    it: 'spread embeds of many rows',
    run: (c) => c.from('sections').select('name, ...instruments(instruments:name)').eq('id', 1),
    gives: rows({ name: 'strings', instruments: ['violin', 'viola'] }),
  },
  {
    it: 'aggregates, grouped by other columns',
    run: (c) =>
      c.from('instruments').select('section_id, price.sum(), most:price.max(), count()').order('section_id'),
    gives: rows(
      { section_id: 1, sum: 250, most: 150, count: 2 },
      { section_id: 2, sum: 80.5, most: 80.5, count: 2 },
    ),
  },
  {
    it: 'order with nulls and directions',
    run: (c) =>
      c
        .from('instruments')
        .select('id')
        .order('is_old', { ascending: false, nullsFirst: true })
        .order('id', { ascending: false }),
    gives: rows({ id: 4 }, { id: 3 }, { id: 1 }, { id: 2 }),
  },
  {
    it: 'order by a column of the parent',
    run: (c) =>
      c
        .from('instruments')
        .select('id, sections()')
        .order('sections(name)', { ascending: false })
        .order('id'),
    gives: rows({ id: 3 }, { id: 4 }, { id: 1 }, { id: 2 }),
  },
  {
    it: 'limit and range, of rows and of embedded rows',
    run: (c) =>
      c
        .from('sections')
        .select('id, instruments(id)')
        .order('id')
        .range(0, 1)
        .order('id', { referencedTable: 'instruments' })
        .range(1, 1, { referencedTable: 'instruments' }),
    gives: rows({ id: 1, instruments: [{ id: 2 }] }, { id: 2, instruments: [{ id: 4 }] }),
  },
  {
    it: 'limit of embedded rows by the older name of the option',
    run: (c) =>
      c.from('sections').select('instruments(id)').eq('id', 1).limit(1, { foreignTable: 'instruments' }),
    gives: rows({ instruments: [{ id: 1 }] }),
  },
  {
    it: 'single',
    run: (c) => c.from('sections').select('name').eq('id', 1).single(),
    gives: { error: null, status: 200, data: { name: 'strings' } },
  },
  {
    it: 'single of several rows',
    run: (c) => c.from('sections').select('name').single(),
    gives: { status: 406, data: null, error: { code: 'PGRST116', details: 'The result contains 3 rows' } },
  },
  {
    it: 'maybeSingle of a row and of none',
    run: async (c) =>
      Promise.all([1, 9].map((id) => c.from('sections').select('name').eq('id', id).maybeSingle())),
    gives: [
      { error: null, data: { name: 'strings' } },
      { error: null, data: null, status: 200 },
    ],
  },
  {
    it: 'csv',
    run: (c) => c.from('sections').select('id, name').lt('id', 3).order('id').csv(),
    gives: { error: null, data: 'id,name\n1,strings\n2,woodwinds' },
  },
  {
    it: 'geojson without PostGIS',
    run: (c) => c.from('sections').select().geojson(),
    gives: { status: 406, error: { code: 'PGRST107' } },
  },
  {
    it: 'explain as text',
    run: (c) => c.from('sections').select().explain(),
    gives: { error: null, status: 200, data: expectText(/cost=/) },
  },
  {
    it: 'explain as JSON, with every option',
    run: (c) =>
      c
        .from('sections')
        .select()
        .explain({ format: 'json', analyze: true, verbose: true, settings: true, buffers: true, wal: true }),
    gives: { error: null, status: 200, data: [{ Plan: { 'Actual Rows': 3 } }] },
  },
  {
    it: 'stripNulls of rows and of a row',
    run: async (c) => {
      const flute = () => c.from('instruments').select('id, facts').eq('id', 3);
      const [many, one] = await Promise.all([flute().stripNulls(), flute().single().stripNulls()]);
      return [many.data, one.data];
    },
    gives: [[{ id: 3 }], { id: 3 }],
  },
  {
    it: 'another schema',
    run: (c) => c.schema('backstage').from('lockers').select().eq('id', 1),
    gives: rows({ id: 1, owner: 'Ann' }),
  },
  {
    it: 'types of results, which change nothing',
    run: (c) =>
      c.from('sections').select('id').eq('id', 1).returns<{ id: number }[]>().overrideTypes<{ id: 1 }[]>(),
    gives: rows({ id: 1 }),
  },
];

function expectText(pattern: RegExp): unknown {
  return { asymmetricMatch: (value: unknown) => typeof value === 'string' && pattern.test(value) };
}
