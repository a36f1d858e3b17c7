import type { Word } from '../../grammar/index.ts';
import {
  addressBytes,
  type ArgReader,
  contains,
  directivesFor,
  type Network,
  readers,
} from '../config/index.ts';
import { type Build, moduleFor, type VariableDefinition } from '../contract/index.ts';
import { type Exchange, isSafeHeaderName, randomId, requestId as idOf } from '../http/index.ts';

/** A hop whose ids are kept: a network, or the clients of Unix sockets. */
type TrustedHop = Network | 'unix';

/** `request_id_header name [trust=…]`. */
interface IdHeader {
  readonly name: string;
  /** Absent: ids of all clients are kept. */
  readonly trusted?: readonly TrustedHop[];
}

interface RequestIdConfig {
  /** Absent: nothing is configured. */
  readonly header?: IdHeader;
  readonly response?: boolean;
}

const CONTEXTS = ['http', 'server', 'location'] as const;
const DEFAULT_HEADER: IdHeader = { name: 'X-Request-ID' };
const UNFIT: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection', 'host']);

const TRUST = 'trust=';

const idHeader: ArgReader<IdHeader> = readers.words(
  { syntax: 'name [trust=address | trust=CIDR | trust=unix: ...]', min: 1, max: Infinity },
  ([first, ...hops], scope) => {
    const { value: name, span } = first as Word;
    if (!isSafeHeaderName(name) || name.includes('$') || UNFIT.has(name.toLowerCase())) {
      scope.report.emerg(`invalid header name "${name}"`, span);
      return undefined;
    }
    const trusted = hops.map((word): TrustedHop | undefined => {
      if (!word.value.startsWith(TRUST)) {
        scope.report.emerg(`invalid parameter "${word.value}"`, word.span, 'expected "trust=" and a network');
        return undefined;
      }
      const value = word.value.slice(TRUST.length);
      return value === 'unix:' ? 'unix' : readers.readCidr({ ...word, value }, scope);
    });
    if (trusted.length === 0) return { name };
    const known = trusted.flatMap((hop) => hop ?? []);
    return known.length === trusted.length ? { name, trusted: known } : undefined;
  },
);

const directives = directivesFor<RequestIdConfig>()({
  request_id_header: {
    contexts: CONTEXTS,
    args: idHeader,
    into: 'header',
    defaultText: DEFAULT_HEADER.name,
    summary:
      'Gives each request an id (`$ngz_request_id`): that of this request header, if it has 1 to 128 visible ASCII characters, else a new UUID. The response has the id in the same header. With `trust=`, only ids from these addresses are kept: those of the connection, whatever `set_real_ip_from` says. Logs, traces and `dbrest_request_comment` show this id.',
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

/** Compiles the id of a request: that of the header where it comes from a trusted hop, else a UUID. */
function compileId({ header = DEFAULT_HEADER }: RequestIdConfig, build: Build): (x: Exchange) => string {
  const name = header.name.toLowerCase();
  const isTrusted = compileTrust(header.trusted, build);
  build.needHeader(name);
  return (x) => {
    const given = x.header(name) ?? '';
    return FIT.test(given) && isTrusted(x) ? given : uuidOf(randomId(x));
  };
}

function compileTrust(trusted: IdHeader['trusted'], build: Build): (x: Exchange) => boolean {
  if (!trusted) return () => true;
  build.needPeer();
  return ({ wire: { peerAddress } }) => {
    const bytes = addressBytes(peerAddress);
    return trusted.some((hop) => (hop === 'unix' ? peerAddress === 'unix:' : bytes && contains(hop, bytes)));
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
  defines: () => ({ ngz_request_id: { summary: SUMMARY, live: true, compile: () => idOf } }),
  compile: (config, _resources, build) => {
    const { header = DEFAULT_HEADER, response = true } = config;
    return {
      requestId: compileId(config, build),
      ...(response && {
        filter: (x) => {
          if (x.main === x) x.response.replaceHeader(header.name, idOf(x));
        },
      }),
    };
  },
});
