/** A FastCGI program that responds as fast as this runtime can: what is measured is the gateway in front of it. */
import { createServer } from 'node:net';
import { record } from '../../harness/scripted-program.ts';

const [, , STDIN, STDOUT, END] = [0, 1, 5, 6, 3];
const RESPONSE = Buffer.concat([
  record(STDOUT as number, 'Content-Type: text/plain\r\nContent-Length: 14\r\n\r\na small answer'),
  record(STDOUT as number, ''),
  record(END as number, '\0'.repeat(8)),
]);

const server = createServer({ noDelay: true }, (socket) => {
  let rest = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes]);
    let at = 0;
    while (at + 8 <= rest.length) {
      const length = rest.readUInt16BE(at + 4);
      const next = at + 8 + length + (rest[at + 6] as number);
      if (next > rest.length) break;
      if (rest[at + 1] === STDIN && length === 0) socket.write(RESPONSE);
      at = next;
    }
    rest = rest.subarray(at);
  });
  socket.on('error', () => socket.destroy());
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
