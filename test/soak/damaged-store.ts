import type { Owner } from '../harness/owner.ts';
import { listening } from './listening.ts';

/** A store whose reply is in the key of the last request: base64url of the bytes. The key `x` closes the connection at once. */
export function startDamagedStore(owner: Owner): Promise<number> {
  return listening(owner, (socket) => {
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (;;) {
        const request = takeCommand(text);
        if (!request) break;
        text = text.slice(request.length);
        reply(
          request.words,
          (bytes) => socket.write(bytes),
          () => socket.destroy(),
        );
      }
    });
  });
}

function reply(words: readonly string[], write: (bytes: Buffer) => void, close: () => void): void {
  const [name = '', key = ''] = words;
  // The commands of a client that connects get the replies of Redis.
  if (!/^get$/i.test(name)) return write(Buffer.from(/^ping$/i.test(name) ? '+PONG\r\n' : '+OK\r\n'));
  if (key === 'x') return close();
  write(Buffer.from(key, 'base64url'));
}

/** The words of `*2 $3 GET $1 a`, with line ends after each; `undefined` while it is not complete. */
function takeCommand(text: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text);
  if (!head) return undefined;
  const words: string[] = [];
  let at = head[0].length;
  for (let left = Number(head[1]); left > 0; left--) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 20));
    if (!size) return undefined;
    const start = at + size[0].length;
    const end = start + Number(size[1]);
    if (text.length < end + 2) return undefined;
    words.push(text.slice(start, end));
    at = end + 2;
  }
  return { words, length: at };
}
