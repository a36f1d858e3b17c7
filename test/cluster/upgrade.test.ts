import { expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import { redis } from '../harness/redis.ts';
import { installation, upgraded } from '../master/installed.ts';
import { eventsOf, joined, publishAll, startNode } from './gateways.ts';

test(
  'after an upgrade, what a cluster shares is there once, and is shared on',
  { timeout: 300_000 },
  async (t) => {
    const { program } = installation(t);
    const backend = (await redis()).url;
    const http = 'shared_dict_zone zone=feature_flags:64k cluster=main;';
    const server = 'location /runtime/ { control_api; }';
    const spec = { backend, http, server, fresh: true };
    const a = await startNode(t, { ...spec, id: 'a', supervised: true, program });
    const b = await startNode(t, { ...spec, id: 'b' });
    for (const gw of [a, b]) await joined(gw);
    const flagsOf = async (gw: Gateway): Promise<readonly unknown[]> =>
      (JSON.parse((await gw.fetch('/runtime/flags')).body) as { name: unknown }[]).map(({ name }) => name);
    const payloadsOf = async (gw: Gateway): Promise<readonly unknown[]> =>
      (await eventsOf(gw, '')).map(({ payload }) => payload);

    await a.expect('GET /runtime/flag/set?name=first&enabled=1', { status: 200 });
    await publishAll(a, ['one', 'two']);
    await expect.poll(() => payloadsOf(b)).toEqual(['one', 'two']);
    expect(await upgraded(a)).toMatchObject({ isDone: true });
    await joined(a);
    await expect.poll(() => flagsOf(a)).toEqual(['first']);
    await expect.poll(() => payloadsOf(a)).toEqual(['one', 'two']);

    await a.expect('GET /runtime/flag/set?name=second&enabled=1', { status: 200 });
    await publishAll(a, ['three']);
    await expect.poll(async () => new Set(await flagsOf(b))).toEqual(new Set(['first', 'second']));
    await expect.poll(() => payloadsOf(b)).toEqual(['one', 'two', 'three']);
    expect(await payloadsOf(a)).toEqual(['one', 'two', 'three']);
  },
);
