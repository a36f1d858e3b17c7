import type { Call } from './orchestra.ts';

const made = (...data: readonly object[]): object => ({ error: null, status: 201, data });

/** Writes with all their options. Each uses rows of its own. */
export const WRITES: readonly Call[] = [
  {
    it: 'insert of a row, without its result',
    run: (c) => c.from('seats').insert({ row: 'b' }),
    gives: { error: null, status: 201, data: null },
  },
  {
    it: 'insert of rows that are selected',
    run: (c) =>
      c
        .from('seats')
        .insert([
          { row: 'c', number: 1 },
          { row: 'c', number: 2 },
        ])
        .select('row, number'),
    gives: made({ row: 'c', number: 1 }, { row: 'c', number: 2 }),
  },
  {
    it: 'insert of rows that lack a column, with defaults, counted',
    run: (c) =>
      c
        .from('seats')
        .insert([{ row: 'd' }, { row: 'd', number: 2 }], { defaultToNull: false, count: 'exact' })
        .select('number'),
    gives: { ...made({ number: 7 }, { number: 2 }), count: 2 },
  },
  {
    it: 'insert of rows that lack a column, with null',
    run: (c) => c.from('seats').insert([{ row: 'd' }, { row: 'd', number: 3 }]),
    gives: { status: 400, error: { code: '23502' } },
  },
  {
    it: 'insert of a number that JavaScript cannot hold',
    run: (c) => c.from('players').insert({ id: 77, name: 9_007_199_254_740_993n }).select('name').single(),
    gives: { error: null, data: { name: '9007199254740993' } },
  },
  {
    it: 'upsert by the primary key',
    run: async (c) => {
      await c.from('players').insert({ id: 50, name: 'Old' });
      return c.from('players').upsert({ id: 50, name: 'New' }).select();
    },
    gives: { error: null, data: [{ id: 50, name: 'New' }] },
  },
  {
    it: 'upsert by other columns, counted',
    run: (c) =>
      c
        .from('seats')
        .upsert([{ row: 'a', number: 1, note: 'x' }], { onConflict: 'row,number', count: 'exact' })
        .select('id, note'),
    gives: { error: null, data: [{ id: 1, note: 'x' }], count: 1 },
  },
  {
    it: 'upsert that ignores rows that are there',
    run: (c) =>
      c
        .from('seats')
        .upsert([{ row: 'a', number: 2, note: 'y' }], {
          onConflict: 'row,number',
          ignoreDuplicates: true,
          defaultToNull: false,
        })
        .select(),
    gives: { error: null, data: [] },
  },
  {
    it: 'update, without and with its result',
    run: async (c) => {
      await c.from('seats').insert({ row: 'e', number: 1 });
      const quiet = await c.from('seats').update({ note: 'n' }, { count: 'exact' }).eq('row', 'e');
      const shown = await c.from('seats').update({ note: null }).eq('row', 'e').select('row, note');
      return [quiet, shown];
    },
    gives: [
      { error: null, status: 204, data: null, count: 1 },
      { error: null, status: 200, data: [{ row: 'e', note: null }] },
    ],
  },
  {
    it: 'update of rows by their keys',
    run: (c) =>
      c
        .from('players')
        .update([
          { id: 1, name: 'Anne' },
          { id: 2, name: 'Rob' },
        ])
        .select('id, name')
        .order('id')
        .rollback(),
    gives: {
      error: null,
      data: [
        { id: 1, name: 'Anne' },
        { id: 2, name: 'Rob' },
      ],
    },
  },
  {
    it: 'upsert of rows that lack a column, where they are there',
    run: (c) =>
      c
        .from('instruments')
        .upsert([
          { id: 1, price: 99 },
          { id: 3, price: 79 },
        ])
        .select('name, price')
        .order('price')
        .rollback(),
    gives: {
      error: null,
      status: 200,
      data: [
        { name: 'flute', price: 79 },
        { name: 'violin', price: 99 },
      ],
    },
  },
  {
    it: 'upsert that ignores duplicates of any key',
    run: (c) =>
      c
        .from('seats')
        .upsert({ id: 900, row: 'a', number: 1 }, { onConflict: '*', ignoreDuplicates: true })
        .select(),
    gives: { error: null, data: [] },
  },
  {
    it: 'update of JSON and arrays',
    run: (c) =>
      c
        .from('instruments')
        .update({ facts: { keys: [1, 'two'] }, tags: ['a b', 'c"d', 'e,f'] })
        .eq('id', 4)
        .select('facts, tags')
        .rollback(),
    gives: { error: null, data: [{ facts: { keys: [1, 'two'] }, tags: ['a b', 'c"d', 'e,f'] }] },
  },
  {
    it: 'delete, counted, without and with its result',
    run: async (c) => {
      await c.from('seats').insert([
        { row: 'f', number: 1 },
        { row: 'f', number: 2 },
      ]);
      const shown = await c.from('seats').delete().eq('row', 'f').eq('number', 1).select('number').single();
      const quiet = await c.from('seats').delete({ count: 'exact' }).eq('row', 'f');
      return [shown, quiet];
    },
    gives: [
      { error: null, status: 200, data: { number: 1 } },
      { error: null, status: 204, data: null, count: 1 },
    ],
  },
  {
    it: 'rollback',
    run: async (c) => {
      const tried = await c.from('seats').insert({ row: 'g' }).select('row').rollback();
      const { data } = await c.from('seats').select('row').eq('row', 'g');
      return { tried, data };
    },
    gives: { tried: made({ row: 'g' }), data: [] },
  },
  {
    it: 'maxAffected',
    run: async (c) => {
      await c.from('seats').insert([
        { row: 'h', number: 1 },
        { row: 'h', number: 2 },
      ]);
      const few = () => c.from('seats').delete().eq('row', 'h');
      const [over, under] = [await few().maxAffected(1), await few().maxAffected(2)];
      return [over, under];
    },
    gives: [
      { status: 400, error: { code: 'PGRST124' } },
      { error: null, status: 204 },
    ],
  },
  {
    it: 'writes of another schema',
    run: (c) =>
      c.schema('backstage').from('lockers').insert({ id: 2, owner: 'Bob' }).select('owner').single(),
    gives: { error: null, data: { owner: 'Bob' } },
  },
];

