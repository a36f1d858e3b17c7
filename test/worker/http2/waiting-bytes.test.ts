import { once } from 'node:events';
import { type ClientHttp2Stream, connect } from 'node:http2';
import { expect, test } from 'vitest';
import type { Exchange } from '../../../src/http/index.ts';
import { Relay } from '../../../src/bodies/relay.ts';
import { FileSender, PieceBuffers, type SentFile } from '../../../src/bodies/send-file.ts';
import { serve } from '../serve.ts';

const STREAMS = 100;
const BODY_BYTES = 2_000_000;
const PIECE = Buffer.alloc(16_384);

/** The bytes that have been read for the clients of a test. */
interface Readings {
  bytes: number;
  /** Streams for which something has been read. */
  readonly streams: Set<Exchange>;
}

const sender = new FileSender(new PieceBuffers(), { write: () => undefined });

function sendFile(x: Exchange, readings: Readings): void {
  const file: SentFile = {
    sizeBytes: BODY_BYTES,
    content: () => Buffer.alloc(BODY_BYTES),
    read: (bytes) => bytes.length,
    readLater: (bytes) => {
      readings.bytes += bytes.length;
      readings.streams.add(x);
      return Promise.resolve(bytes.length);
    },
    release: () => undefined,
  };
  const parts = [{ head: '', from: 0, to: BODY_BYTES }];
  void sender.send(x, file, {
    status: 200,
    path: 'file',
    body: { contentType: '', lengthBytes: BODY_BYTES, parts, tail: '' },
  });
}

/** A source that is always ready, as a fast upstream is. */
function relay(x: Exchange, readings: Readings): void {
  let left = BODY_BYTES;
  let isPaused = false;
  const flow = (): void => {
    while (!isPaused && left > 0) {
      const piece = PIECE.subarray(0, left);
      left -= piece.length;
      readings.bytes += piece.length;
      readings.streams.add(x);
      taker.piece(piece);
    }
    if (left === 0) taker.end();
  };
  const source = {
    trailers: [],
    pause: () => (isPaused = true),
    resume: () => {
      isPaused = false;
      flow();
    },
  };
  const rules = { status: 200, contentType: '', lengthBytes: BODY_BYTES, readAheadBytes: 65_536 };
  const taker = new Relay(x, source, rules);
  flow();
}

for (const { it, answer } of [
  { it: 'a file', answer: sendFile },
  { it: 'the body of an upstream', answer: relay },
]) {
  test(`of ${it} little is read for streams that their client does not read, and all once it does`, async (t) => {
    const readings: Readings = { bytes: 0, streams: new Set() };
    const port = await serve(t, {
      http2: { servers: [0], maxStreams: STREAMS, windowBytes: 65_536 },
      rules: { sendTimeoutMs: 60_000 },
      serve: (x) => answer(x, readings),
    });
    const client = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
    t.onTestFinished(() => client.destroy());
    await once(client, 'remoteSettings');
    const streams = Array.from({ length: STREAMS }, () => client.request({ ':path': '/' }));
    await Promise.all(streams.map((stream) => once(stream, 'response')));
    // Without a window nothing is taken, so nothing follows the first reading of a stream.
    await expect.poll(() => readings.streams.size).toBe(STREAMS);
    expect(readings.bytes).toBeLessThan(1_048_576 + 2 * STREAMS * PIECE.length);
    client.settings({ initialWindowSize: 1_048_576 });
    client.setLocalWindowSize(2 ** 30);
    const read = async (stream: ClientHttp2Stream): Promise<void> => {
      let received = 0;
      for await (const piece of stream) received += (piece as Buffer).length;
      expect(received).toBe(BODY_BYTES);
    };
    await Promise.all(streams.map(read));
  });
}

test('bodies that were made whole count: beside them only a frame of a file is read', async (t) => {
  const readings: Readings = { bytes: 0, streams: new Set() };
  const port = await serve(t, {
    http2: { servers: [0], maxStreams: STREAMS, windowBytes: 65_536 },
    rules: { sendTimeoutMs: 60_000 },
    serve: (x) => (x.uri === '/file' ? sendFile(x, readings) : x.send(200, '', Buffer.alloc(200_000))),
  });
  const client = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  t.onTestFinished(() => client.destroy());
  await once(client, 'remoteSettings');
  const whole = Array.from({ length: 10 }, () => client.request({ ':path': '/' }));
  await Promise.all(whole.map((stream) => once(stream, 'response')));
  await once(client.request({ ':path': '/file' }), 'response');
  await expect.poll(() => readings.bytes).toBe(PIECE.length);
});
