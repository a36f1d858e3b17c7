import { error, ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();
const csv = (body: string, call = 'POST samples?select=id,word,small') => ({
  call,
  body,
  prefer: ROWS,
  headers: { 'content-type': 'text/csv' },
});
const form = (body: string, call = 'POST samples?select=id,word,body') => ({
  call,
  body,
  prefer: ROWS,
  headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
});

const lines: readonly WriteCase[] = [
  {
    it: 'lines are rows',
    ...csv('id,word,small\n90,one,1\r\n91,"two ""quoted"",\nx",2\n'),
    expected: {
      status: 201,
      json: [
        { id: 90, word: 'one', small: 1 },
        { id: 91, word: 'two "quoted",\nx', small: 2 },
      ],
    },
  },
  {
    it: 'NULL is a missing value, an empty field is the empty text',
    ...csv('id,word,small\n90,,NULL'),
    expected: { status: 201, json: [{ id: 90, word: '', small: null }] },
  },
  {
    it: 'names may be quoted, after a byte order mark',
    ...csv('\ufeff"id","word"\n90,Ünï €😀'),
    expected: { status: 201, json: [{ id: 90, word: 'Ünï €😀', small: null }] },
  },
  {
    it: 'empty lines are ignored',
    ...csv('\nid,word\n\n90,a\n\n'),
    expected: { status: 201, json: [{ id: 90, word: 'a', small: null }] },
  },
  { it: 'a header line alone gives no row', ...csv('id,word\n'), expected: { status: 201, json: [] } },
  {
    it: 'named columns are picked from the lines, the others have their default',
    ...csv('word,other,id\none,x,90', 'POST samples?select=id,word&columns=id,word'),
    expected: { status: 201, json: [{ id: 90, word: 'one' }] },
  },
  {
    it: 'a named column that the lines lack is NULL, or its default',
    ...csv('room\nattic', 'POST shelves?select=room,note,label&columns=room,note,label'),
    prefer: `${ROWS},missing=default`,
    expected: { status: 201, json: [{ room: 'attic', note: 'none', label: 'fresh' }] },
  },
  {
    it: 'lines of unequal length are refused',
    ...csv('id,word\n90\n'),
    expected: {
      status: 400,
      body: error('PGRST102', 'All lines must have same number of fields', {
        hint: 'Line 2 differs from the header.',
      }),
    },
  },
  {
    it: 'a quote that does not end is refused',
    ...csv('id,word\n90,"one'),
    expected: { status: 400, body: /"code":"PGRST102".*"message":"Empty or invalid csv/ },
  },
  {
    it: 'a quote within a field is refused',
    ...csv('id,word\n90,o"ne"\n'),
    expected: { status: 400, body: error('PGRST102', 'Empty or invalid csv at line 2') },
  },
  {
    it: 'an empty body is refused',
    ...csv(''),
    expected: { status: 400, body: error('PGRST102', 'Empty or invalid csv') },
  },
  {
    it: 'an unknown name is refused',
    ...csv('id,wrd\n90,a'),
    expected: {
      status: 400,
      body: error('PGRST204', `Could not find the 'wrd' column of 'samples' in the schema cache`),
    },
  },
  {
    it: 'values have their types',
    ...csv(
      'id,words,period,doc,bits\n90,"{a,b}","[1,5)","{""a"": 1.50}",1010',
      'POST samples?select=words,period,doc,bits',
    ),
    expected: { status: 201, body: '[{"words":["a","b"],"period":"[1,5)","doc":{"a": 1.50},"bits":"1010"}]' },
  },
  {
    it: 'an update takes the only line',
    ...csv('word\nnew', 'PATCH samples?id=eq.1&select=word'),
    expected: { status: 200, json: [{ word: 'new' }] },
  },
];
testWrites('CSV', gateway, lines);

const fields: readonly WriteCase[] = [
  {
    it: 'a form is a row of texts',
    ...form('id=90&word=a+b%20%26%C3%A4&body=%22%5C%0A'),
    expected: { status: 201, json: [{ id: 90, word: 'a b &ä', body: '"\\\n' }] },
  },
  {
    it: 'a field without a value is empty',
    ...form('id=90&word=&body'),
    expected: { status: 201, json: [{ id: 90, word: '', body: '' }] },
  },
  {
    it: 'the last of several values counts',
    ...form('id=90&word=a&&word=b'),
    expected: { status: 201, json: [{ id: 90, word: 'b', body: null }] },
  },
  {
    it: 'a name is decoded as well',
    ...form('%69d=90&wo%72d=a'),
    expected: { status: 201, json: [{ id: 90, word: 'a', body: null }] },
  },
  {
    it: 'a broken escape is refused',
    ...form('id=90&word=%zz'),
    expected: { status: 400, body: error('PGRST102', 'Empty or invalid form') },
  },
  {
    it: 'text that is not UTF-8 is refused',
    ...form('id=90&word=%ff'),
    expected: { status: 400, body: /"code":"22021"/ },
  },
  {
    it: 'JSON is sent as text',
    ...form('id=90&doc=%7B%22a%22:1.50%7D', 'POST samples?select=doc'),
    expected: { status: 201, body: '[{"doc":{"a": 1.50}}]' },
  },
  { it: 'NUL is refused', ...form('id=90&word=%00'), expected: { status: 400, body: /"code":"22P05"/ } },
];
testWrites('forms', gateway, fields);

const kinds: readonly WriteCase[] = [
  ...['application/xml', 'text/plain', 'multipart/form-data; boundary=x', 'application/octet-stream'].map(
    (type) => ({
      it: `${type} is not readable`,
      call: 'POST samples',
      body: 'x',
      headers: { 'content-type': type },
      expected: {
        status: 415,
        body: error('PGRST102', `Content-Type not acceptable: ${type.replace(/;.*/, '')}`),
      },
    }),
  ),
  ...['gzip', 'br', 'identity, gzip'].map((encoding) => ({
    it: `a body in ${encoding} is never unpacked`,
    call: 'POST samples',
    body: 'x',
    headers: { 'content-encoding': encoding },
    expected: {
      status: 415,
      body: error('PGRST102', `Content-Encoding not acceptable: ${encoding}`),
      headers: { 'accept-encoding': 'identity' },
    },
  })),
  ...[
    'application/vnd.pgrst.object+json',
    'application/vnd.dbrest.array+json',
    'APPLICATION/JSON ; charset=utf-8',
  ].map((type) => ({
    it: `${type} is JSON`,
    call: 'POST samples',
    body: '{"id":90}',
    headers: { 'content-type': type, 'content-encoding': 'identity' },
    expected: { status: 201 },
  })),
  ...['null', '1', '"text"', '[1]', '[[]]', '{"id":90}x', '\u00a0{}', '{"id":90,}'].map((body) => ({
    it: `${body} is not a row`,
    call: 'POST samples',
    body,
    expected: { status: 400, body: /"code":"PGRST102"/ },
  })),
  {
    it: 'an array of anything else than objects is refused by the database when columns are named',
    call: 'POST samples?columns=id',
    body: '[1]',
    expected: { status: 400, body: /"code":"22023"/ },
  },
];
testWrites('bodies by their type', gateway, kinds);
