import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type Compression, compressor } from '../../../src/http/index.ts';
import { gzipCodec } from '../../../src/modules/gzip/index.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { GET, lines, serve } from '../../worker/serve.ts';
import { connectRaw } from '../../harness/raw.ts';

const load = oneGateway();

const TEXT = Buffer.from('a line of text that comes again and again\n'.repeat(2_000));

test('a body that is packed whole or in pieces unpacks to the same', async () => {
  const measured: [number, number][] = [];
  const measure = (...bytes: [number, number]): number => measured.push(bytes);
  const compression: Compression = { codec: gzipCodec(5), lengthBytes: TEXT.byteLength, measure };
  const whole = compressor(compression).whole?.(TEXT) as Uint8Array;
  expect(gunzipSync(whole).equals(TEXT)).toBe(true);

  const pieces: Uint8Array[] = [];
  const packing = compressor(compression);
  for await (const piece of packing.write(TEXT) as AsyncIterable<Uint8Array>) pieces.push(piece);
  for await (const piece of packing.end() as AsyncIterable<Uint8Array>) pieces.push(piece);
  const packed = Buffer.concat(pieces);
  expect(gunzipSync(packed).equals(TEXT)).toBe(true);
  expect(measured).toEqual([
    [TEXT.byteLength, whole.byteLength],
    [TEXT.byteLength, packed.byteLength],
  ]);
});

for (const [it, level, lengthBytes, isWhole] of [
  ['short body at the best level at once', 9, 30_000, true],
  ['longer body at the best level in pieces', 9, 40_000, false],
  ['longer body at a quick level at once', 6, 100_000, true],
] as const) {
  test(`packs a ${it}`, () => {
    expect(compressor({ codec: gzipCodec(level), lengthBytes, measure: undefined }).whole !== undefined).toBe(
      isWhole,
    );
  });
}

test('a client that does not read holds back the writer of a packed response', async (t) => {
  const piece = randomBytes(65_536);
  let written = 0;
  let ended: (() => void) | undefined;
  const end = new Promise<void>((resolve) => (ended = resolve));
  const filter = {
    wants: () => true,
    open: () => compressor({ codec: gzipCodec(1), lengthBytes: -1, measure: undefined }),
  };
  const port = await serve(t, {
    rules: { bodyFilters: [filter], sendTimeoutMs: 60_000 },
    serve: async (x) => {
      const stream = x.stream(200, 'text/plain');
      for (; stream && written < 1_000 && !x.aborted; written++)
        if (!stream.write(piece)) await stream.drained();
      stream?.end();
      ended?.();
    },
  });
  const client = await connectRaw(port);
  client.write(GET);
  await client.until(/HTTP/);
  expect(written).toBeLessThan(1_000);
  client.destroy();
  await end;
  expect(lines).toEqual([]);
});

test('$gzip_ratio is how many times smaller the response became', async (t) => {
  const gw = await load(
    t,
    `log_format ratio "$uri [$gzip_ratio] $body_bytes_sent"; access_log access.log ratio; gzip on; gzip_types *;
     server { location / { return 200 ${'x'.repeat(1_000)}; } }`,
  );
  const { bytes } = await gw.fetch('/packed', { headers: { 'accept-encoding': 'gzip' } });
  await gw.fetch('/plain');
  await gw.waitForAccessLog(/plain/);
  const ratio = (1_000 / bytes.length).toFixed(2);
  expect(gw.accessLog()).toBe(`/packed [${ratio}] ${bytes.length}\n/plain [-] 1000\n`);
});
