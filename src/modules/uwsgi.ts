import { MessageReader, readCgiOrHttpHead, type TlsConfig, tlsSettings } from '../client/index.ts';
import { directivesFor, readers, type Rows, uses } from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import {
  addressExplanation,
  addressModule,
  cgiProtocol,
  compileAddress,
  compileForwarding,
  compileParams,
  compileTlsName,
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
  tlsDirectives,
  validateForwarding,
  validateTls,
} from '../forwarding/index.ts';
import { HttpFault } from '../http/index.ts';

/** `uwsgi_*` of one location. */
interface UwsgiConfig extends ForwardingConfig, TlsConfig {
  readonly pass?: PassAddress;
  readonly params?: readonly ParamConfig[];
  /** The numbers that tell the server how to serve a request; 0, 0: as a WSGI application. */
  readonly modifier1: number;
  readonly modifier2: number;
  /** A text that follows the parameters. */
  readonly string: string;
}

/** The schemes of addresses; the second one is encrypted. */
const SCHEMES = { '': 'uwsgi', uwsgi: 'uwsgi', suwsgi: 'suwsgi' } as const;

const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_uwsgi_module#${name}`;
const byte = readers.integer({ min: 0, max: 255 });

const own = directivesFor<UwsgiConfig>()({
  uwsgi_pass: {
    contexts: ['location', 'location if'],
    args: passAddress(SCHEMES, 0),
    into: 'pass',
    inherit: 'nameless',
    summary: 'Passes the request to uWSGI: `[uwsgi:// | suwsgi://]host:port`, `unix:/path` or a group.',
    roles: uses('upstream', { behind: ['', 'uwsgi://', 'suwsgi://'], until: ':' }),
    source: source('uwsgi_pass'),
  },
  uwsgi_param: {
    contexts: [...HSL, 'location if'],
    args: paramReader,
    into: 'params',
    repeat: 'append',
    secret: 'named',
    summary: 'A parameter for the program. Like a header of the request, `HTTP_NAME` replaces it.',
    source: source('uwsgi_param'),
  },
  uwsgi_modifier1: {
    contexts: HSL,
    args: byte,
    into: 'modifier1',
    default: 0,
    summary: 'The first number that tells uWSGI how to serve the request.',
    source: source('uwsgi_modifier1'),
  },
  uwsgi_modifier2: {
    contexts: HSL,
    args: byte,
    into: 'modifier2',
    default: 0,
    summary: 'The second number that tells uWSGI how to serve the request.',
    source: source('uwsgi_modifier2'),
  },
  uwsgi_string: {
    contexts: HSL,
    args: readers.text,
    into: 'string',
    default: '',
    summary: 'A text behind the parameters, for modifiers that take one, such as code to evaluate.',
    source: source('uwsgi_string'),
  },
});

/** nginx's uwsgi module. */
const directives: Rows<UwsgiConfig> = {
  ...own,
  ...forwardingDirectives('uwsgi', { cache_key: '$scheme$host$request_uri' }),
  ...tlsDirectives('uwsgi', { ssl_name: 'the host in "uwsgi_pass"' }),
};

/** Compiles the uwsgi protocol of a `uwsgi_pass`. */
function compileUwsgi(
  pass: PassAddress,
  config: UwsgiConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<Target> {
  const address = { config, provisioned, directive: 'uwsgi_pass', schemes: SCHEMES, defaultPort: 0 };
  return {
    ...cgiProtocol(config.params, []),
    targetOf: compileAddress(pass, { ...address, tlsScheme: 'suwsgi' }, build),
    compileHead: (isForCache) => compileHead(config, isForCache, build),
    tls: { nameOf: compileTlsName(config, build), sendsName: config.sslServerName },
  };
}

/** The size of all parameters stands in two bytes. */
const MOST_BYTES = 65_535;

/** Compiles the packet in front of the body: its header and the parameters (uWSGI documentation, "The uwsgi Protocol"). */
function compileHead(config: UwsgiConfig, isForCache: boolean, build: Build): HeadWriter<Target> {
  const { params = [], passRequestHeaders: passesHeaders, modifier1, modifier2 } = config;
  const behind = Buffer.from(config.string);
  const giveParams = compileParams({ params, passesHeaders, isForCache }, build);
  return (x, { method }) => {
    const parts: Buffer[] = [];
    giveParams(x, (name, value) => void parts.push(...sized(name), ...sized(value)), method);
    const size = parts.reduce((sum, { length }) => sum + length, 0);
    const header = Buffer.from([modifier1, size & 0xff, size >> 8, modifier2].map((byte) => byte & 0xff));
    if (size > MOST_BYTES) throw new HttpFault(500, `uwsgi request is too large: ${size} bytes`);
    return { head: Buffer.concat([header, ...parts, behind]), method: method ?? x.method };
  };
}

/** Returns a text after its length, which has two bytes. */
function sized(text: string): readonly [Buffer, Buffer] {
  const bytes = Buffer.from(text);
  return [Buffer.from([bytes.length & 0xff, (bytes.length >> 8) & 0xff]), bytes];
}

/** nginx's uwsgi module: passes requests to a program behind uWSGI. */
export const uwsgi = moduleFor<UwsgiConfig>()<Provisioned>({
  name: 'uwsgi',
  summary: 'Forwards requests to uwsgi servers.',
  directives,
  ...addressModule<UwsgiConfig>('uwsgi'),
  validate(config, report) {
    validateForwarding('uwsgi', config, report);
    const { pass } = config;
    if (pass?.kind === 'variables' || pass?.scheme === 'suwsgi') validateTls('uwsgi', config, report);
  },
  enabled: ({ pass }) => pass !== undefined,
  provision: (config, worker) =>
    provisionForwarding(config, worker, {
      protocol: 'uwsgi',
      tls: tlsSettings(config),
      reader: () => new MessageReader(readCgiOrHttpHead),
    }),
  compile(config, provisioned, build) {
    const { pass } = config;
    if (!pass) return {};
    const protocol = compileUwsgi(pass, config, { provisioned, build });
    return {
      content: compileForwarding({ config, provisioned, protocol }, build),
      slashRedirect: true,
      ...stickyFilter(provisioned),
    };
  },
  explanation: addressExplanation('uwsgi', compileUwsgi),
});
