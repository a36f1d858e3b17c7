import { describe, expect, test } from 'vitest';
import { callsOfFile } from './calls.ts';
import { bearer, sign } from '../../harness/tokens.ts';

const calls = callsOfFile();

type Fault = readonly [
  line: string,
  status: number,
  body: Readonly<Record<string, unknown>>,
  headers?: Readonly<Record<string, string>>,
];

const TEXT = { 'content-type': 'text/plain' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const none = (name: string, looked: string): string =>
  `Searched for the function public.${name}${looked}, but no matches were found in the schema cache.`;
const OR_BODY = ' or with a single unnamed json/jsonb parameter';

const unknown: readonly Fault[] = [
  [
    'GET add_them?a=1',
    404,
    {
      code: 'PGRST202',
      message: 'Could not find the function public.add_them(a) in the schema cache',
      details: none('add_them', ' with parameter a'),
      hint: 'Perhaps you meant to call the function public.add_them(a, b)',
    },
  ],
  [
    'POST add_them {"c":1,"b":2,"a":3}',
    404,
    {
      message: 'Could not find the function public.add_them(a, b, c) in the schema cache',
      details: none('add_them', ` with parameters a, b, c${OR_BODY}`),
      hint: 'Perhaps you meant to call the function public.add_them(a, b)',
    },
  ],
  [
    'POST add_them',
    404,
    {
      message: 'Could not find the function public.add_them without parameters in the schema cache',
      details: none('add_them', ` without parameters${OR_BODY}`),
    },
  ],
  ['POST add_them a=1', 404, { details: none('add_them', ' with parameter a') }, FORM],
  ['GET add_themm?a=1&b=2', 404, { hint: 'Perhaps you meant to call the function public.add_them' }],
  ['GET nowhere_near', 404, { hint: null, details: none('nowhere_near', ' without parameters') }],
  [
    'POST add_them x',
    404,
    {
      code: 'PGRST202',
      message: 'Could not find the function public.add_them in the schema cache',
      details: none('add_them', ' with a single unnamed text parameter'),
      hint: null,
    },
    TEXT,
  ],
  [
    'POST body_text <a/>',
    404,
    { details: none('body_text', ' with a single unnamed xml parameter') },
    { 'content-type': 'text/xml' },
  ],
  [
    'POST body_text x',
    404,
    { details: none('body_text', ' with a single unnamed bytea parameter') },
    { 'content-type': 'application/octet-stream' },
  ],
  ['GET two_unnamed', 404, { code: 'PGRST202' }],
  ['POST greet {"":"x"}', 404, { code: 'PGRST202' }],
  ['GET body_text?=x', 404, { code: 'PGRST202' }],
  ['POST body_text =x', 404, { code: 'PGRST202' }, FORM],
  [
    'POST a_procedure {"n":1}',
    404,
    { code: 'PGRST202', hint: 'public.a_procedure is a procedure, and only functions can be called' },
  ],
  ['POST hidden_call', 404, { code: 'PGRST202', hint: null }],
  ['GET constructor', 404, { code: 'PGRST202' }],
  ['GET add_them?a=1&b=2&__proto__=3', 404, { code: 'PGRST202' }],
];

const refused: readonly Fault[] = [
  [
    'POST twofold {"v":1}',
    300,
    {
      code: 'PGRST203',
      message:
        'Could not choose the best candidate function between: public.twofold(v => integer), public.twofold(v => text)',
      details: null,
      hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    },
  ],
  [
    'POST body_any {"":1}',
    300,
    {
      message:
        'Could not choose the best candidate function between: public.body_any( => bytea), public.body_any( => json), public.body_any( => text)',
    },
  ],
  ['GET overloaded?a=1', 300, { code: 'PGRST203' }],
  ['PUT add_them {}', 405, { code: 'PGRST101', message: 'Cannot use the PUT method on RPC' }],
  ['PATCH add_them {}', 405, { code: 'PGRST101', message: 'Cannot use the PATCH method on RPC' }],
  ['DELETE add_them', 405, { code: 'PGRST101', message: 'Cannot use the DELETE method on RPC' }],
  ['POST add_them {"a":1', 400, { code: 'PGRST102', message: 'Empty or invalid json' }],
  ['POST body_json', 400, { code: 'PGRST102', message: 'Empty or invalid json' }],
  ['POST greet [{"name":"a"},{}]', 400, { code: 'PGRST102', message: 'All object keys must match' }],
  ['POST greet [1]', 400, { code: 'PGRST102', message: 'All object keys must match' }],
  [
    'POST greet x',
    415,
    { code: 'PGRST102', message: 'Content-Type not acceptable: image/png' },
    { 'content-type': 'image/png' },
  ],
  ['GET all_employees?limit=-1', 416, { code: 'PGRST103' }],
  [
    'GET three_numbers?offset=5',
    416,
    { code: 'PGRST103', details: 'An offset of 5 was requested, but there are only 3 rows.' },
    { prefer: 'count=exact' },
  ],
  [
    'GET greet',
    406,
    { code: 'PGRST106', message: 'Invalid schema: private' },
    { 'accept-profile': 'private' },
  ],
  [
    'POST greet',
    406,
    { code: 'PGRST106', message: 'Invalid schema: private' },
    { 'content-profile': 'private' },
  ],
  ['GET greet', 406, { code: 'PGRST107' }, { accept: 'image/png' }],
  ['GET points?select=x', 406, { code: 'PGRST107' }, { accept: 'application/octet-stream' }],
  ['GET all_employees?select=id,skills(id)', 406, { code: 'PGRST107' }, { accept: 'text/csv' }],
  ['GET points?skills.id=eq.1', 400, { code: 'PGRST108' }],
  ['GET points?select=skills(id)', 400, { code: 'PGRST200' }],
  ['GET archived?select=id,clients(name)', 400, { code: 'PGRST200' }],
  ['GET points?z=eq.1', 400, { code: '42703', message: 'column points.z does not exist' }],
  ['GET add_them?a=1&b=2&select=c', 400, { code: '42703' }],
  ['GET greet?name=not.sure', 400, { code: 'PGRST100' }],
  [
    'GET three_numbers',
    406,
    { code: 'PGRST116', details: 'The result contains 3 rows' },
    { accept: 'application/vnd.pgrst.object+json' },
  ],
  [
    'GET all_employees?id=gt.9',
    406,
    { code: 'PGRST116', details: 'The result contains 0 rows' },
    { accept: 'application/vnd.pgrst.object+json' },
  ],
  ['GET add_them?a=1&b=2', 400, { code: 'PGRST122' }, { prefer: 'handling=strict, unheard' }],
  ['GET note_one?who=x', 405, { code: '25006' }],
  ['POST lies_about_it {"who":"x"}', 400, { code: '0A000' }],
  ['GET add_them?a=x&b=2', 400, { code: '22P02' }],
  ['POST add_them {"a":"x","b":2}', 400, { code: '22P02' }],
  ['POST add_them {"a":99999999999,"b":2}', 400, { code: '22003' }],
  ['GET same?v=1', 400, { code: '42804' }],
  ['POST same {"v":1}', 400, { code: '42P16' }],
  ['GET not_for_anon', 401, { code: '42501', message: 'permission denied for function not_for_anon' }],
  ['POST short_of_time', 500, { code: '57014', message: 'canceling statement due to statement timeout' }],
  ['POST raise_plain', 400, { code: 'P0001', message: 'Plain words', hint: 'a hint' }],
  ['POST raise_pt', 402, { code: 'PT402', details: 'Quota exceeded', hint: 'Upgrade' }],
  ['POST raise_pgrst', 418, { code: '123', message: 'Custom', details: 'because', hint: null }],
  ['POST raises {"code":"PTABC","message":"m"}', 500, { code: 'PTABC' }],
  ['POST raises {"code":"23505","message":"m"}', 409, { code: '23505' }],
  [
    'POST raises {"code":"PGRST","message":"{}"}',
    500,
    { code: 'PGRST121', details: "Invalid JSON value for MESSAGE: '{}'" },
  ],
  [
    'POST raises {"code":"PGRST","message":"{\\"code\\":\\"a\\",\\"message\\":\\"b\\"}","detail":"x"}',
    500,
    { code: 'PGRST121', details: "Invalid JSON value for DETAIL: 'x'" },
  ],
  ['POST answers_with {"headers":"{}"}', 500, { code: 'PGRST111' }],
  ['POST answers_with {"headers":"[]","status":"abc"}', 500, { code: 'PGRST112' }],
];

describe.each([
  ['unknown', unknown],
  ['refused', refused],
] as const)('%s', (_, faults) => {
  for (const [line, status, body, headers] of faults) {
    test(`${line} → ${status} ${JSON.stringify(headers ?? {})}`, async () => {
      const response = await calls.it.call(line, headers);
      expect(JSON.parse(response.body)).toMatchObject(body);
      expect(response.status).toBe(status);
    });
  }
});

test.each([
  ['GET note_one?who=x', 'OPTIONS, POST'],
  ['PATCH note_one {}', 'OPTIONS, GET, HEAD, QUERY, POST'],
])('%s is 405, and the methods are told', async (line, allow) => {
  const { status, headers } = await calls.it.call(line);
  expect([status, headers.get('allow')]).toEqual([405, allow]);
});

test('a hint names only functions that the role may call', async () => {
  const near = 'GET not_for_anonn';
  const hintFor = async (headers: Record<string, string>) =>
    (JSON.parse((await calls.it.call(near, headers)).body) as { hint: unknown }).hint;
  expect(await hintFor({})).toBeNull();
  expect(await hintFor(bearer(sign({ role: 'web_user' })))).toBe(
    'Perhaps you meant to call the function public.not_for_anon',
  );
});

test('overloads that the role may not call do not conflict and are not named', async () => {
  expect((await calls.it.call('GET guarded?v=1')).body).toBe('"text"');
  const user = await calls.it.call('GET guarded?v=1', bearer(sign({ role: 'web_user' })));
  expect(user.status).toBe(300);
  expect((JSON.parse(user.body) as { message: string }).message).toBe(
    'Could not choose the best candidate function between: public.guarded(v => integer), public.guarded(v => text)',
  );
});

test('a new function is found, and a dropped one is not', async () => {
  const { call, db } = calls.it;
  expect((await call('GET just_made')).status).toBe(404);
  await db.query('create function just_made() returns int language sql immutable as $$ select 7 $$');
  await expect
    .poll(async () => (await call('GET just_made')).body, { timeout: 10_000, interval: 200 })
    .toBe('7');
});

test.each([
  ['add_them', 200, 'OPTIONS,GET,HEAD,QUERY,POST'],
  ['overloaded', 200, 'OPTIONS,GET,HEAD,QUERY,POST'],
  ['note_call', 200, 'OPTIONS,POST'],
  ['a_procedure', 404, null],
  ['nowhere_near', 404, null],
])('OPTIONS of %s is %i and allows %s', async (name, status, allow) => {
  const response = await calls.it.call(`OPTIONS ${name}`);
  expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
});