/** Calls of functions with all their options. */
export const CALLS: readonly Call[] = [
  {
    it: 'rpc without arguments',
    run: (c) => c.rpc('hello'),
    gives: { error: null, status: 200, data: 'hello' },
  },
  { it: 'rpc with an array', run: (c) => c.rpc('sum_of', { items: [1, 2, 3] }), gives: { data: 6 } },
  {
    it: 'rpc by GET',
    run: (c) => c.rpc('sum_of', { items: [1, 2, 3] }, { get: true }),
    gives: { error: null, data: 6 },
  },
  {
    it: 'rpc of rows, filtered, ordered, embedded, counted',
    run: (c) =>
      c
        .rpc('instruments_below', { most: 120 }, { count: 'exact' })
        .select('name, sections(name)')
        .gt('price', 90)
        .order('id'),
    gives: { error: null, count: 1, data: [{ name: 'violin', sections: { name: 'strings' } }] },
  },
  {
    it: 'rpc of rows by HEAD',
    run: (c) => c.rpc('instruments_below', undefined, { head: true, count: 'exact' }),
    gives: { error: null, data: null, count: 3 },
  },
  {
    // It asks for no body, which PostgREST does not heed for functions either.
    it: 'rpc by HEAD with an object, which the library posts',
    run: (c) => c.rpc('facts_of', { about: { strings: 4 } }, { head: true, count: 'exact' }),
    gives: { error: null, data: 4, status: 200 },
  },
  {
    it: 'rpc of rows, of which one is wanted',
    run: (c) => c.rpc('instruments_below', { most: 90 }).single(),
    gives: { error: null, data: { id: 3 } },
  },
  {
    it: 'rpc that returns nothing',
    run: (c) => c.rpc('forget'),
    gives: { error: null, status: 204, data: null },
  },
  {
    it: 'rpc with maxAffected',
    run: async (c) => {
      await c.from('seats').insert([
        { row: 'k', number: 1 },
        { row: 'k', number: 2 },
      ]);
      const over = await c.rpc('free_seat', { seat_row: 'k' }).maxAffected(1);
      const under = await c
        .rpc('free_seat', { seat_row: 'k' })
        .select('number')
        .order('number')
        .maxAffected(2);
      return [over, under];
    },
    gives: [
      { status: 400, error: { code: 'PGRST124' } },
      { error: null, data: [{ number: 1 }, { number: 2 }] },
    ],
  },
  {
    it: 'rpc that fails',
    run: (c) => c.rpc('fails'),
    gives: {
      status: 400,
      error: { code: 'P0001', message: 'no', details: 'because', hint: 'try later' },
    },
  },
];
