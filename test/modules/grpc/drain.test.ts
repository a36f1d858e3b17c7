import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { GrpcClient, startGrpc } from '../../harness/grpc.ts';

test('a call that streams both ways outlives a reload and SIGQUIT, and the process then ends', async (t) => {
  const server = await startGrpc(t);
  const conf = (more: string): string =>
    `http2 on; server { ${more} location / { grpc_pass 127.0.0.1:${server.port}; } }`;
  const gw = await startGateway(t, conf(''), {
    main: 'worker_shutdown_timeout 20s;',
    supervised: true,
  });
  const meanwhile: Readonly<Record<string, () => Promise<unknown>>> = {
    2: () => gw.reload(conf('add_header X-Load second;')),
    4: () => {
      gw.signal('SIGQUIT');
      return gw.waitForLog(/gracefully shutting down/);
    },
  };
  const outcome = await new GrpcClient(t, gw.port).call('Chat', {
    messages: ['0'],
    keepsOpen: true,
    onMessage: (message, _cancel, say) =>
      void Promise.resolve(meanwhile[message]?.()).then(() =>
        say(message === '7' ? undefined : String(Number(message) + 1)),
      ),
  });
  expect(outcome).toMatchObject({ code: status.OK, messages: ['0', '1', '2', '3', '4', '5', '6', '7'] });
  await gw.ended();
});
