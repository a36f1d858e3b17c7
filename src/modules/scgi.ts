import { MessageReader, readCgiOrHttpHead } from '../client/index.ts';
import { directivesFor, type Rows, uses } from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import {
  addressExplanation,
  addressModule,
  cgiProtocol,
  compileAddress,
  compileForwarding,
  compileParams,
  type ForwardingConfig,
  forwardingDirectives,
  type HeadWriter,
  type ParamConfig,
  paramReader,
  type PassAddress,
  passAddress,
  type Protocol,
  type Provisioned,
  provisionForwarding,
  stickyFilter,
  type Target,
} from '../forwarding/index.ts';
import { HttpFault } from '../http/index.ts';

/** `scgi_*` of one location. */
interface ScgiConfig extends ForwardingConfig {
  readonly pass?: PassAddress;
  readonly params?: readonly ParamConfig[];
}

const SCHEMES = { '': 'scgi', scgi: 'scgi' } as const;

const source = (name: string): string => `nginx ngx_http_scgi_module#${name}`;

const own = directivesFor<ScgiConfig>()({
  scgi_pass: {
    contexts: ['location', 'location if'],
    args: passAddress(SCHEMES, 0),
    into: 'pass',
    inherit: 'nameless',
    summary: 'Passes the request to an SCGI server: `[scgi://]host:port`, `unix:/path` or a group.',
    roles: uses('upstream', { behind: ['', 'scgi://'], until: ':' }),
    source: source('scgi_pass'),
  },
  scgi_param: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: paramReader,
    into: 'params',
    repeat: 'append',
    secret: 'named',
    summary: 'A parameter for the server. Like a header of the request, `HTTP_NAME` replaces it.',
    source: source('scgi_param'),
  },
});

/** nginx's SCGI module. */
const directives: Rows<ScgiConfig> = {
  ...own,
  ...forwardingDirectives('scgi', {
    hide_header: 'Status and X-Accel-*',
    cache_key: '$scheme$host$request_uri',
  }),
};

/** Compiles the SCGI protocol of a `scgi_pass`. */
function compileScgi(
  pass: PassAddress,
  config: ScgiConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<Target> {
  const address = { config, provisioned, directive: 'scgi_pass', schemes: SCHEMES, defaultPort: 0 };
  return {
    ...cgiProtocol(config.params, ['Status']),
    targetOf: compileAddress(pass, address, build),
    compileHead: (isForCache) => compileHead(config, isForCache, build),
  };
}

/** Compiles the parameters in front of the body: a netstring that begins with `CONTENT_LENGTH` (SCGI specification). */
function compileHead(config: ScgiConfig, isForCache: boolean, build: Build): HeadWriter<Target> {
  const { params = [], passRequestHeaders: passesHeaders } = config;
  const giveParams = compileParams({ params, passesHeaders, isForCache }, build);
  return (x, { bodyBytes, method }) => {
    let text = `CONTENT_LENGTH\0${bodyBytes}\0`;
    const add = (name: string, value: string): void => {
      if (name === 'CONTENT_LENGTH') return;
      if (value.includes('\0')) throw new HttpFault(400, `NUL in the value of "${name}" for an upstream`);
      text += `${name}\0${value}\0`;
    };
    giveParams(x, add, method);
    const head = Buffer.from(`${Buffer.byteLength(text)}:${text},`);
    return { head, method: method ?? x.method };
  };
}

/** nginx's SCGI module: passes requests to an SCGI server. */
export const scgi = moduleFor<ScgiConfig>()<Provisioned>({
  name: 'scgi',
  summary: 'Forwards requests to SCGI servers.',
  directives,
  ...addressModule<ScgiConfig>('scgi'),
  enabled: ({ pass }) => pass !== undefined,
  provision: (config, worker) =>
    provisionForwarding(config, worker, {
      protocol: 'scgi',
      reader: () => new MessageReader(readCgiOrHttpHead),
    }),
  compile(config, provisioned, build) {
    const { pass } = config;
    if (!pass) return {};
    const protocol = compileScgi(pass, config, { provisioned, build });
    return {
      content: compileForwarding({ config, provisioned, protocol }, build),
      slashRedirect: true,
      ...stickyFilter(provisioned),
    };
  },
  explanation: addressExplanation('scgi', compileScgi),
});
