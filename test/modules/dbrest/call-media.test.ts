import { describe, expect, test } from 'vitest';
import { callsOfFile } from './calls.ts';

const calls = callsOfFile('dbrest_plan on;');

const JSON_TYPE = 'application/json; charset=utf-8';
const OBJECT = 'application/vnd.pgrst.object+json';

const shown: readonly [line: string, accept: string, contentType: string, body: string][] = [
  ['GET add_them?a=1&b=2', 'text/plain', 'text/plain; charset=utf-8', '3'],
  ['GET nothing_at_all', 'text/plain', 'text/plain; charset=utf-8', ''],
  ['GET add_them?a=1&b=2', 'text/csv', 'text/csv; charset=utf-8', 'add_them\n3'],
  ['GET three_numbers', 'text/csv', 'text/csv; charset=utf-8', 'three_numbers\n1\n2\n3'],
  ['GET points?most=2&order=x.desc', 'text/csv', 'text/csv; charset=utf-8', 'x,y\n2,b\n1,a'],
  [
    'GET points?most=1',
    'text/xml',
    'text/xml; charset=utf-8',
    '<?xml version="1.0" encoding="UTF-8"?><root><row><x>1</x><y>a</y></row></root>',
  ],
  ['GET add_them?a=1&b=2', 'application/octet-stream', 'application/octet-stream', '3'],
  ['GET add_them?a=1&b=2', OBJECT, `${OBJECT}; charset=utf-8`, '3'],
  ['GET price', OBJECT, `${OBJECT}; charset=utf-8`, '{"amount":12.50,"currency":"EUR"}'],
  ['GET points?x=eq.2', OBJECT, `${OBJECT}; charset=utf-8`, '{"x":2,"y":"b"}'],
  [
    'GET get_employee?id=5&select=name,mail',
    `${OBJECT};nulls=stripped`,
    `${OBJECT};nulls=stripped; charset=utf-8`,
    '{"name":"Eve"}',
  ],
  [
    'GET echo_json?j={"a":null,"b":1}',
    'application/vnd.pgrst.array+json;nulls=stripped',
    'application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8',
    '{"b":1}',
  ],
  ['GET page?title=Foo', 'text/html', 'text/html', '<h1>Foo</h1>'],
  ['GET page?title=Foo', 'text/html;q=0.5, application/json;q=0.4', 'text/html', '<h1>Foo</h1>'],
  ['GET page?title=Foo', 'application/json', JSON_TYPE, '"<h1>Foo</h1>"'],
  ['GET page', '*/*', JSON_TYPE, '"<h1>Hi</h1>"'],
  ['GET dot', 'image/x-dot', 'image/x-dot', '.\0\ufffd'],
  ['GET anything', 'application/x-odd', 'application/octet-stream', 'application/x-odd'],
  ['GET anything?as_type=text/x-own', 'application/x-odd', 'text/x-own', 'application/x-odd'],
  ['GET department_list', 'application/vnd.list', 'application/vnd.list', 'Sales;Research;Empty'],
  ['GET department_list?limit=1', 'application/vnd.list', 'application/vnd.list', 'Sales'],
  ['GET department_list?id=gt.9', 'application/vnd.list', 'application/vnd.list', ''],
  ['GET department_list?select=name', 'text/html', 'text/html', '<p>(Sales)|(Research)|(Empty)|'],
  ['GET three_numbers', 'text/html', 'text/html', '<p>1|2|3|'],
  ['GET three_numbers', 'text/plain', 'text/plain; charset=utf-8', '1\n2\n3'],
];

test.each(shown)('%s as %s is %s: %s', async (...[line, accept, contentType, body]) => {
  const response = await calls.it.call(line, { accept });
  expect({ type: response.headers.get('content-type'), body: response.body }).toEqual({
    type: contentType,
    body,
  });
  expect(response.status).toBe(200);
});

const unavailable: readonly (readonly [line: string, accept: string])[] = [
  ['GET add_them?a=1&b=2', 'text/xml'],
  ['GET three_numbers', 'text/xml'],
  ['GET echo_json?j={}', 'text/xml'],
  ['GET page', 'image/x-dot'],
  ['GET points', 'text/plain'],
  ['GET points', 'application/octet-stream, text/plain'],
];
test.each(unavailable)('%s is not available as %s', async (line, accept) => {
  const { status, body } = await calls.it.call(line, { accept });
  expect(status).toBe(406);
  expect(JSON.parse(body)).toMatchObject({
    code: 'PGRST107',
    message: `None of these media types are available: ${accept}`,
  });
});

test.each(['text/xml, application/json', 'text/xml;q=0.9, application/json;q=0.1'])(
  'a value that is no XML is JSON for %s',
  async (accept) => {
    const { headers, body } = await calls.it.call('GET add_them?a=1&b=2', { accept });
    expect([headers.get('content-type'), body]).toEqual([JSON_TYPE, '3']);
  },
);

describe('a body of XML', () => {
  const xml = { accept: 'text/xml', 'content-type': 'text/xml' };

  test('is the argument of a function with one unnamed xml parameter', async () => {
    const { status, headers, body } = await calls.it.call('POST body_xml <a b="1">c</a>', xml);
    expect([status, headers.get('content-type'), body]).toEqual([
      200,
      'text/xml; charset=utf-8',
      '<got><a b="1">c</a></got>',
    ]);
  });

  test('that is no XML is an error of PostgreSQL', async () => {
    const { status, body } = await calls.it.call('POST body_xml <a', xml);
    expect([status, (JSON.parse(body) as { code: string }).code]).toEqual([400, '2200N']);
  });

  test('fits no function without such a parameter', async () => {
    expect(await calls.it.call('POST body_text <a/>', xml)).toMatchObject({ status: 404 });
  });
});

describe('rows of a table', () => {
  test('are shown by the aggregate for its media type', async () => {
    const response = await calls.it.gw.fetch('/api/departments?order=id.desc&limit=2', {
      headers: { accept: 'application/vnd.list', prefer: 'count=exact' },
    });
    expect(response.body).toBe('Empty;Research');
    expect(response.headers.get('content-range')).toBe('0-1/3');
    expect(response.status).toBe(206);
  });

  test('are not shown by it unless all of its columns are selected', async () => {
    const headers = { accept: 'application/vnd.list' };
    const { status } = await calls.it.gw.fetch('/api/departments?select=id', { headers });
    expect(status).toBe(406);
  });

  test('are shown by the aggregate for rows of any kind', async () => {
    const headers = { accept: 'text/html' };
    const { body } = await calls.it.gw.fetch('/api/departments?select=id,x:floor&id=eq.1', { headers });
    expect(body).toBe('<p>(1,1)|');
  });
});

test.each(['application/json', 'text/csv', 'text/html', 'application/octet-stream'])(
  'HEAD has the head of GET for %s',
  async (accept) => {
    const get = await calls.it.call('GET page', { accept });
    const head = await calls.it.call('HEAD page', { accept });
    expect(head.body).toBe('');
    for (const name of ['content-type', 'content-range']) {
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    }
  },
);

test('the plan of a function is shown without a call of the function', async () => {
  const response = await calls.it.call('POST note_call {"who":"planned"}', {
    accept: 'application/vnd.pgrst.plan+json',
  });
  expect(JSON.parse(response.body)).toMatchObject([{ Plan: expect.any(Object) as object }]);
  expect(await calls.it.db.query(`select id from calls where who = 'planned'`)).toEqual([]);
});
