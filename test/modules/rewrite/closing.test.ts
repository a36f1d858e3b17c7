import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';

const CODES = [408, 444, 499];

test('codes that close the connection are in the access log', async (t) => {
  const locations = CODES.map((code) => `location /${code} { return ${code}; }`).join(' ');
  const gw = await startGateway(
    t,
    `log_format codes '$request_uri $status $body_bytes_sent'; server { access_log codes.log codes; ${locations} }`,
  );
  for (const code of CODES) {
    expect(await gw.raw(`GET /${code} HTTP/1.1\r\nHost: a\r\n\r\n`)).toBe('');
    await expect.poll(() => gw.read('codes.log')).toContain(`/${code} ${code} 0\n`);
  }
});
