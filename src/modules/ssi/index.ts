import { directivesFor, readers } from '../../config/index.ts';
import { type Build, moduleFor } from '../../contract/index.ts';
import { type BodyFilter, type Exchange, mediaTypeTest, weakenEtag } from '../../http/index.ts';
import { SsiPage } from './page.ts';
import { PageVariables } from './values.ts';

interface SsiConfig {
  readonly ssi: boolean;
  readonly types: readonly (readonly string[])[];
  readonly silentErrors: boolean;
  readonly lastModified: boolean;
  readonly maxValueBytes: number;
}

const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_ssi_module#${name}`;

const directives = directivesFor<SsiConfig>()({
  ssi: {
    contexts: [...HSL, 'location if'],
    args: readers.flag,
    into: 'ssi',
    default: false,
    summary:
      'Carries out the server-side includes of pages: `include`, `echo`, `set`, `if`, `block`, `config`.',
    source: source('ssi'),
  },
  ssi_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [['text/html']],
    defaultText: 'text/html',
    summary: 'Media types of the pages, besides text/html; `*` for all.',
    source: source('ssi_types'),
  },
  ssi_silent_errors: {
    contexts: HSL,
    args: readers.flag,
    into: 'silentErrors',
    default: false,
    summary: 'Whether a command that fails shows nothing instead of a message.',
    source: source('ssi_silent_errors'),
  },
  ssi_last_modified: {
    contexts: HSL,
    args: readers.flag,
    into: 'lastModified',
    default: false,
    summary: 'Whether pages keep their `Last-Modified` and, as a weak one, their `ETag`.',
    source: source('ssi_last_modified'),
  },
  ssi_value_length: {
    contexts: HSL,
    args: readers.integer({ min: 1 }),
    into: 'maxValueBytes',
    default: 256,
    summary: 'Maximum length of the value of a parameter, in bytes.',
    source: source('ssi_value_length'),
  },
  ssi_min_file_chunk: {
    contexts: HSL,
    args: readers.size,
    accepted: 'pages are read in pieces of their own',
    summary: 'Accepted, without effect.',
    source: source('ssi_min_file_chunk'),
  },
  ssi_ignore_recycled_buffers: {
    contexts: HSL,
    args: readers.flag,
    accepted: 'buffers are not recycled before they are sent',
    summary: 'Accepted, without effect.',
    source: source('ssi_ignore_recycled_buffers'),
  },
});

/** Server-side includes (nginx ngx_http_ssi_module). */
export const ssi = moduleFor<SsiConfig>()({
  name: 'ssi',
  summary: 'Server-side includes.',
  directives,
  enabled: (config) => config.ssi,
  compile: (config, _resources, build) => ({ bodyFilter: compileFilter(config, build) }),
});

function compileFilter(config: SsiConfig, build: Build): BodyFilter {
  const hasType = mediaTypeTest(config.types.flat());
  const { silentErrors, maxValueBytes } = config;
  const rules = { variables: new PageVariables(build), silentErrors, maxValueBytes };
  return {
    wants: (x) => x.response.lengthBytes !== 0 && hasType(x),
    open(x: Exchange) {
      x.response.removeHeader('Accept-Ranges');
      if (config.lastModified) weakenEtag(x);
      else {
        x.response.removeHeader('Last-Modified');
        x.response.removeHeader('ETag');
      }
      return new SsiPage(x, rules);
    },
  };
}
