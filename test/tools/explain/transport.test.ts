import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { accountOf, configured } from './explained.ts';

const load = oneGateway();

const ANSWERED = 'server { return 200 "answered"; }';
const PROXIED = 'server { location / { proxy_pass http://127.0.0.1:1; } }';

const long = 'x'.repeat(9000);
const cases: readonly {
  readonly it: string;
  readonly conf?: string;
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly status: number;
}[] = [
  { it: 'a method that exists', method: 'PATCH', status: 200 },
  { it: 'a method in small letters', method: 'get', status: 400 },
  { it: 'TRACE', method: 'TRACE', status: 405 },
  { it: 'TRACE to an upstream', conf: PROXIED, method: 'TRACE', status: 405 },
  { it: 'a line that is too long', target: `/${long}`, status: 414 },
  { it: 'a header that is too long', headers: [['x-long', long]], status: 494 },
];

for (const { it, conf = ANSWERED, method = 'GET', target = '/', headers = [], status } of cases) {
  test(`explain gives the status of the gateway for ${it}`, async (t) => {
    const gw = await load(t, conf);
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const said = await gw.raw(`${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`);
    // The log and "error_page" see 494; clients get 400.
    expect(said).toMatch(new RegExp(`^HTTP/1\\.1 ${status === 494 ? 400 : status} `));
    const account = await accountOf(configured(t, `http { ${conf} }`), { url: target, method, headers });
    expect(account.answer.status).toBe(status === 494 ? 400 : status);
  });
}

test('explain leaves the methods of a proxied location to its upstream', async (t) => {
  const account = await accountOf(configured(t, `http { ${PROXIED} }`), { url: '/', method: 'PROPFIND' });
  expect(account.answer.status).toBeUndefined();
});
