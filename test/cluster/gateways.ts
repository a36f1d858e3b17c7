import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Gateway, type GatewayOptions, type Owner, startGateway } from '../harness/gateway.ts';
import { postedJson } from './post.ts';

export const SECRET = 'a secret of the tests';

/** A gateway of a cluster. */
export interface NodeSpec extends GatewayOptions {
  readonly id: string;
  /** The address of the store. */
  readonly backend: string;
  /** More directives of the `cluster` block. */
  readonly more?: string;
  /** More directives of `http` and of the server. */
  readonly http?: string;
  readonly server?: string;
  /** `cluster=main` by default. */
  readonly shares?: string;
  readonly ringSize?: number;
  readonly secret?: string;
}

/** Two workers, a ring that the gateways share, and the API that tells of the cluster. */
export function nodeConf(spec: NodeSpec): string {
  const { id, backend, more = '', shares = 'cluster=main', ringSize = 1024, secret = SECRET } = spec;
  const { http = '', server = '' } = spec;
  return `
  cluster main { backend ${backend}; node_id ${id}; secret "${secret}"; heartbeat 500ms; batch 10ms; ${more} }
  ${http}
  server {
    ${server}
    location /events {
      worker_events_api; worker_events_zone bus ${shares}; worker_events_channel news;
      worker_events_ring_size ${ringSize};
    }
    location = /cluster { control_api cluster; }
    location = /metrics { control_api metrics; }
    location = /ready { control_api ready; }
  }`;
}

export function startNode(t: Owner, spec: NodeSpec): Promise<Gateway> {
  return startGateway(t, nodeConf(spec), { workers: 2, fresh: false, ...spec });
}

/** Two gateways that have joined the cluster. */
export async function startPair(t: Owner, spec: Omit<NodeSpec, 'id'>): Promise<readonly [Gateway, Gateway]> {
  const both = await Promise.all([startNode(t, { id: 'a', ...spec }), startNode(t, { id: 'b', ...spec })]);
  await Promise.all(both.map(joined));
  return both;
}

export interface SharedEvent {
  readonly generation: number;
  readonly channel: string;
  readonly type: string;
  readonly payload: string | null;
  readonly timestamp: number;
  readonly origin: string;
  readonly seq: number;
}

export async function eventsOf(gw: Gateway, query = '?channel='): Promise<readonly SharedEvent[]> {
  const { body } = await gw.fetch(`/events${query}`);
  return (JSON.parse(body) as { events: readonly SharedEvent[] }).events;
}

/** The payloads of a gateway's events on the channel of the tests. */
export async function payloadsOf(gw: Gateway): Promise<readonly (string | null)[]> {
  return (await eventsOf(gw, '')).map(({ payload }) => payload);
}

/** Publishes payloads one after another; each must be accepted. */
export async function publishAll(gw: Gateway, payloads: readonly string[]): Promise<void> {
  for (const payload of payloads) {
    const { status, body } = await postedJson(gw, '/events', { type: 'told', payload });
    expect([status, body]).toEqual([200, expect.stringContaining('"published"') as string]);
  }
}

interface ShownCluster {
  readonly name: string;
  readonly node_id: string;
  readonly backend: string;
  readonly state: string;
  readonly members_total: number;
  readonly members: readonly Record<'node_id' | 'configuration', string>[];
  readonly streams: readonly { readonly stream: string; readonly position: number; readonly gaps: number }[];
  readonly buffer_bytes: number;
}

export async function clusterOf(gw: Gateway): Promise<ShownCluster> {
  const { clusters } = JSON.parse((await gw.fetch('/cluster')).body) as { clusters: readonly ShownCluster[] };
  return clusters[0] as ShownCluster;
}

/** Waits until a gateway is connected, and follows the stream. It may be called outside of a test. */
export async function joined(gw: Gateway): Promise<void> {
  const untilMs = Date.now() + 10_000;
  for (;;) {
    const { state } = await clusterOf(gw);
    if (state === 'up') return;
    if (Date.now() > untilMs) throw new Error(`the gateway has not joined the cluster: ${state}`);
    await sleep(20);
  }
}

/** `name 0`, `name 1` … */
export function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name} ${i}`);
}

/** Payloads in an order that does not depend on the gateway. */
export function sorted(payloads: readonly (string | null)[]): readonly string[] {
  return payloads.map(String).toSorted();
}
