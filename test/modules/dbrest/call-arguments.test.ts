import { describe, expect, test } from 'vitest';
import { callsOfFile, type Case, testResponses } from './calls.ts';

const calls = callsOfFile();

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const TEXT = { 'content-type': 'text/plain' };
const XML = { 'content-type': 'text/xml', accept: 'text/xml' };
const BYTES = { 'content-type': 'application/octet-stream', accept: 'application/octet-stream' };
const AS_OBJECT = { prefer: 'params=single-object' };

const named: readonly Case[] = [
  ['GET greet', 'Hello, you'],
  ['GET greet?greeting=Hi', 'Hi, you'],
  ['GET greet?name=', 'Hello, '],
  ['GET greet?name=a&name=b', 'Hello, b'],
  ['GET greet?name=eq', 'Hello, eq'],
  ['GET greet?name=equal.to', 'Hello, equal.to'],
  ['POST greet', 'Hello, you'],
  ['POST greet {}', 'Hello, you'],
  ['POST greet []', 'Hello, you'],
  ['POST greet null', 'Hello, you'],
  ['POST greet {"name":null}', null],
  ['POST greet [{"name":"A"},{"name":"B"}]', 'Hello, A'],
  ['POST greet name=Zo%C3%AB+x&greeting=%22', '", Zoë x', FORM],
  ['POST greet {"name":"Ann"}', 'Hello, Ann', { 'content-type': 'application/json; charset=utf-8' }],
  ['GET Ünï%20(fn)?Ärg%201=a', 'a1'],
  ['POST Ünï%20(fn) {"Ärg 1":"a","sel;ect":5}', 'a5'],
];
describe('arguments by name', () => {
  testResponses(calls, named);
});

const CSV = { 'content-type': 'text/csv' };
const rows: readonly Case[] = [
  ['POST greet name,greeting\nAnn,"Hi, there"\nBob,x', 'Hi, there, Ann', CSV],
  ['POST add_them b,a\n2,40', 42, CSV],
  ['POST greet?columns=name {"name":"Ann","greeting":"Hi","more":1}', 'Hello, Ann'],
  ['POST greet?columns=name [{"name":"Ann"},{"other":1}]', 'Hello, Ann'],
  ['POST greet?columns=greeting,name {"name":"Ann"}', null],
];
describe('arguments from rows and chosen members', () => {
  testResponses(calls, rows);
});

test('a large form is read piece by piece', async () => {
  const word = 'a+%C3%A9&'.slice(0, -1).repeat(20_000);
  const response = await calls.it.call(`POST greet name=${word}&greeting=Hi`, FORM);
  expect(JSON.parse(response.body)).toBe(`Hi, ${'a é'.repeat(20_000)}`);
});

const overloads: readonly Case[] = [
  ['GET overloaded', 'none'],
  ['GET overloaded?a=1&b=2', 'a b'],
  ['GET overloaded?a=1&c=x', 'a c'],
  ['POST overloaded {"b":1,"a":1}', 'a b'],
  ['POST overloaded {}', 'none'],
];
describe('the names choose among overloads', () => {
  testResponses(calls, overloads);
});

const types: readonly Case[] = [
  ['GET sum_all?numbers=1', 1],
  ['GET sum_all?numbers=1&numbers=2&numbers=3', 6],
  ['POST sum_all {"numbers":[1,2,3]}', 6],
  ['POST sum_all numbers=1&numbers=2', 3, FORM],
  ['GET join_all?separator=-&words=a,b&words="q\\', 'a,b-"q\\'],
  ['GET echo_array?list={a,"b%20c"}', ['a', 'b c']],
  ['POST echo_array {"list":["a","b \\" c",null,"{}"]}', ['a', 'b " c', null, '{}']],
  ['POST echo_array {"list":[]}', []],
  ['POST echo_array {"list":"{a,b}"}', ['a', 'b']],
  ['POST echo_json {"j":{"deep":[1,{"x":null}]}}', { deep: [1, { x: null }] }],
  ['GET echo_char?c=abcdef&bits=10101', 'abcdef|10101'],
  ['POST echo_char {"c":"abcdef","bits":"10101"}', 'abcdef|10101'],
];
describe('arguments of every type', () => {
  testResponses(calls, types);
});

