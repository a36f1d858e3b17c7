import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { startProgram } from '../../harness/scripted-program.ts';

const load = oneGateway();

const cases = [
  { it: 'a value', value: ['VALUE /~key 0 5\r\nhello\r\nEND\r\n'], status: 200, connections: 1 },
  { it: 'a miss', value: ['END\r\n'], status: 404, connections: 1 },
  {
    it: 'a value with bytes behind it',
    value: ['VALUE /~key 0 5\r\nhello\r\nEND\r\nmore'],
    status: 200,
    connections: 2,
  },
  { it: 'a miss with bytes behind it', value: ['END\r\nEND\r\n'], status: 404, connections: 2 },
];

for (const { it, value, status, connections } of cases) {
  test(`two requests for ${it} take ${connections === 1 ? 'one connection' : 'two connections'}`, async (t) => {
    const program = await startProgram(t, 'memcached', () => value);
    const gw = await load(
      t,
      `upstream kept { server 127.0.0.1:${program.port}; keepalive 4; }
       server { set $memcached_key $uri; location / { memcached_pass kept; } }`,
    );
    for (let count = 0; count < 2; count++) await gw.expect('GET /~key', { status });
    expect(program.connections()).toBe(connections);
  });
}
