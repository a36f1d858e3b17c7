import { moduleFor } from '../../contract/index.ts';
import type { Build } from '../../contract/index.ts';
import { mediaTypeTest, becomesAnother } from '../../http/index.ts';
import type { BodyFilter, Exchange, HeaderFilter } from '../../http/index.ts';
import { compressor } from './compress.ts';
import { directives } from './directives.ts';
import type { GzipConfig } from './directives.ts';

const STATUSES: ReadonlySet<number> = new Set([200, 403, 404]);
const RATIO = Symbol('gzip_ratio');

/** Answers in gzip for clients that accept it (nginx ngx_http_gzip_filter_module). */
export const gzip = moduleFor<GzipConfig>()({
  name: 'gzip',
  directives,
  variables: {
    gzip_ratio: {
      summary: 'How many times smaller the answer became; empty where it was not compressed.',
      compile: () => (x) => x.state<string>(RATIO),
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
});

type Test = (x: Exchange) => boolean;

/** Whether an answer is one to compress, whoever the client is. */
function compileTest({ types, minLengthBytes }: GzipConfig): Test {
  const hasType = mediaTypeTest(types.flat());
  return (x) =>
    STATUSES.has(x.status) &&
    (x.responseLength < 0 || x.responseLength >= minLengthBytes) &&
    hasType(x) &&
    isPlain(x);
}

function isPlain(x: Exchange): boolean {
  return (x.responseHeader('Content-Encoding') ?? '') === '';
}

/** nginx writes it before what `add_header` adds. A range may be one of an answer that is compressed as a whole. */
function vary(fits: Test, { types }: GzipConfig): HeaderFilter {
  const hasType = mediaTypeTest(types.flat());
  const isRange: Test = (x) =>
    x.status === 206 &&
    (x.partsType !== '' || x.responseHeader('Content-Range') !== undefined) &&
    hasType(x.partsType === '' ? x : { responseType: x.partsType, configuredType: x.configuredType }) &&
    isPlain(x);
  return (x) => {
    // A file in gzip that lies beside the plain one has said so.
    if ((fits(x) || isRange(x)) && x.responseHeader('Vary') !== 'Accept-Encoding')
      (x.responseHeaders ??= []).unshift('Vary', 'Accept-Encoding');
  };
}

function compileFilter(fits: Test, { level }: GzipConfig, build: Build): BodyFilter {
  const accepts = build.acceptsGzip();
  const isMeasured = build.uses('gzip_ratio');
  return {
    wants: (x: Exchange) => fits(x) && accepts(x),
    open(x) {
      x.setHeader('Content-Encoding', 'gzip');
      becomesAnother(x);
      const measure = isMeasured
        ? (inBytes: number, outBytes: number) => x.setState(RATIO, (inBytes / outBytes).toFixed(2))
        : undefined;
      return compressor({ level, lengthBytes: x.responseLength, measure });
    },
  };
}