test('values keep their types and their digits', async () => {
  const given =
    '{"i":1,"n":123456789012345678901234567890.123,"big":9007199254740993,"ok":true,"born":"2020-01-02","mood":"über-wichtig",' +
    '"span":"[1,5)","sums":{"amount":1.5,"currency":"EUR"},"matrix":[[1,2],[3,4]],"b":"\\\\xff00"}';
  const { body } = await calls.it.call(`POST echo_types ${given}`);
  expect(body.replaceAll(' ', '')).toBe(given.replace('1.5,', '1.50,'));
});

const bodies: readonly Case[] = [
  ['POST body_json {"b":1.10,"b":2}', 'json {"b":1.10,"b":2}'],
  ['POST body_json [1,"x",{}]', 'json [1,"x",{}]'],
  ['POST body_json "text"', 'json "text"'],
  ['POST body_json null', 'json null'],
  ['POST body_jsonb [{"a":1},{"b":2}]', { jsonb: [{ a: 1 }, { b: 2 }] }],
  ['POST body_text {"no":"json"', 'text {"no":"json"', TEXT],
  ['POST body_xml <a>1</a>', '<got><a>1</a></got>', XML],
  ['POST body_own_xml <a>1</a>', '<own><a>1</a></own>', XML],
  ['POST body_own_json {"a":1}', 'own {"a": 1}'],
  ['POST body_bytes a\tb', 'a\tb\0', BYTES],
  ['POST body_any {}', 'json'],
  ['POST body_any x', 'text', TEXT],
  ['POST body_any x', 'bytea', { 'content-type': 'application/octet-stream' }],
  ['POST body_json {"":{"b":1.10,"b":2}}', 'json {"b":1.10,"b":2}'],
  ['POST body_json {"":"text"}', 'json "text"'],
  ['POST body_json {"":null}', null],
  ['POST body_json {"":1,"b":2}', 'json {"":1,"b":2}'],
  ['POST body_json [{"":1},{"":2}]', 'json 1'],
  ['POST body_json?columns=b {"":1}', 'json {"":1}'],
  ['POST body_jsonb {"":[1, 2]}', { jsonb: [1, 2] }],
  ['POST body_jsonb {"":null}', { jsonb: null }],
  ['POST body_text {"":"hi"}', 'text hi'],
  ['POST body_text {"":{"a": 1}}', 'text {"a": 1}'],
  ['POST body_xml {"":"<a>1</a>"}', '<got><a>1</a></got>', { accept: 'text/xml' }],
  ['POST body_bytes {"":"\\\\x61"}', '\\x6100'],
  ['POST body_or_named {"":1}', 'body'],
  ['POST body_json {"":1}', 'json {"":1}', AS_OBJECT],
  ['POST body_or_named {"a":1}', 'named'],
  ['POST body_or_named {"b":1}', 'body'],
  ['POST body_or_named [5]', 'body'],
  ['POST echo_json {"x":1}', { x: 1 }, AS_OBJECT],
  ['POST body_json {"x":1}', 'json {"x":1}', AS_OBJECT],
  ['GET echo_json?x=1&y=%22', { x: '1', y: '"' }, AS_OBJECT],
];
describe('a whole body is one argument', () => {
  testResponses(calls, bodies);
});

test('a body of bytes arrives as it was sent', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const sent = { method: 'POST', headers: BYTES, body: bytes };
  const { bytes: got } = await calls.it.gw.fetch('/api/rpc/body_bytes', sent);
  expect(got).toEqual(Buffer.concat([bytes, Buffer.of(0)]));
});
