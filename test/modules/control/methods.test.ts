import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/modules/control/inventory.ts';
import { wholeFile } from '../../harness/owner.ts';
import { error } from './cases/case.ts';
import { surface } from './surface.ts';

const gw = surface(wholeFile(), 2);
/** Trees have methods of their own. */
const paths = ENDPOINTS.filter(({ isTree }) => !isTree).map(({ path }) => `/runtime/${path}`);

for (const path of paths) {
  test(`HEAD ${path} has the status and headers of GET and no body`, async () => {
    const get = await gw().fetch(path);
    const received = await gw().raw(`HEAD ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const [head = '', body] = received.split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${get.status} `);
    expect(head.toLowerCase()).toContain(`content-type: ${get.headers.get('content-type')}`);
    expect(head.toLowerCase()).toContain('content-length: ');
    expect(head.toLowerCase()).toContain('cache-control: no-store');
    expect(body).toBe('');
  });

  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    test(`${method} ${path} is not allowed`, () =>
      gw().expect(`${method} ${path}`, {
        status: 405,
        json: error('method not allowed'),
        headers: { allow: 'GET, HEAD', 'cache-control': 'no-store', 'content-type': 'application/json' },
      }));
  }
}

for (const path of ['', 'nope', 'flag/', 'flag/set/x', 'constructor', '../runtime/nope']) {
  test(`/runtime/${path} is not an endpoint`, () =>
    gw().expect(`GET /runtime/${path}`, {
      status: 404,
      json: error('unknown endpoint: see /runtime/describe'),
      headers: { 'cache-control': 'no-store' },
    }));
}
