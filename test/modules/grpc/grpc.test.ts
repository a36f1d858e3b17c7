import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway, type Owner, startGateway } from '../../harness/gateway.ts';
import { GrpcClient, type GrpcServer, startGrpc } from '../../harness/grpc.ts';

const load = oneGateway();

interface Passing {
  readonly gw: Gateway;
  readonly server: GrpcServer;
  readonly client: GrpcClient;
}

/** A gateway between a real gRPC client and a real gRPC server. */
async function passing(t: Owner, location = '', http = ''): Promise<Passing> {
  const server = await startGrpc(t);
  const gw = await load(
    t,
    `${http} http2 on; server { location / { ${location} grpc_pass 127.0.0.1:${server.port}; } }`,
  );
  return { gw, server, client: new GrpcClient(t, gw.port) };
}

const calls = [
  { it: 'a unary call', name: 'Unary', messages: ['hello'], gets: ['hello'] },
  { it: 'a stream of the client', name: 'Collect', messages: ['a', 'b', 'c'], gets: ['abc'] },
  { it: 'a stream of the server', name: 'Count', messages: ['n'], gets: ['n 0', 'n 1', 'n 2'] },
  { it: 'a stream of both', name: 'Chat', messages: ['x', 'y'], gets: ['x', 'y'] },
  { it: 'an empty message', name: 'Unary', messages: [''], gets: [''] },
  { it: 'a large message', name: 'Unary', messages: ['v'.repeat(900_000)], gets: ['900000 bytes'] },
];

for (const { it, name, messages, gets } of calls) {
  test(`${it} passes`, async (t) => {
    const { client } = await passing(t);
    expect(await client.call(name, { messages })).toMatchObject({ code: status.OK, messages: gets });
  });
}

test('messages go both ways at once: each response is seen before the next request is sent', async (t) => {
  const { client } = await passing(t);
  const outcome = await client.call('Chat', {
    messages: ['1'],
    keepsOpen: true,
    onMessage: (message, _cancel, say) => {
      if (message === '5') say();
      else say(String(Number(message) + 1));
    },
  });
  expect(outcome).toMatchObject({ code: status.OK, messages: ['1', '2', '3', '4', '5'] });
});

test('metadata pass in both directions, as heads and as trailers', async (t) => {
  const { client, server } = await passing(
    t,
    'grpc_set_header X-Set "$http_x_do-set"; grpc_set_header X-Gone "";',
  );
  const outcome = await client.call('Unary', {
    metadata: { 'x-do': 'echo', 'x-gone': 'yes', authorization: 'Bearer t' },
  });
  expect(server.metadata[0]?.getMap()).toMatchObject({
    'x-do': 'echo',
    'x-set': 'echo-set',
    authorization: 'Bearer t',
    'user-agent': expect.stringContaining('grpc-node-js'),
  });
  expect(server.metadata[0]?.get('x-gone')).toEqual([]);
  expect(outcome.head).toMatchObject({ 'x-head': 'early' });
  expect(outcome.trailers).toEqual({ 'x-end': 'late', 'x-end-bin': Buffer.from([0, 255]) });
});

for (const added of ['add_trailer X-Extra extra;', 'add_trailer X-Extra "";'])
  test(`the status of a call comes with the trailers of ${added}`, async (t) => {
    const { client } = await passing(t, added);
    const outcome = await client.call('Unary', { messages: ['hello'], metadata: { 'x-do': 'echo' } });
    expect(outcome).toMatchObject({ code: status.OK, messages: ['hello'], trailers: { 'x-end': 'late' } });
    expect(outcome.trailers['x-extra']).toBe(added.includes('extra') ? 'extra' : undefined);
  });

test('errors of the server reach the client with their details', async (t) => {
  const { client } = await passing(t);
  expect(await client.call('Unary', { metadata: { 'x-do': 'fail' } })).toMatchObject({
    code: status.NOT_FOUND,
    details: 'no such thing: ünïcode',
    trailers: { 'x-why': 'because' },
  });
  expect(await client.call('Count', { messages: ['n'], metadata: { 'x-do': 'fail' } })).toMatchObject({
    code: status.ABORTED,
    messages: ['n 0', 'n 1', 'n 2'],
  });
  expect(await client.call('Nothing')).toMatchObject({ code: status.UNIMPLEMENTED });
});

test('a server may end a stream early, and the connection stays open', async (t) => {
  const { client } = await passing(t);
  const refused = client.call('Collect', {
    messages: ['a'],
    metadata: { 'x-do': 'refuse' },
    keepsOpen: true,
  });
  expect(await refused).toMatchObject({ code: status.INVALID_ARGUMENT, details: 'enough' });
  expect(await client.call('Unary', { messages: ['next'] })).toMatchObject({ messages: ['next'] });
});

test('a server that ends a stream after its first message still sends its status', async (t) => {
  const { client } = await passing(t);
  const outcome = await client.call('Chat', {
    messages: ['a'],
    metadata: { 'x-do': 'once' },
    keepsOpen: true,
  });
  expect(outcome).toMatchObject({ code: status.OK, messages: ['a'] });
});

