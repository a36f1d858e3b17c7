import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Exchange } from '../../src/http/index.ts';
import { CONNECTION } from '../harness/rules.ts';
import { GET, lines, responseTo, serve } from './serve.ts';

const SENT_BYTES = 2_097_152;
const TEN_GIB = 10 * 1024 ** 3;
/** A body that is read in one piece may not be longer, whatever the limit. */
const MOST_WHOLE_BYTES = 1024 ** 3;
const CLOSES = { ...CONNECTION, keepalive: false };

const readers = {
  whole: async (x: Exchange): Promise<void> => {
    const body = await x.readBody();
    if (body) x.send(200, '', String(body.length));
  },
  'in pieces': async (x: Exchange): Promise<void> => {
    let bytes = 0;
    if (await x.readPieces((piece) => void (bytes += piece.length))) x.send(200, '', String(bytes));
  },
};

const lengths = Array.from({ length: 15 }, (_, index) => Number('9'.repeat(index + 1)));

for (const [way, read] of Object.entries(readers)) {
  for (const maxBodyBytes of [0, TEN_GIB]) {
    test.each(lengths)(`a body of %i bytes read ${way} under a limit of ${maxBodyBytes}`, async (length) => {
      let left: (() => void) | undefined;
      const gone = new Promise<void>((resolve) => (left = resolve));
      const port = await serve(
        { onTestFinished },
        {
          rules: { maxBodyBytes, connection: CLOSES },
          serve: (x) => {
            if (x.method === 'GET') return x.send(200, '', 'fine');
            x.onAbort(() => left?.());
            return read(x);
          },
        },
      );
      const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
      const body = 'x'.repeat(Math.min(length, SENT_BYTES));
      const most = Math.min(maxBodyBytes || Infinity, way === 'whole' ? MOST_WHOLE_BYTES : Infinity);
      if (length <= SENT_BYTES)
        expect(await responseTo(port, head + body)).toMatch(new RegExp(`\r\n${length}$`));
      else if (length > most) expect(await responseTo(port, head)).toMatch(/^HTTP\/1\.1 413 /);
      else {
        const socket = connect(port, '127.0.0.1');
        await once(socket, 'connect');
        await new Promise((resolve) => socket.write(head + body, resolve));
        socket.destroy();
        await gone;
      }
      expect(await responseTo(port, GET)).toMatch(/fine$/);
      expect(lines.filter((line) => !line.startsWith('client '))).toEqual([]);
    });
  }
}
