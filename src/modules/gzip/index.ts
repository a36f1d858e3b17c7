import { constants, createGzip, gzipSync } from 'node:zlib';
import { directivesFor, readers } from '../../config/index.ts';
import { type Build, moduleFor } from '../../contract/index.ts';
import {
  markTransformed,
  type BodyFilter,
  type BodyTransform,
  EngineTransform,
  type Exchange,
  type HeaderFilter,
  mediaTypeTest,
  PARTS_TYPE,
  stateKey,
} from '../../http/index.ts';

interface GzipConfig {
  readonly gzip: boolean;
  readonly types: readonly (readonly string[])[];
  readonly minLengthBytes: number;
  /** 1 … 9. */
  readonly level: number;
}

const HSL = ['http', 'server', 'location'] as const;

/**
 * The directives of nginx's gzip module. Those that concern the client are in the core, since `gunzip` and `gzip_static` use them
 * too.
 */
const directives = directivesFor<GzipConfig>()({
  gzip: {
    contexts: [...HSL, 'location if'],
    args: readers.flag,
    into: 'gzip',
    default: false,
    summary: 'Compresses responses for clients that accept gzip.',
    source: 'nginx ngx_http_gzip_module#gzip',
  },
  gzip_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [['text/html']],
    defaultText: 'text/html',
    summary: 'Media types that are compressed, besides text/html; `*` for all.',
    source: 'nginx ngx_http_gzip_module#gzip_types',
  },
  gzip_min_length: {
    contexts: HSL,
    args: readers.size,
    into: 'minLengthBytes',
    default: 20,
    summary: 'Minimum length of a response that is compressed, if its length is known.',
    source: 'nginx ngx_http_gzip_module#gzip_min_length',
  },
  gzip_comp_level: {
    contexts: HSL,
    args: readers.integer({ min: 1, max: 9 }),
    into: 'level',
    default: 1,
    summary: 'Compression level: 1 is fastest, 9 smallest.',
    source: 'nginx ngx_http_gzip_module#gzip_comp_level',
  },
});

/** Settings for the compression of one body. */
export interface Compression {
  /** 1 … 9. */
  readonly level: number;
  /** -1: unknown; then each piece is flushed, so that the client can read it at once. */
  readonly lengthBytes: number;
  /** Called with the number of bytes before and after compression. */
  readonly measure: ((inBytes: number, outBytes: number) => void) | undefined;
}

/** Above this level compression takes so long that only short bodies are compressed synchronously. */
const QUICK_LEVEL = 6;
const SHORT_BYTES = 32_768;
/** Size of output buffers: large enough for most pieces, but small because each response allocates its own. */
const LEAST_ROOM_BYTES = 512;
const MOST_ROOM_BYTES = 16_384;

/** Gives a transform that compresses one body. */
export function compressor(compression: Compression): BodyTransform {
  const { level, lengthBytes } = compression;
  const takesLong = level > QUICK_LEVEL && lengthBytes > SHORT_BYTES;
  return takesLong ? new Packing(compression) : new QuickPacking(compression);
}

/** Compresses piece by piece. The zlib stream takes a quarter of a megabyte, so it is created with the first piece. */
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
    const { level, lengthBytes } = this.compression;
    const engine = createGzip({ level, chunkSize: MOST_ROOM_BYTES });
    if (lengthBytes >= 0) return new EngineTransform(engine);
    return new EngineTransform(engine, (done) => engine.flush(constants.Z_SYNC_FLUSH, done));
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
    const { level, measure } = this.compression;
    const chunkSize = Math.max(LEAST_ROOM_BYTES, Math.min(body.byteLength, MOST_ROOM_BYTES));
    const packed = gzipSync(body, { level, chunkSize });
    measure?.(body.byteLength, packed.byteLength);
    return packed;
  }
}

const STATUSES: ReadonlySet<number> = new Set([200, 403, 404]);
const RATIO = stateKey<string>('gzip_ratio');

/** nginx's gzip module: compresses responses for clients that accept it (nginx ngx_http_gzip_filter_module). */
export const gzip = moduleFor<GzipConfig>()({
  name: 'gzip',
  directives,
  variables: {
    gzip_ratio: {
      summary: 'The compression ratio; empty if the response was not compressed.',
      compile: () => (x) => x.state(RATIO),
    },
  },
  enabled: (config) => config.gzip,
  compile(config, _resources, build) {
    const fits = compileTest(config);
    return {
      ...(build.core.gzipVary && { filter: vary(fits, config) }),
      bodyFilter: compileFilter(fits, config, build),
    };
  },
  rules: () => import('./rules.ts'),
});

type Test = (x: Exchange) => boolean;

/** Tells whether a response should be compressed, regardless of the client. */
function compileTest({ types, minLengthBytes }: GzipConfig): Test {
  const hasType = mediaTypeTest(types.flat());
  return (x) =>
    STATUSES.has(x.status) &&
    (x.response.lengthBytes < 0 || x.response.lengthBytes >= minLengthBytes) &&
    hasType(x) &&
    isPlain(x);
}

function isPlain(x: Exchange): boolean {
  return (x.response.header('Content-Encoding') ?? '') === '';
}

/** Sets `Vary` before `add_header`, as nginx does; also for ranges, whose full response may be compressed. */
function vary(fits: Test, { types }: GzipConfig): HeaderFilter {
  const hasType = mediaTypeTest(types.flat());
  const isRange: Test = (x) =>
    x.status === 206 &&
    (x.state(PARTS_TYPE) !== undefined || x.response.header('Content-Range') !== undefined) &&
    hasType(x, x.state(PARTS_TYPE)) &&
    isPlain(x);
  return (x) => {
    // `gzip_static` has set it already.
    if ((fits(x) || isRange(x)) && x.response.header('Vary') !== 'Accept-Encoding')
      (x.response.headers ??= []).unshift('Vary', 'Accept-Encoding');
  };
}

function compileFilter(fits: Test, { level }: GzipConfig, build: Build): BodyFilter {
  const accepts = build.acceptsGzip();
  const isMeasured = build.uses('gzip_ratio');
  return {
    wants: (x: Exchange) => fits(x) && accepts(x),
    open(x) {
      x.response.setHeader('Content-Encoding', 'gzip');
      markTransformed(x);
      const measure = isMeasured
        ? (inBytes: number, outBytes: number) => x.setState(RATIO, (inBytes / outBytes).toFixed(2))
        : undefined;
      return compressor({ level, lengthBytes: x.response.lengthBytes, measure });
    },
  };
}
