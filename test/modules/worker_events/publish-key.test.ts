import { beforeAll, expect, test } from 'vitest';
import { expectResponse } from '../../harness/expect-response.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { endpoint, publish } from './endpoint.ts';

const KEY = 's3cret & key';
const RIGHT = 'key=s3cret%20%26%20key';
const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `server {
      ${endpoint(`worker_events_publish_key "${KEY}";`)}
      ${endpoint('worker_events_publish_key "$arg_secret";', '/variable')}
      ${endpoint(`worker_events_publish_key "$\{file:key.txt}";`, '/file')}
    }`,
    { files: { 'key.txt': 'from$a$file' } },
  );
});

const refusal = {
  status: 401,
  json: {
    module: 'worker_events',
    status: 'error',
    error: expect.stringMatching(/^unauthorized: /) as string,
  },
};

const cases: { it: string; path: string; header?: string | string[]; status: number }[] = [
  { it: 'the key as a parameter', path: `/events?${RIGHT}`, status: 200 },
  { it: 'the key among other parameters', path: `/events?a=1&${RIGHT}&b`, status: 200 },
  { it: 'the key as a header', path: '/events', header: KEY, status: 200 },
  { it: 'the key in both places', path: `/events?${RIGHT}`, header: KEY, status: 200 },
  { it: 'no key', path: '/events', status: 401 },
  { it: 'an empty key', path: '/events?key=', status: 401 },
  { it: 'a wrong key', path: '/events?key=wrong', status: 401 },
  { it: 'a shorter key', path: '/events?key=s3cret', status: 401 },
  { it: 'a longer key', path: `/events?${RIGHT}x`, status: 401 },
  { it: 'the key in other letters', path: `/events?key=S3CRET%20%26%20key`, status: 401 },
  { it: 'a repeated key', path: `/events?${RIGHT}&${RIGHT}`, status: 401 },
  { it: 'the key behind a wrong one', path: `/events?key=wrong&${RIGHT}`, status: 401 },
  { it: 'the key in a parameter of another name', path: `/events?Key=s3cret%20%26%20key`, status: 401 },
  { it: 'a malformed query', path: `/events?${RIGHT}&x=%ff`, status: 401 },
  { it: 'a wrong header', path: '/events', header: 'wrong', status: 401 },
  { it: 'a repeated header', path: '/events', header: [KEY, KEY], status: 401 },
  { it: 'a wrong header beside the right parameter', path: `/events?${RIGHT}`, header: 'wrong', status: 401 },
  { it: 'the key of a variable', path: '/variable?secret=abc&key=abc', status: 200 },
  { it: 'another key than the variable says', path: '/variable?secret=abc&key=abd', status: 401 },
  { it: 'an empty key where the variable is empty', path: '/variable?key=', status: 401 },
  { it: 'the key of a file, in which a dollar is a dollar', path: '/file?key=from$a$file', status: 200 },
];

for (const { it, path, header, status } of cases) {
  test(`a POST with ${it} gets ${status}`, async () => {
    const headers = header === undefined ? {} : { 'x-publish-key': header };
    const response = await publish(gw, { type: 't' }, { path, headers });
    expectResponse(it, response, status === 401 ? refusal : { status });
  });
}

test('the key is checked before the content type and the body', async () => {
  expectResponse('415', await gw.fetch('/events', { method: 'POST', body: 'x' }), refusal);
  expectResponse('413', await publish(gw, 'x'.repeat(100_000)), refusal);
});

test('the key is checked for POST only', async () => {
  await gw.expect('GET /events', { status: 200 });
  await gw.expect('HEAD /events', { status: 200 });
});

test('the key stays out of the access log', async () => {
  await publish(gw, { type: 't' }, { path: `/events?marker=1&${RIGHT}` });
  await gw.waitForAccessLog(/marker=1/);
  expect(gw.accessLog()).not.toContain('s3cret%20%26');
});