test('a deadline of the client reaches the server, and its end cancels the call there', async (t) => {
  const { client, server } = await passing(t);
  const outcome = await client.call('Unary', { metadata: { 'x-do': 'stall' }, deadlineMs: 300 });
  expect(outcome).toMatchObject({ code: status.DEADLINE_EXCEEDED });
  await expect.poll(() => server.cancelled()).toBe(1);
});

test('a client that cancels a stream cancels it at the server', async (t) => {
  const { client, server } = await passing(t);
  const outcome = await client.call('Count', {
    messages: ['n'],
    metadata: { 'x-do': 'stall' },
    onMessage: (message, cancel) => void (message === 'n 2' && cancel()),
  });
  expect(outcome).toMatchObject({ code: status.CANCELLED, messages: ['n 0', 'n 1', 'n 2'] });
  await expect.poll(() => server.cancelled()).toBe(1);
});

test('a hundred calls at once share the connections of four workers', async (t) => {
  const server = await startGrpc(t);
  const gw = await startGateway(
    t,
    `upstream calls { server 127.0.0.1:${server.port}; } http2 on; server { location / { grpc_pass grpc://calls; } }`,
    { workers: 4, supervised: true },
  );
  const clients = Array.from({ length: 5 }, () => new GrpcClient(t, gw.port));
  const outcomes = await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: 20 }, (_, n) => client.call('Chat', { messages: [`${n}`, 'x'] })),
    ),
  );
  expect(outcomes.map(({ code }) => code)).toEqual(Array(100).fill(status.OK));
  expect(outcomes[7]).toMatchObject({ messages: ['7', 'x'] });
});

/** The gRPC status of calls that the gateway itself ends. */
const errors: readonly { it: string; location: string; code: number; details?: string }[] = [
  {
    it: 'nothing listens',
    location: 'grpc_pass 127.0.0.1:1;',
    code: status.UNAVAILABLE,
    details: 'Bad Gateway',
  },
  {
    it: 'access is denied',
    location: 'deny all; grpc_pass 127.0.0.1:1;',
    code: status.PERMISSION_DENIED,
    details: 'Forbidden',
  },
  {
    it: 'a password is required',
    location: 'auth_basic x; auth_basic_user_file users; grpc_pass 127.0.0.1:1;',
    code: status.UNAUTHENTICATED,
  },
  { it: 'the location says 404', location: 'grpc_pass 127.0.0.1:1; return 404;', code: status.UNIMPLEMENTED },
  {
    it: 'the location says 429',
    location: 'grpc_pass 127.0.0.1:1; return 429;',
    code: status.RESOURCE_EXHAUSTED,
  },
  {
    it: 'the location says 418',
    location: 'grpc_pass 127.0.0.1:1; return 418;',
    code: status.UNKNOWN,
    details: 'HTTP status 418',
  },
  {
    it: 'the message is too large',
    location: 'client_max_body_size 2; grpc_pass 127.0.0.1:PORT;',
    code: status.RESOURCE_EXHAUSTED,
  },
  {
    it: 'an error_page sets the status',
    location: 'error_page 502 = /page; grpc_pass 127.0.0.1:1;',
    code: status.DATA_LOSS,
    details: 'by page',
  },
];

for (const { it, location, ...expected } of errors) {
  test(`where ${it}, a call ends with status ${expected.code}`, async (t) => {
    const { port } = await startGrpc(t);
    const gw = await load(
      t,
      `http2 on; server { location / { ${location.replace('PORT', String(port))} }
         location = /page { internal; default_type application/grpc; add_header grpc-status 15; add_header grpc-message "by page"; return 204; } }`,
      { users: '' },
    );
    const client = new GrpcClient(t, gw.port);
    expect(await client.call('Unary', { messages: ['hello'] })).toMatchObject(expected);
    // Other clients get the HTTP status.
    if (!/page|PORT/.test(location))
      expect((await gw.fetch('/', { method: 'POST' })).status).toBeGreaterThan(399);
  });
}

test('a call to a silent server ends with DEADLINE_EXCEEDED, even without a deadline of the client', async (t) => {
  const { client, server } = await passing(t, 'grpc_read_timeout 200ms;');
  const outcome = await client.call('Unary', { metadata: { 'x-do': 'stall' } });
  expect(outcome).toMatchObject({ code: status.DEADLINE_EXCEEDED, details: 'Gateway Time-out' });
  await expect.poll(() => server.cancelled()).toBe(1);
});

test('calls are passed to the next server of a group, also on a Unix socket', async (t) => {
  const gw = await load(
    t,
    (dir) => `upstream calls { server 127.0.0.1:1; server unix:${dir}/grpc.sock; }
    http2 on; log_format grpc "$upstream_status $upstream_trailer_x_end $sent_http_grpc_status";
    server { access_log grpc.log grpc; location / { grpc_pass calls; } }`,
  );
  await startGrpc(t, { at: `unix:${gw.dir}/grpc.sock` });
  const client = new GrpcClient(t, gw.port);
  for (let n = 0; n < 3; n++)
    expect(await client.call('Unary', { messages: ['m'] })).toMatchObject({
      code: status.OK,
      messages: ['m'],
    });
});
