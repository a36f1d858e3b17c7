import { expect, test } from 'vitest';
import { redis } from '../../../harness/redis.ts';
import { startPair } from '../../../cluster/gateways.ts';
import { freshNamespace } from '../../../cluster/stores.ts';

test('a zone with "sync" is the same on all gateways of the only cluster', async (t) => {
  const { url } = await redis();
  const [a, b] = await startPair(t, {
    backend: url,
    more: `namespace ${freshNamespace()};`,
    http: 'keyval_zone zone=z:64k timeout=1h sync;',
    server: 'location /kv/ { control_api keyval; }',
  });
  const change = (method: string, body: object) => a.fetch('/kv/z', { method, body: JSON.stringify(body) });
  const seen = async (): Promise<string> => (await b.fetch('/kv/z')).body;
  await change('POST', { k: '1' });
  await expect.poll(seen).toBe('{"k":"1"}');
  await change('PATCH', { k: '2' });
  await expect.poll(seen).toBe('{"k":"2"}');
  await change('PATCH', { k: null });
  await expect.poll(seen).toBe('{}');
});
