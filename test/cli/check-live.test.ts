import { expect, test } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { redis } from '../harness/redis.ts';
import { directoryWith, gw } from './command.ts';

const conf = (port: number): string =>
  `http { server { listen 127.0.0.1:8080; location = /hits { kv_pass 127.0.0.1:${port}; kv_key hits; } } }\n`;

test('check --live fails where a store cannot be reached, and only then', async (t) => {
  const { port } = await redis();
  const dir = directoryWith(t, { 'up.conf': conf(port), 'down.conf': conf(await freePort()) });
  const up = await gw(dir, ['check', '--live', '-f', 'concise', 'up.conf']);
  expect(up).toMatchObject({ code: 0, stdout: '' });
  const down = await gw(dir, ['check', '--live', '-f', 'concise', 'down.conf']);
  expect(down).toMatchObject({
    code: 1,
    stdout:
      'down.conf:1:59: error GW750 store-unreachable: the store cannot be reached: connection refused\n',
  });
  expect(await gw(dir, ['check', '-f', 'concise', 'down.conf'])).toMatchObject({ code: 0, stdout: '' });
});
