import { once } from 'node:events';
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { probePort } from '../../src/master/index.ts';
import { freePort } from '../harness/ports.ts';

const PROBES = 500;

/** Connects to a port again and again until it is told to end; posts `begun`, then how often the port accepted. */
const CLIENT = `
  const { connect } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  let accepted = 0;
  let ended = false;
  parentPort.once('message', () => (ended = true));
  const again = () => (ended ? (parentPort.postMessage(accepted), parentPort.close()) : attempt());
  const attempt = () => {
    const socket = connect(workerData, '127.0.0.1');
    socket.on('connect', () => (accepted++, socket.destroy())).on('error', () => {}).on('close', again);
  };
  parentPort.postMessage('begun');
  attempt();
`;

test('a client never connects to a port that is only probed', async (t) => {
  const port = await freePort();
  const client = new Worker(CLIENT, { eval: true, workerData: port });
  t.onTestFinished(async () => void (await client.terminate()));
  await once(client, 'message');
  for (let probes = 0; probes < PROBES; probes++) await probePort({ kind: 'inet', host: '127.0.0.1', port });
  client.postMessage('end');
  expect(await once(client, 'message')).toEqual([0]);
});

const taken = [
  {
    it: 'taken by another socket',
    listens: '127.0.0.1',
    probed: '127.0.0.1',
    reason: '98: Address already in use',
  },
  {
    it: 'taken on all addresses',
    listens: '0.0.0.0',
    probed: '127.0.0.1',
    reason: '98: Address already in use',
  },
  {
    it: 'of another machine',
    listens: '127.0.0.1',
    probed: '192.0.2.1',
    reason: '99: Cannot assign requested address',
  },
];

for (const { it, listens, probed, reason } of taken) {
  test(`probing a port ${it} fails in the words of nginx`, async (t) => {
    const server = createServer().listen(0, listens);
    t.onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const probe = probePort({ kind: 'inet', host: probed, port });
    await expect(probe).rejects.toThrow(`bind() to ${probed}:${port} failed (${reason})`);
  });
}
