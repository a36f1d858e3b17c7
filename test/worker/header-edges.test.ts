import { expect, test } from 'vitest';
import { DROPS_HIGH_BYTES } from '../../src/worker/transport/uws/loader.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { connectRaw } from '../harness/raw.ts';
import { GET, serve } from './serve.ts';

const BYTES = Array.from({ length: 128 }, (_, index) => String.fromCharCode(0x80 + index));

/**
 * uWebSockets.js takes bytes from 0x80 on for blanks around a value: they are gone before our code could refuse them.
 */
const IS_TRIMMED = !ON_NODE_ENGINE && DROPS_HIGH_BYTES;

const fields = [
  { name: 'Host', value: 'a', rest: 'Content-Length: 3\r\n\r\nabc', refused: 400 },
  { name: 'Content-Length', value: '3', rest: 'Host: a\r\n\r\nabc', refused: 400 },
  { name: 'Transfer-Encoding', value: 'chunked', rest: 'Host: a\r\n\r\n3\r\nabc\r\n0\r\n\r\n', refused: 501 },
];

for (const { name, value, rest, refused } of fields) {
  for (const side of ['before', 'behind'] as const) {
    const what = IS_TRIMMED ? 'taken as if it were not there' : `refused with ${refused}`;
    test(`a byte from 0x80 on ${side} the value of ${name} is ${what}, and the connection stays in step`, async (t) => {
      const seen: string[] = [];
      const port = await serve(t, {
        serve: async (x) => {
          const body = await x.readBody();
          seen.push(`${x.method} ${x.uri} ${x.request.host} ${body?.toString()}`);
          x.send(200, '', `body=${body?.length}`);
        },
      });
      for (const byte of BYTES) {
        seen.length = 0;
        const connection = await connectRaw(port);
        connection.write(
          `POST /first HTTP/1.1\r\n${name}: ${side === 'before' ? byte + value : value + byte}\r\n${rest}`,
        );
        const first = await connection.until(/\r\n\r\n[^]*(?:body=\d|<\/html>)/);
        expect(first, JSON.stringify(byte)).toMatch(new RegExp(`^HTTP/1.1 ${IS_TRIMMED ? 200 : refused} `));
        if (/^Connection: close/im.test(first)) await connection.closed;
        else {
          connection.write(GET.replace('/', '/next'));
          expect(await connection.until(/body=0$/)).toBe(connection.received());
        }
        connection.destroy();
        const taken = seen.filter((line) => line !== 'GET /next a ');
        expect(taken, JSON.stringify(byte)).toEqual(IS_TRIMMED ? ['POST /first a abc'] : []);
      }
    });
  }
}
