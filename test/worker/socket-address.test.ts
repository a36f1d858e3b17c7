import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { printedAddress } from '../../src/worker/transport/admission.ts';
import { startGateway } from '../harness/gateway.ts';

const cases: readonly [bytes: readonly number[], text: string][] = [
  [[127, 0, 0, 1], '127.0.0.1'],
  [[255, 254, 0, 128], '255.254.0.128'],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 1, 2, 3], '10.1.2.3'],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], '::1'],
  [[0x20, 1, 13, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xab, 0xcd], '2001:db8::abcd'],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 10, 1, 2, 3], '::ff00:a01:203'],
  [[], 'unix:'],
];

test.each(cases)('the address %j is printed as %s, as nginx does', (bytes, text) => {
  const { buffer } = Uint8Array.from(bytes);
  expect(printedAddress(buffer)).toBe(text);
  expect(printedAddress(buffer)).toBe(text);
});

test('each of many clients has its own text', () => {
  for (let client = 0; client < 5000; client++) {
    const bytes = [10, client >> 8, client & 0xff, 1];
    expect(printedAddress(Uint8Array.from(bytes).buffer)).toBe(bytes.join('.'));
  }
});

/** A connection that is kept, from an address of the loopback interface. */
class Client {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(port: number, localAddress: string): Promise<Client> {
    const socket = connect({ host: '127.0.0.1', port, localAddress }).setEncoding('latin1');
    await once(socket, 'connect');
    return new Client(socket);
  }

  /** The body of the next response. */
  async ask(path: string): Promise<string> {
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const [text] = (await once(this.#socket, 'data')) as [string];
    return text.slice(text.indexOf('\r\n\r\n') + 4);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await once(this.#socket, 'close');
  }
}

test('a request has the address of its own connection, whoever else is connected', async (t) => {
  const gw = await startGateway(
    t,
    `server { location / { return 200 $remote_addr; }
       location /behind { proxy_pass http://127.0.0.1:$server_port/shown; proxy_set_header X-Client $remote_addr; }
       location /shown { return 200 $http_x_client; }
       location /only-first { allow 127.0.0.1; deny all; echo allowed; } }`,
    { fresh: true },
  );
  const [one, two] = ['127.0.0.1', '127.0.0.2'] as const;
  const first = await Client.open(gw.port, one);
  expect(await first.ask('/')).toBe(one);
  const second = await Client.open(gw.port, two);
  for (let round = 0; round < 2; round++) {
    expect(await second.ask('/')).toBe(two);
    expect(await second.ask('/behind')).toBe(two);
    expect(await second.ask('/only-first')).toContain('403 Forbidden');
    expect(await first.ask('/')).toBe(one);
    expect(await first.ask('/behind')).toBe(one);
  }
  await first.close();
  expect(await second.ask('/')).toBe(two);
  await second.close();
  const third = await Client.open(gw.port, two);
  expect(await third.ask('/only-first')).toContain('403 Forbidden');
  const fourth = await Client.open(gw.port, one);
  expect(await third.ask('/')).toBe(two);
  expect(await fourth.ask('/')).toBe(one);
  await third.close();
  await fourth.close();
});
