import { status } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { GrpcClient, startGrpc } from '../../harness/grpc.ts';
import { perTier } from '../../harness/tier.ts';

/** How long calls are made. */
const SECONDS = perTier({ short: 3, long: 60 });
const LONGEST_MS = (SECONDS + 60) * 1_000;
/** Calls at a time that last, and that are cancelled, over each of the clients. */
const LASTING = 4;
const CANCELLED = 8;
const CLIENTS = 2;
/** Between two calls that are cancelled: nghttp2, in the server, closes a connection with more than 33 resets a second. */
const PAUSE_MS = 600;

/** Says numbers one after the other until `isOver`, each when the one before has come back; gives the last. */
async function converse(client: GrpcClient, isOver: () => boolean): Promise<number> {
  let last = 0;
  const { code, messages } = await client.call('Chat', {
    messages: ['0'],
    keepsOpen: true,
    onMessage: (message, _cancel, say) => {
      last = Number(message);
      say(isOver() ? undefined : String(last + 1));
    },
  });
  expect(code).toBe(status.OK);
  expect(messages).toEqual(Array.from({ length: last + 1 }, (_, n) => String(n)));
  return last;
}

/** Makes calls that end early: by a deadline, or cancelled after some messages; gives the number of the latter. */
async function interrupt(client: GrpcClient, isOver: () => boolean): Promise<number> {
  let cancelled = 0;
  for (let call = 0; !isOver(); call += 1) {
    await sleep(PAUSE_MS);
    if (call % 5 === 4) {
      const { code } = await client.call('Unary', { metadata: { 'x-do': 'stall' }, deadlineMs: 20 });
      expect(code).toBe(status.DEADLINE_EXCEEDED);
    } else {
      const { code } = await client.call('Chat', {
        messages: ['0'],
        keepsOpen: true,
        onMessage: (message, cancel, say) => {
          if (Number(message) === call % 7) cancel();
          else say(String(Number(message) + 1));
        },
      });
      expect(code).toBe(status.CANCELLED);
      cancelled += 1;
    }
  }
  return cancelled;
}

test(
  'calls that stream both ways are complete while others on their connections are cancelled',
  async (t) => {
    const server = await startGrpc(t);
    const location = `location / { grpc_pass 127.0.0.1:${server.port}; }`;
    const gw = await startGateway(t, `http2 on; keepalive_requests 1000000; server { ${location} }`);
    const clients = Array.from({ length: CLIENTS }, () => new GrpcClient(t, gw.port));
    const endsMs = Date.now() + SECONDS * 1_000;
    const isOver = (): boolean => Date.now() > endsMs;
    const lasting = clients.flatMap((client) =>
      Array.from({ length: LASTING }, () => converse(client, isOver)),
    );
    const others = clients.flatMap((client) =>
      Array.from({ length: CANCELLED }, () => interrupt(client, isOver)),
    );
    expect(Math.min(...(await Promise.all(lasting)))).toBeGreaterThan(0);
    const cancelled = (await Promise.all(others)).reduce((sum, count) => sum + count, 0);
    expect(cancelled).toBeGreaterThan(0);
    await expect.poll(() => server.cancelled()).toBeGreaterThanOrEqual(cancelled);
  },
  LONGEST_MS,
);
