import { type BrotliCompress, brotliCompressSync, constants, createBrotliCompress } from 'node:zlib';
import { directivesFor, readers } from '../config/index.ts';
import { moduleFor } from '../contract/index.ts';
import {
  acceptsCoding,
  type Codec,
  compressionFilter,
  compressionTest,
  type Exchange,
  stateKey,
  varyByEncoding,
} from '../http/index.ts';

interface BrotliConfig {
  readonly brotli: boolean;
  readonly types: readonly (readonly string[])[];
  readonly minLengthBytes: number;
  /** 0 … 11. */
  readonly level: number;
  /** A power of two from 1 KB to 16 MB. */
  readonly windowBytes: number;
}

const HSL = ['http', 'server', 'location'] as const;
const SOURCE = 'ngx_brotli';

/** The sizes of windows as they are written: 1k … 512k, 1m … 16m. */
const WINDOWS = Array.from({ length: 15 }, (_, power) =>
  power < 10 ? `${2 ** power}k` : `${2 ** (power - 10)}m`,
);

const directives = directivesFor<BrotliConfig>()({
  brotli: {
    contexts: [...HSL, 'location if'],
    args: readers.flag,
    into: 'brotli',
    default: false,
    summary: 'Compresses responses with Brotli for clients that accept it, in preference to gzip.',
    source: `${SOURCE}#brotli`,
  },
  brotli_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [['text/html']],
    defaultText: 'text/html',
    summary: 'Media types that are compressed, besides text/html; `*` for all.',
    source: `${SOURCE}#brotli_types`,
  },
  brotli_min_length: {
    contexts: HSL,
    args: readers.size,
    into: 'minLengthBytes',
    default: 20,
    summary: 'Minimum length of a response that is compressed, if its length is known.',
    source: `${SOURCE}#brotli_min_length`,
  },
  brotli_comp_level: {
    contexts: HSL,
    args: readers.integer({ min: 0, max: 11 }),
    into: 'level',
    default: 6,
    summary: 'Compression level: 0 is fastest, 11 smallest.',
    source: `${SOURCE}#brotli_comp_level`,
  },
  brotli_window: {
    contexts: HSL,
    args: readers.oneWord(WINDOWS.join(' | '), ({ value, span }, { report }) => {
      const at = WINDOWS.indexOf(value.toLowerCase());
      if (at >= 0) return 2 ** (10 + at);
      report.emerg(`invalid value "${value}"`, span, 'expected a power of two from 1k to 16m');
      return undefined;
    }),
    into: 'windowBytes',
    default: 2 ** 19,
    defaultText: '512k',
    summary: 'Size of the window in which repetitions are found; short bodies get a smaller one.',
    source: `${SOURCE}#brotli_window`,
  },
  brotli_buffers: {
    contexts: HSL,
    args: readers.words({ syntax: 'number size', min: 2, max: 2 }, () => true),
    accepted: 'buffers are sized by what a response needs',
    summary: 'Accepted for compatibility.',
    source: `${SOURCE}#brotli_buffers`,
  },
});

const RATIO = stateKey<string>('brotli_ratio');

/** Compresses responses with Brotli (ngx_brotli). `gzip_vary` applies to it, `gzip_proxied` does not. */
export const brotli = moduleFor<BrotliConfig>()({
  name: 'brotli',
  summary: 'Compresses responses with Brotli.',
  directives,
  variables: {
    brotli_ratio: {
      summary: 'The compression ratio of Brotli; empty if the response was not compressed.',
      compile: () => (x) => x.state(RATIO),
    },
  },
  enabled: (config) => config.brotli,
  compile(config, _resources, build) {
    const fits = compressionTest(config);
    build.needHeader('accept-encoding');
    const measured = (x: Exchange, inBytes: number, outBytes: number): void =>
      x.setState(RATIO, (inBytes / outBytes).toFixed(2));
    return {
      ...(build.core.gzipVary && { filter: (x) => (fits(x) ? varyByEncoding(x) : undefined) }),
      bodyFilter: compressionFilter(
        brotliCodec(config),
        (x) => fits(x) && x.main === x && acceptsCoding(x.header('accept-encoding') ?? '', 'br'),
        build.uses('brotli_ratio') ? measured : undefined,
      ),
    };
  },
});

/** A body of this size takes some milliseconds at the level 6, and much longer at those above. */
const QUICK_BYTES = 131_072;
const QUICK_LEVEL = 6;
const SHORT_BYTES = 8_192;
const LEAST_WINDOW_BITS = 10;

function brotliCodec({ level, windowBytes }: BrotliConfig): Codec {
  const options = (lengthBytes: number): { params: Record<number, number> } => {
    const bits = Math.log2(windowBytes);
    const needed =
      lengthBytes < 0 ? bits : Math.max(LEAST_WINDOW_BITS, Math.ceil(Math.log2(lengthBytes + 16)));
    return {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: level,
        [constants.BROTLI_PARAM_LGWIN]: Math.min(bits, needed),
        [constants.BROTLI_PARAM_SIZE_HINT]: Math.max(lengthBytes, 0),
      },
    };
  };
  return {
    coding: 'br',
    quickBytes: level > QUICK_LEVEL ? SHORT_BYTES : QUICK_BYTES,
    pack: (body) => brotliCompressSync(body, options(body.byteLength)),
    open: (lengthBytes) => createBrotliCompress(options(lengthBytes)),
    flush: (engine, done) => (engine as BrotliCompress).flush(constants.BROTLI_OPERATION_FLUSH, done),
  };
}
