import { error, ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();

/** A column of `samples`, a JSON value as it is sent, and as it is returned. */
const values: readonly (readonly [column: string, sent: string, shown: string])[] = [
  ['big', '9007199254740993', '9007199254740993'],
  ['big', '"9007199254740993"', '9007199254740993'],
  ['amount', '0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
  ['amount', '1e30', '1000000000000000000000000000000'],
  ['ratio', '0.1', '0.1'],
  ['ratio', '"NaN"', '"NaN"'],
  ['flag', '"yes"', 'true'],
  ['word', '"ä\\u00e4\\n\\"€😀"', '"ää\\n\\"€😀"'],
  ['word', '12.50', '"12.50"'],
  ['body', '{"a": [1]}', '"{\\"a\\": [1]}"'],
  ['born', '"2024-02-29"', '"2024-02-29"'],
  ['at_tz', '"2024-07-01 12:00:00+02"', '"2024-07-01T10:00:00+00:00"'],
  ['span', '"1 day"', '"1 day"'],
  ['data', '{"b":1,  "a":[1,null]}', '{"b":1,  "a":[1,null]}'],
  ['doc', '{"b": 1, "a": 1.0}', '{"a": 1.0, "b": 1}'],
  ['doc', 'null', 'null'],
  ['words', '["a","b c",null,"quo\\"te"]', '["a","b c",null,"quo\\"te"]'],
  ['words', '"{a,b}"', '["a","b"]'],
  ['grid', '[[1,2],[3,4]]', '[[1,2],[3,4]]'],
  ['level', '"über-wichtig"', '"über-wichtig"'],
  ['levels', '["low","high"]', '["low","high"]'],
  ['mail', '"a@b"', '"a@b"'],
  ['cost', '{"amount": 1.50, "currency": "EUR"}', '{"amount":1.50,"currency":"EUR"}'],
  ['cost', '"(2,NOK)"', '{"amount":2.00,"currency":"NOK"}'],
  ['net', '"10.0.0.1/8"', '"10.0.0.1/8"'],
  ['bits', '"1010"', '"1010"'],
  ['period', '"[1,5]"', '"[1,6)"'],
];
testWrites(
  'JSON values keep their exact type and value',
  gateway,
  values.map(([column, sent, shown]) => ({
    it: `${column} ${sent}`,
    call: `POST samples?select=${column}`,
    body: `{"id": 90, "${column}": ${sent}}`,
    prefer: ROWS,
    expected: { status: 201, body: `[{"${column}":${shown}}]` },
  })),
);

const refused: readonly (readonly [table: string, body: string, code: string])[] = [
  ['samples', '{"id": "x"}', '22P02'],
  ['samples', '{"id": 99999999999}', '22003'],
  ['samples', '{"id": 1.5}', '22P02'],
  ['samples', '{"id": 90, "small": 40000}', '22003'],
  ['samples', '{"id": 90, "word": "more than twenty characters"}', '22001'],
  ['samples', '{"id": 90, "body": "\\u0000"}', '22P05'],
  ['samples', '{"id": 90, "level": "none"}', '22P02'],
  ['samples', '{"id": 90, "mail": "none"}', '23514'],
  ['samples', '{"id": 90, "count": -1}', '23514'],
  ['samples', '{"id": 90, "born": "2024-02-30"}', '22008'],
  ['samples', '{"id": 90, "words": {"a": 1}}', '22P02'],
  ['files', '{"id": 90, "name": null}', '23502'],
  ['files', '{"id": 90, "name": "n", "content": "\\\\xzz"}', '22023'],
  ['counters', '{"id": 90}', '428C9'],
  // The second form is that of PostgreSQL 12 and older.
  ['counters', '{"doubled": 90}', '(428C9|42601)'],
  ['products', '{"id": 90, "name": "n", "price": -1}', '23514'],
];
testWrites(
  'the database refuses values that do not fit',
  gateway,
  refused.map(([table, body, code]) => ({
    it: `${table} ${body} is 400 ${code}`,
    call: `POST ${table}`,
    body,
    expected: { status: 400, body: new RegExp(`^\\{"code":"${code}"`) },
  })),
);

const shelf = { label: 'fresh', room: 'hall', weight: 1.5, made: '2024-01-01T00:00:00+00:00', note: 'none' };
const SHELF = 'POST shelves?select=label,room,weight,made,note';
const MISSING = `${ROWS},missing=default`;
const defaults: readonly WriteCase[] = [
  {
    it: 'an empty object is a row of defaults',
    call: SHELF,
    body: {},
    prefer: ROWS,
    expected: { status: 201, json: [shelf] },
  },
  {
    it: 'empty objects are as many rows of defaults',
    call: SHELF,
    body: [{}, {}],
    prefer: ROWS,
    expected: { status: 201, json: [shelf, shelf] },
  },
  {
    it: 'a column that no row names has its default',
    call: SHELF,
    body: [{ label: 'mine' }],
    prefer: ROWS,
    expected: { status: 201, json: [{ ...shelf, label: 'mine' }] },
  },
  {
    it: 'a named column that a row lacks is NULL',
    call: `${SHELF}&columns=label,note`,
    body: [{ label: 'mine' }, { label: 'his', note: 'x' }],
    prefer: ROWS,
    expected: {
      status: 201,
      json: [
        { ...shelf, label: 'mine', note: null },
        { ...shelf, label: 'his', note: 'x' },
      ],
    },
  },
  {
    it: 'a named column that a row lacks has its default when the client asks for it',
    call: `${SHELF}&columns=label,room,weight,made,note`,
    body: [{ label: 'mine', note: null }, { weight: 2.25 }],
    prefer: MISSING,
    expected: {
      status: 201,
      json: [
        { ...shelf, label: 'mine', note: null },
        { ...shelf, weight: 2.25 },
      ],
      headers: { 'preference-applied': `missing=default, ${ROWS}`.replace(/(.*), (.*)/, '$1, $2') },
    },
  },
  {
    it: 'identities take their next number, one for each row',
    call: 'POST seats?columns=id,room,place&select=id,room',
    body: [
      { room: 'C', place: 1 },
      { id: 5, room: 'C', place: 2 },
      { room: 'C', place: 3 },
    ],
    prefer: MISSING,
    expected: {
      status: 201,
      body: /^\[\{"id":\d\d,"room":"C"\}, \n \{"id":5,"room":"C"\}, \n \{"id":\d\d,"room":"C"\}\]$/,
    },
  },
  {
    it: 'an update sets to its default what the object lacks',
    call: 'PATCH shelves?id=eq.1&columns=room,note&select=room,note',
    body: { room: 'attic' },
    prefer: MISSING,
    expected: { status: 200, json: [{ room: 'attic', note: 'none' }] },
  },
  {
    it: 'columns of a view have the defaults of the view, then those of its table',
    call: 'POST shelf_labels?columns=name,note&select=name,note',
    body: [{ name: 'a' }, { note: 'b' }],
    prefer: MISSING,
    expected: {
      status: 201,
      json: [
        { name: 'a', note: 'seen' },
        { name: 'fresh', note: 'b' },
      ],
    },
  },
  {
    it: 'a domain still refuses a NULL that is sent',
    call: 'POST shelves?columns=label',
    body: [{ label: null }],
    prefer: MISSING,
    expected: { status: 400, body: error('23502', 'domain code does not allow null values') },
  },
  {
    it: 'members outside of the named columns are ignored, with any value',
    call: `${SHELF}&columns=label`,
    body: '[{"label":"mine","made":"never","other":{"deep":[1]}}]',
    prefer: ROWS,
    expected: { status: 201, json: [{ ...shelf, label: 'mine' }] },
  },
];
testWrites('defaults', gateway, defaults);
