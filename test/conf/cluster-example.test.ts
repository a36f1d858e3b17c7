import { expect, test } from 'vitest';
import { openEvents } from '../harness/event-source.ts';
import { type Gateway, type Owner, startGateway } from '../harness/gateway.ts';
import type { ReceivedResponse } from '../harness/http.ts';
import { freePort } from '../harness/ports.ts';
import { redis } from '../harness/redis.ts';
import { httpOf, textOf } from './files.ts';

async function startExample(t: Owner, file: string, env: Record<string, string>): Promise<Gateway> {
  const port = await freePort();
  const http = httpOf(textOf(`conf/examples/${file}`), port);
  return startGateway(t, http, { port, workers: 2, env: { ...env, PORT: String(port) } });
}

/** The names of the gateways behind the balancer that respond. */
async function namesBehind(balancer: Gateway): Promise<ReadonlySet<string>> {
  const found = await Promise.all(Array.from({ length: 12 }, () => balancer.fetch('/whoami')));
  return new Set(found.map(({ body }) => body.trim()));
}

function publish(gw: Gateway, type: string): Promise<ReceivedResponse> {
  const headers = { 'content-type': 'application/json', 'x-publish-key': 'key' };
  return gw.fetch('/orders/events', { method: 'POST', headers, body: JSON.stringify({ type }) });
}

async function typesAt(gw: Gateway): Promise<ReadonlySet<string>> {
  const { body } = await gw.fetch('/orders/events');
  return new Set((JSON.parse(body) as { events: { type: string }[] }).events.map(({ type }) => type));
}

test('three gateways of conf/examples behind their balancer are one, also when one of them ends', async (t) => {
  const { url: REDIS } = await redis();
  const node = (name: string) =>
    startExample(t, 'cluster-node.conf', { REDIS, NODE_ID: `gw-${name}`, PUBLISH_KEY: 'key' });
  const [a, b, c] = await Promise.all([node('a'), node('b'), node('c')]);
  for (const gw of [a, b, c]) await expect.poll(async () => (await gw.fetch('/ready')).status).toBe(200);
  const [PORT_A, PORT_B, PORT_C] = [a, b, c].map(({ port }) => String(port)) as [string, string, string];
  const balancer = await startExample(t, 'cluster-balancer.conf', { PORT_A, PORT_B, PORT_C });
  expect(await namesBehind(balancer)).toEqual(new Set(['gw-a', 'gw-b', 'gw-c']));

  const source = await openEvents(t, `${balancer.url}/orders/events?since=0`);
  for (const type of ['one', 'two', 'three']) expect((await publish(balancer, type)).status).toBe(200);
  for (const gw of [a, b, c]) await expect.poll(() => typesAt(gw)).toEqual(new Set(['one', 'two', 'three']));
  await source.until(3);
  const { lastId } = source;
  source.close();

  const shopsOf = (gateways: readonly Gateway[]): Promise<readonly string[]> =>
    Promise.all(gateways.map(async (gw) => (await gw.fetch('/shop')).body));
  expect((await balancer.fetch('/runtime/flag/set?name=sale')).status).toBe(403);
  expect(await shopsOf([a, b, c])).toEqual(Array<string>(3).fill('sale: 0\n'));
  expect((await a.fetch('/runtime/flag/set?name=sale')).body).toContain('"action":"set"');
  await expect.poll(() => shopsOf([a, b, c])).toEqual(Array<string>(3).fill('sale: 1\n'));

  await a.stop('SIGQUIT');
  expect((await publish(balancer, 'four')).status).toBe(200);
  expect(await namesBehind(balancer)).toEqual(new Set(['gw-b', 'gw-c']));
  for (const gw of [b, c]) await expect.poll(() => typesAt(gw)).toContain('four');
  const again = await openEvents(t, `${balancer.url}/orders/events`, { 'last-event-id': lastId });
  await expect.poll(() => again.events.some(({ event }) => event === 'four')).toBe(true);
}, 60_000);
