import type { Transform } from 'node:stream';
import { type BodyTransform, EngineTransform } from './body-transform.ts';
import { markTransformed } from './conditions.ts';
import type { BodyFilter, Exchange } from './exchange.ts';
import { mediaTypeTest } from './response-type.ts';

/** One way to compress bodies, at one level. */
export interface Codec {
  /** The word in `Content-Encoding`. */
  readonly coding: 'gzip' | 'br';
  /** Longer bodies are compressed in other threads. */
  readonly quickBytes: number;
  pack(body: Uint8Array): Uint8Array;
  /** Opens an engine for a body of this length; -1: unknown. */
  open(lengthBytes: number): Transform;
  /** Completes the output of what the engine has taken. */
  flush(engine: Transform, done: () => void): void;
}

/** The compression of one body. */
export interface Compression {
  readonly codec: Codec;
  /** -1: unknown; then each piece is flushed, so that the client can read it at once. */
  readonly lengthBytes: number;
  /** Called with the number of bytes before and after compression. */
  readonly measure: ((inBytes: number, outBytes: number) => void) | undefined;
}

/** Returns a transform that compresses one body. */
export function compressor(compression: Compression): BodyTransform {
  const { codec, lengthBytes } = compression;
  return lengthBytes > codec.quickBytes ? new Packing(compression) : new QuickPacking(compression);
}

/** Compresses piece by piece. The engine may take a quarter of a megabyte, so it is created with the first piece. */
class Packing implements BodyTransform {
  protected readonly compression: Compression;
  #engine: EngineTransform | undefined = undefined;
  #inBytes = 0;
  #outBytes = 0;

  constructor(compression: Compression) {
    this.compression = compression;
  }

  write(piece: Uint8Array): AsyncIterable<Uint8Array> {
    this.#inBytes += piece.byteLength;
    return this.#count((this.#engine ??= this.#open()).write(piece));
  }

  async *end(): AsyncIterable<Uint8Array> {
    yield* this.#count((this.#engine ??= this.#open()).end());
    this.compression.measure?.(this.#inBytes, this.#outBytes);
  }

  close(): void {
    this.#engine?.close();
  }

  #open(): EngineTransform {
    const { codec, lengthBytes } = this.compression;
    const engine = codec.open(lengthBytes);
    if (lengthBytes >= 0) return new EngineTransform(engine);
    return new EngineTransform(engine, (done) => codec.flush(engine, done));
  }

  async *#count(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) {
      this.#outBytes += piece.byteLength;
      yield piece;
    }
  }
}

/** Compresses a body that arrives as a whole synchronously, and others piece by piece. */
class QuickPacking extends Packing {
  whole(body: Uint8Array): Uint8Array {
    const { codec, measure } = this.compression;
    const packed = codec.pack(body);
    measure?.(body.byteLength, packed.byteLength);
    return packed;
  }
}

const STATUSES: ReadonlySet<number> = new Set([200, 403, 404]);

/** The limits within which responses are compressed. */
interface Compressible {
  readonly types: readonly (readonly string[])[];
  readonly minLengthBytes: number;
}

/** Compiles the test whether to compress a response, regardless of the client (nginx ngx_http_gzip_header_filter). */
export function compressionTest({ types, minLengthBytes }: Compressible): (x: Exchange) => boolean {
  const hasType = mediaTypeTest(types.flat());
  return (x) =>
    STATUSES.has(x.status) &&
    (x.response.lengthBytes < 0 || x.response.lengthBytes >= minLengthBytes) &&
    hasType(x) &&
    isUncoded(x);
}

/** Tells whether a response has no `Content-Encoding`. */
export function isUncoded(x: Exchange): boolean {
  return (x.response.header('Content-Encoding') ?? '') === '';
}

/** Sets `Vary: Accept-Encoding` in front of what `add_header` adds, as nginx does; once. */
export function varyByEncoding(x: Exchange): void {
  if (x.response.header('Vary') !== 'Accept-Encoding')
    (x.response.headers ??= []).unshift('Vary', 'Accept-Encoding');
}

/** Compiles the filter that compresses responses. `measured` gets the number of bytes before and after. */
export function compressionFilter(
  codec: Codec,
  wants: (x: Exchange) => boolean,
  measured?: (x: Exchange, inBytes: number, outBytes: number) => void,
): BodyFilter {
  return {
    wants,
    open(x) {
      x.response.setHeader('Content-Encoding', codec.coding);
      markTransformed(x);
      const measure = measured && ((...bytes: [number, number]) => measured(x, ...bytes));
      return compressor({ codec, lengthBytes: x.response.lengthBytes, measure });
    },
  };
}

const CODINGS = { gzip: /(?:^|[, ])gzip(.*)$/is, br: /(?:^|[, ])br(.*)$/is };

/**
 * Tells whether an `Accept-Encoding` accepts a coding, by nginx's rules: the first one at the start or after a comma or
 * blank counts; `q=0` or a malformed quality refuses it (nginx: ngx_http_gzip_accept_encoding).
 */
export function acceptsCoding(acceptEncoding: string, coding: keyof typeof CODINGS): boolean {
  if (coding === 'gzip' && acceptEncoding.startsWith('gzip,')) return true;
  const [, rest] = CODINGS[coding].exec(acceptEncoding) ?? [];
  if (rest === undefined) return false;
  const [, separator, parameter = ''] = /^ *(?:([,;])(.*))?$/s.exec(rest) ?? [undefined, 'other'];
  if (separator !== ';') return separator !== 'other';
  if (/^ *$/.test(parameter)) return true;
  return /^ *q=(?:1(?:\.0{0,3})?|0\.(?!0{0,3}(?:[, ]|$))\d{0,3})(?:[, ]|$)/i.test(parameter);
}
