import { directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor, type VariableDefinition } from '../contract/index.ts';
import { type Getter, isSafeHeaderName, stateKey } from '../http/index.ts';

interface RequestIdConfig {
  /** Absent: nothing is configured. */
  readonly header?: string;
  readonly response?: boolean;
}

const CONTEXTS = ['http', 'server', 'location'] as const;
const DEFAULT_HEADER = 'X-Request-ID';
const UNFIT: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection', 'host']);

const headerName = readers.oneWord('name', ({ value, span }, { report }) => {
  if (isSafeHeaderName(value) && !value.includes('$') && !UNFIT.has(value.toLowerCase())) return value;
  report.emerg(`invalid header name "${value}"`, span);
  return undefined;
});

const directives = directivesFor<RequestIdConfig>()({
  request_id_header: {
    contexts: CONTEXTS,
    args: headerName,
    into: 'header',
    defaultText: DEFAULT_HEADER,
    summary:
      'Gives each request an id (`$ngz_request_id`): that of this request header, if it has 1 to 128 visible ASCII characters, else a new UUID. The response has the id in the same header.',
    source: 'nginz requestid#request_id_header',
  },
  request_id_response: {
    contexts: CONTEXTS,
    args: readers.flag,
    into: 'response',
    defaultText: 'on',
    summary: 'Gives each request an id, and decides whether the response has it in its header.',
    source: 'nginz requestid#request_id_response',
  },
});

const FIT = /^[\x21-\x7e]{1,128}$/;
const ID = stateKey<string>('request id');

/** Compiles `$ngz_request_id`, the same for the whole request. */
function compileId({ header = DEFAULT_HEADER }: RequestIdConfig, build: Build): Getter {
  const name = header.toLowerCase();
  build.needHeader(name);
  const random = build.variable('request_id');
  return ({ main }) => {
    const known = main.state(ID);
    if (known !== undefined) return known;
    const given = main.header(name) ?? '';
    const id = FIT.test(given) ? given : uuidOf(random(main) as string);
    main.setState(ID, id);
    return id;
  };
}

/** Makes a UUID of 16 random bytes in hexadecimal (RFC 9562, 5.4): six of their bits are fixed. */
function uuidOf(hex: string): string {
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...parts, hex.slice(20)].join('-');
}

const SUMMARY = 'The id of the request, where `request_id_header` or `request_id_response` is set.';
const unset: VariableDefinition = { summary: SUMMARY, compile: () => () => undefined };

/** Ids of requests that are passed from hop to hop (nginz's requestid module). */
export const requestId = moduleFor<RequestIdConfig>()({
  name: 'request_id',
  summary: 'Ids of requests in headers, towards upstreams and clients.',
  directives,
  variables: { ngz_request_id: unset },
  enabled: ({ header, response }) => header !== undefined || response !== undefined,
  defines: (config) => ({
    ngz_request_id: { summary: SUMMARY, live: true, compile: (build) => compileId(config, build) },
  }),
  compile: (config, _resources, build) => {
    const { header = DEFAULT_HEADER, response = true } = config;
    if (!response) return {};
    const id = compileId(config, build);
    return {
      filter: (x) => {
        if (x.main === x) x.response.replaceHeader(header, id(x) as string);
      },
    };
  },
});
