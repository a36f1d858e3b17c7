import { once } from 'node:events';
import { connect } from 'node:net';

/** A client that sends exactly the given bytes; one character is one byte (latin1), both ways. */
export interface RawConnection {
  write(bytes: string | Uint8Array): void;
  /** Everything received so far, as soon as the pattern matches it. Throws when the server closes before. */
  until(pattern: RegExp): Promise<string>;
  /** Everything received, once the server has closed. */
  readonly closed: Promise<string>;
  received(): string;
  /** Sends FIN; the server may still respond. */
  end(): void;
  destroy(): void;
}

/** Opens a TCP connection to 127.0.0.1. */
export async function connectRaw(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  // A server may also close by a reset; bytes received before it count.
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => {
    const finish = () => {
      socket.destroy();
      resolve(text);
    };
    socket.once('end', finish).once('close', finish);
  });
  const until = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text)) {
      await Promise.race([once(socket, 'data'), closed]);
      if (socket.destroyed && !pattern.test(text))
        throw new Error(`closed before ${pattern}, after: ${text}`);
    }
    return text;
  };
  return {
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    until,
    closed,
    received: () => text,
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  };
}

/** Sends bytes, and returns those received until the server closed, or was silent for `idleMs` after its first byte. */
export async function exchangeRaw(port: number, bytes: string | Uint8Array, idleMs = 300): Promise<string> {
  const connection = await connectRaw(port);
  connection.write(bytes);
  // uWebSockets.js cuts an idle connection after 12 s at the latest, so this ends.
  await Promise.race([connection.until(/[^]/), connection.closed]).catch(() => undefined);
  for (let length = -1; length !== connection.received().length;) {
    length = connection.received().length;
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([connection.closed, new Promise((resolve) => (timer = setTimeout(resolve, idleMs)))]);
    clearTimeout(timer);
  }
  connection.destroy();
  return connection.received();
}
