import { expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../harness/gateway.ts';

// Node refuses the first two for threads.
test.each(['--max-semi-space-size=4', '--max-old-space-size=512', '--trace-warnings'])(
  'a gateway starts and reloads under %s',
  async (flag) => {
    const conf = 'server { location / { return 200 "served"; } }';
    const gw = await startGateway({ onTestFinished }, conf, { nodeFlags: [flag] });
    await gw.expect('GET /', { status: 200, body: 'served' });
    expect(await gw.reload(conf)).toBe('done');
  },
);
