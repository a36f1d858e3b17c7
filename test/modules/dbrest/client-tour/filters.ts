import { type Call, named, type TourClient } from './orchestra.ts';

const instruments = (client: TourClient) => client.from('instruments').select('name').order('id');

/** Every method that filters. */
export const FILTERS: readonly Call[] = [
  { it: 'eq', run: (c) => instruments(c).eq('name', 'piccolo, in C'), gives: named('piccolo, in C') },
  { it: 'neq', run: (c) => instruments(c).neq('section_id', 1), gives: named('flute', 'piccolo, in C') },
  { it: 'gt', run: (c) => instruments(c).gt('price', 100), gives: named('viola') },
  { it: 'gte', run: (c) => instruments(c).gte('price', 100), gives: named('violin', 'viola') },
  { it: 'lt', run: (c) => instruments(c).lt('price', 100), gives: named('flute') },
  { it: 'lte', run: (c) => instruments(c).lte('price', 80.5), gives: named('flute') },
  { it: 'like', run: (c) => instruments(c).like('name', 'vio%'), gives: named('violin', 'viola') },
  { it: 'likeAllOf', run: (c) => instruments(c).likeAllOf('name', ['vio%', '%n']), gives: named('violin') },
  {
    it: 'likeAnyOf',
    run: (c) => instruments(c).likeAnyOf('name', ['fl%', '%n']),
    gives: named('violin', 'flute'),
  },
  { it: 'ilike', run: (c) => instruments(c).ilike('name', '%OLA'), gives: named('viola') },
  { it: 'ilikeAllOf', run: (c) => instruments(c).ilikeAllOf('name', ['V%', '%LA']), gives: named('viola') },
  {
    it: 'ilikeAnyOf',
    run: (c) => instruments(c).ilikeAnyOf('name', ['F%', '%LA']),
    gives: named('viola', 'flute'),
  },
  { it: 'regexMatch', run: (c) => instruments(c).regexMatch('name', '^v.+n$'), gives: named('violin') },
  { it: 'regexIMatch', run: (c) => instruments(c).regexIMatch('name', '^FL(U|X)'), gives: named('flute') },
  { it: 'is null', run: (c) => instruments(c).is('price', null), gives: named('piccolo, in C') },
  { it: 'is true', run: (c) => instruments(c).is('is_old', true), gives: named('violin') },
  {
    it: 'isDistinct',
    run: (c) => instruments(c).isDistinct('is_old', true),
    gives: named('viola', 'flute', 'piccolo, in C'),
  },
  {
    it: 'in',
    run: (c) => instruments(c).in('name', ['violin', 'piccolo, in C']),
    gives: named('violin', 'piccolo, in C'),
  },
  {
    it: 'notIn',
    run: (c) => instruments(c).notIn('name', ['violin', 'piccolo, in C']),
    gives: named('viola', 'flute'),
  },
  {
    it: 'contains of an array',
    run: (c) => instruments(c).contains('tags', ['wood', 'deep']),
    gives: named('viola'),
  },
  {
    it: 'contains of jsonb',
    run: (c) => instruments(c).contains('facts', { maker: { name: 'Amati' } }),
    gives: named('violin'),
  },
  { it: 'contains of a range', run: (c) => instruments(c).contains('lent', '[2,3)'), gives: named('violin') },
  {
    it: 'containedBy of an array',
    run: (c) => instruments(c).containedBy('tags', ['silver', 'wood']),
    gives: named('flute', 'piccolo, in C'),
  },
  {
    it: 'containedBy of jsonb',
    run: (c) => instruments(c).containedBy('facts', { strings: 4, bows: 1 }),
    gives: named('viola'),
  },
  {
    it: 'containedBy of a range',
    run: (c) => instruments(c).containedBy('lent', '[1,9)'),
    gives: named('violin', 'viola'),
  },
  { it: 'rangeGt', run: (c) => instruments(c).rangeGt('lent', '[1,9)'), gives: named('flute') },
  { it: 'rangeGte', run: (c) => instruments(c).rangeGte('lent', '[5,6)'), gives: named('viola', 'flute') },
  { it: 'rangeLt', run: (c) => instruments(c).rangeLt('lent', '[5,6)'), gives: named('violin') },
  { it: 'rangeLte', run: (c) => instruments(c).rangeLte('lent', '[2,9)'), gives: named('violin', 'viola') },
  { it: 'rangeAdjacent', run: (c) => instruments(c).rangeAdjacent('lent', '[9,12)'), gives: named('viola') },
  {
    it: 'overlaps of an array',
    run: (c) => instruments(c).overlaps('tags', ['deep', 'silver']),
    gives: named('viola', 'flute'),
  },
  {
    it: 'overlaps of a range',
    run: (c) => instruments(c).overlaps('lent', '[4,6)'),
    gives: named('violin', 'viola'),
  },
  {
    it: 'textSearch',
    run: (c) => instruments(c).textSearch('words', `'small' & 'violin'`),
    gives: named('violin'),
  },
  {
    it: 'textSearch with a configuration',
    run: (c) => instruments(c).textSearch('words', 'violins', { config: 'english' }),
    gives: named('violin', 'viola'),
  },
  {
    it: 'plain textSearch',
    run: (c) => instruments(c).textSearch('words', 'violin small', { type: 'plain', config: 'english' }),
    gives: named('violin'),
  },
  {
    it: 'phrase textSearch',
    run: (c) => instruments(c).textSearch('words', 'small flute', { type: 'phrase', config: 'english' }),
    gives: named('piccolo, in C'),
  },
  {
    it: 'websearch textSearch',
    run: (c) => instruments(c).textSearch('words', 'flute -silver', { type: 'websearch' }),
    gives: named('piccolo, in C'),
  },
  {
    it: 'textSearch of plain text',
    run: (c) => instruments(c).textSearch('about', 'deeper', { config: 'english' }),
    gives: named('viola'),
  },
  {
    it: 'match',
    run: (c) => instruments(c).match({ section_id: 1, name: 'viola', price: undefined }),
    gives: named('viola'),
  },
  {
    it: 'not',
    run: (c) => instruments(c).not('facts', 'is', null).not('id', 'in', '(1,2)'),
    gives: named('piccolo, in C'),
  },
  {
    it: 'or',
    run: (c) => instruments(c).or('id.eq.1,name.eq."piccolo, in C"'),
    gives: named('violin', 'piccolo, in C'),
  },
  {
    it: 'or with and',
    run: (c) => instruments(c).or('id.gt.3,and(id.eq.2,name.eq.viola)'),
    gives: named('viola', 'piccolo, in C'),
  },
  {
    it: 'or on a referenced table',
    run: (c) =>
      c
        .from('sections')
        .select('name, instruments!inner(name)')
        .or('name.eq.violin,price.lt.90', { referencedTable: 'instruments' })
        .order('id'),
    gives: {
      error: null,
      data: [
        { name: 'strings', instruments: [{ name: 'violin' }] },
        { name: 'woodwinds', instruments: [{ name: 'flute' }] },
      ],
    },
  },
  {
    it: 'filter',
    run: (c) => instruments(c).filter('name', 'in', '("violin","flute")'),
    gives: named('violin', 'flute'),
  },
  {
    it: 'filter on a referenced table',
    run: (c) =>
      c.from('sections').select('name, instruments!inner()').filter('instruments.name', 'eq', 'flute'),
    gives: { error: null, data: [{ name: 'woodwinds' }] },
  },
  {
    it: 'eq within JSON',
    run: (c) => instruments(c).eq('facts->maker->>name', 'Amati'),
    gives: named('violin'),
  },
  {
    it: 'gt within JSON',
    run: (c) => instruments(c).gt('facts->strings', 3),
    gives: named('violin', 'viola'),
  },
];
