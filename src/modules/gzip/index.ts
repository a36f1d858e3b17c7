import { constants, createGzip, type Gzip, gzipSync } from 'node:zlib';
import { directivesFor, readers } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import {
  type Codec,
  compressionFilter,
  compressionTest,
  type Exchange,
  type HeaderFilter,
  isUncoded,
  mediaTypeTest,
  RANGED,
  stateKey,
  varyByEncoding,
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

/** Above this level compression takes so long that only short bodies are compressed synchronously. */
const QUICK_LEVEL = 6;
const SHORT_BYTES = 32_768;
/** Size of output buffers: large enough for most pieces, but small because each response allocates its own. */
const LEAST_ROOM_BYTES = 512;
const MOST_ROOM_BYTES = 16_384;

/** Gives gzip at a level from 1 to 9. */
export function gzipCodec(level: number): Codec {
  return {
    coding: 'gzip',
    quickBytes: level > QUICK_LEVEL ? SHORT_BYTES : Infinity,
    pack: (body) => {
      const chunkSize = Math.max(LEAST_ROOM_BYTES, Math.min(body.byteLength, MOST_ROOM_BYTES));
      return gzipSync(body, { level, chunkSize });
    },
    open: () => createGzip({ level, chunkSize: MOST_ROOM_BYTES }),
    flush: (engine, done) => (engine as Gzip).flush(constants.Z_SYNC_FLUSH, done),
  };
}

const RATIO = stateKey<string>('gzip_ratio');

/** nginx's gzip module: compresses responses for clients that accept it (nginx ngx_http_gzip_filter_module). */
export const gzip = moduleFor<GzipConfig>()({
  name: 'gzip',
  summary: 'Compresses responses with gzip.',
  directives,
  variables: {
    gzip_ratio: {
      summary: 'The compression ratio; empty if the response was not compressed.',
      compile: () => (x) => x.state(RATIO),
    },
  },
  enabled: (config) => config.gzip,
  compile(config, _resources, build) {
    const fits = compressionTest(config);
    const accepts = build.acceptsGzip();
    const measured = (x: Exchange, inBytes: number, outBytes: number): void =>
      x.setState(RATIO, (inBytes / outBytes).toFixed(2));
    return {
      ...(build.core.gzipVary && { filter: vary(fits, config) }),
      bodyFilter: compressionFilter(
        gzipCodec(config.level),
        (x) => fits(x) && accepts(x),
        build.uses('gzip_ratio') ? measured : undefined,
      ),
    };
  },
  rules: () => import('./rules.ts'),
});

/** Sets `Vary` before `add_header`, as nginx does; also for ranges that gw cuts from a response which may be compressed. */
function vary(fits: (x: Exchange) => boolean, { types, minLengthBytes }: GzipConfig): HeaderFilter {
  const hasType = mediaTypeTest(types.flat());
  const isRange = (x: Exchange): boolean => {
    const whole = x.status === 206 ? x.state(RANGED) : undefined;
    return whole !== undefined && whole.sizeBytes >= minLengthBytes && hasType(x, whole.type) && isUncoded(x);
  };
  return (x) => {
    if (fits(x) || isRange(x)) varyByEncoding(x);
  };
}
