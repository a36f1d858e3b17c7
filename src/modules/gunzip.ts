import { createGunzip } from 'node:zlib';
import { directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import { markTransformed, type BodyFilter, EngineTransform, type Exchange } from '../http/index.ts';

interface GunzipConfig {
  readonly gunzip: boolean;
}

const directives = directivesFor<GunzipConfig>()({
  gunzip: {
    contexts: ['http', 'server', 'location'],
    args: readers.flag,
    into: 'gunzip',
    default: false,
    summary: 'Decompresses gzip responses for clients that do not accept gzip.',
    source: 'nginx ngx_http_gunzip_module#gunzip',
  },
});

/** Decompresses responses for clients that do not accept gzip (nginx ngx_http_gunzip_filter_module). */
export const gunzip = moduleFor<GunzipConfig>()({
  name: 'gunzip',
  summary: 'Unpacks responses for clients that do not take gzip.',
  directives,
  enabled: (config) => config.gunzip,
  compile: (_config, _resources, build) => ({
    ...(build.core.gzipVary && { filter: (x) => (isGzip(x) ? vary(x) : undefined) }),
    bodyFilter: compileFilter(build),
  }),
});

function isGzip(x: Exchange): boolean {
  return x.response.header('Content-Encoding')?.toLowerCase() === 'gzip';
}

/** Sets `Vary` before `add_header`, as nginx does. */
function vary(x: Exchange): void {
  (x.response.headers ??= []).unshift('Vary', 'Accept-Encoding');
}

/** Maximum number of bytes that are decompressed before the client takes them. */
const PIECE_BYTES = 65_536;

/** Decompresses piece by piece, since a few bytes may become gigabytes. */
function compileFilter(build: Build): BodyFilter {
  const accepts = build.acceptsGzip();
  return {
    wants: (x: Exchange) => isGzip(x) && !accepts(x),
    open(x) {
      x.response.removeHeader('Content-Encoding');
      markTransformed(x);
      return new EngineTransform(createGunzip({ chunkSize: PIECE_BYTES }));
    },
  };
}
