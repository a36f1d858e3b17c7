import { directivesFor, readers } from '../../config/index.ts';

export interface GzipConfig {
  readonly gzip: boolean;
  readonly types: readonly (readonly string[])[];
  readonly minLengthBytes: number;
  /** 1 … 9. */
  readonly level: number;
}

const HSL = ['http', 'server', 'location'] as const;

/** nginx's gzip module; what decides about the client is in the core, for `gunzip` and `gzip_static` ask it too. */
export const directives = directivesFor<GzipConfig>()({
  gzip: {
    contexts: [...HSL, 'location if'],
    args: readers.flag,
    into: 'gzip',
    default: false,
    summary: 'Compresses answers for clients that accept it.',
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
    summary: 'Shortest answer that is compressed, where its length is known.',
    source: 'nginx ngx_http_gzip_module#gzip_min_length',
  },
  gzip_comp_level: {
    contexts: HSL,
    args: readers.integer({ min: 1, max: 9 }),
    into: 'level',
    default: 1,
    summary: 'Effort of the compression: 1 is fastest, 9 smallest.',
    source: 'nginx ngx_http_gzip_module#gzip_comp_level',
  },
});
