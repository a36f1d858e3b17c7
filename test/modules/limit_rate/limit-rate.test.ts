import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const BYTES = 30_000;
const TEXT = 'x'.repeat(100);

/** A body of 30,000 bytes in a file, and a variable of 4,000. */
const conf = (directives: string) => `server {
  set $t ${TEXT}; set $t $t$t$t$t$t$t$t$t$t$t; set $t $t$t$t$t;
  location / { root .; ${directives} }
  location = /text { ${directives} return 200 $t; }
}`;
const FILES = { file: 'y'.repeat(BYTES) };

const limited = [
  { it: 'a file', directives: 'limit_rate 40k;', target: '/file', bytes: BYTES },
  { it: 'a text', directives: 'limit_rate 6k;', target: '/text', bytes: 4_000 },
  { it: 'by a variable', directives: 'limit_rate $arg_rate;', target: '/file?rate=40k', bytes: BYTES },
  { it: 'by an if', directives: 'if ($arg_slow) { limit_rate 40k; }', target: '/file?slow=1', bytes: BYTES },
  {
    it: 'after the first bytes',
    directives: 'limit_rate 10k; limit_rate_after 20k;',
    target: '/file',
    bytes: BYTES,
  },
];
for (const { it, directives, target, bytes } of limited) {
  test(`a response goes out at the rate that is set: ${it}`, async (t) => {
    const gw = await load(t, conf(directives), FILES);
    const connection = await gw.connect();
    connection.write(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    const first = await connection.until(/\r\n\r\n[xy]/);
    expect(first.length).toBeLessThan(bytes);
    const whole = await connection.closed;
    const body = whole.slice(whole.indexOf('\r\n\r\n'));
    expect(body.replaceAll(/[^xy]/g, '')).toHaveLength(bytes);
  });
}

test('the head of a response counts for its rate', async (t) => {
  const long = Array.from({ length: 60 }, (_, n) => `add_header X-${n} ${TEXT};`).join(' ');
  const gw = await load(t, `server { limit_rate 2k; ${long} return 200 text; }`);
  const began = performance.now();
  expect((await gw.fetch('/')).body).toBe('text');
  expect(performance.now() - began).toBeGreaterThan(1_900);
});

const free = [
  { it: 'a rate of 0', directives: 'limit_rate 0;', target: '/file' },
  { it: 'a variable without value', directives: 'limit_rate $arg_rate;', target: '/file' },
  { it: 'a variable that is not a size', directives: 'limit_rate $arg_rate;', target: '/file?rate=fast' },
  { it: 'set $limit_rate 0', directives: 'limit_rate 1; set $limit_rate 0;', target: '/file' },
  {
    it: 'a rate that begins beyond the end',
    directives: 'limit_rate 1; limit_rate_after 1m;',
    target: '/file',
  },
];
for (const { it, directives, target } of free) {
  // At one byte per second, none of these responses would end in time.
  test(`a response goes out as fast as it can: ${it}`, async (t) => {
    const gw = await load(t, conf(directives), FILES);
    const { body } = await gw.fetch(target);
    expect(body).toHaveLength(BYTES);
    if (target.endsWith('fast')) await gw.waitForLog(/\[error\] .*invalid size "fast", client: /);
  });
}

test('a client that leaves a slow response delays nothing', async (t) => {
  const gw = await startGateway(t, conf('limit_rate 1k;'), { files: FILES });
  const connection = await gw.connect();
  connection.write('GET /file HTTP/1.1\r\nHost: a\r\n\r\n');
  const received = await connection.until(/\r\n\r\ny/);
  expect(received.length).toBeLessThan(BYTES);
  connection.destroy();
  await gw.waitForAccessLog(/GET \/file/);
  await gw.stop('SIGQUIT');
});
