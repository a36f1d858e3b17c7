import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { oneGateway } from '../harness/gateway.ts';
import { connectRaw } from '../harness/raw.ts';

const load = oneGateway();
const HAS_IPV6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ family }) => family === 'IPv6'),
);

for (const [parameters, takesIPv4] of [
  ['engine=node', false],
  ['engine=node ipv6only=on', false],
  ['engine=node ipv6only=off', true],
  ['ipv6only=off', true],
] as const) {
  test.runIf(HAS_IPV6)(
    `listen [::]:port ${parameters} takes ${takesIPv4 ? 'IPv4, too' : 'IPv6 only'}`,
    async (t) => {
      // The harness waits for the port at 127.0.0.1.
      const gw = await load(
        t,
        (_, port) =>
          `server { listen 127.0.0.1:${port}; return 200; } server { listen [::]:${port + 1} ${parameters}; return 200; }`,
      );
      const connection = await connectRaw(gw.port + 1).catch(() => undefined);
      connection?.destroy();
      expect(connection !== undefined).toBe(takesIPv4);
    },
  );
}
