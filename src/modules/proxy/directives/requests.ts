import {
  type ArgReader,
  constantText,
  directivesFor,
  readers,
  type ReadScope,
  uses,
} from '../../../config/index.ts';
import type { LiteralTarget, LocationMatch, PassTarget } from '../../../contract/index.ts';
import { headerRule } from '../../../forwarding/index.ts';
import { allowedHosts } from '../../../upstream/index.ts';
import type { ProxyConfig } from '../config.ts';
import { protocols } from './readers.ts';

/** `proxy_pass URL`. */
const passTarget: ArgReader<PassTarget> = readers.oneWord('URL', (word, scope) => {
  const value = scope.complexValue(word);
  if (constantText(value) === undefined) return { kind: 'variables', value };
  const target = parseTarget(word.value);
  if (typeof target === 'string') {
    scope.report.emerg(target, word.span, 'expected http:// or https:// with a host, or http://unix:/path');
    return undefined;
  }
  if (target.uri !== '' && !takesUri(scope)) {
    scope.report.emerg(
      '"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, ' +
        'or inside "if" statement, or inside "limit_except" block',
      word.span,
      { rule: 'proxy-uri-in-regex' },
    );
    return undefined;
  }
  return target;
});

/** Tells whether `proxy_pass` may have a URI: it replaces the prefix of the location. */
function takesUri({ block }: ReadScope): boolean {
  if (block.context !== 'location') return false;
  const match = block.args as LocationMatch | undefined;
  return match === undefined || match.kind === 'prefix' || match.kind === 'exact';
}

const URL_PARTS = /^(https?):\/\/(unix:[^:]*|\[[0-9a-f:.]+\]|[^/?:[\]]*)(?::(\d*))?([/?].*)?$/is;

/** Parses a URL; a text describes the fault, in nginx's words. */
export function parseTarget(url: string): LiteralTarget | string {
  if (!/^https?:\/\//i.test(url)) return 'invalid URL prefix';
  const [, scheme = '', host = '', digits, rest = ''] = URL_PARTS.exec(url) ?? [];
  const written = url.slice(url.indexOf('//') + 2);
  if (host.startsWith('unix:')) return unixTarget(url, scheme);
  if (host === '') return `${faultOf(written)} in upstream "${written}"`;
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (digits === '' || port < 1 || port > 65_535))
    return `invalid port in upstream "${written}"`;
  return {
    kind: 'literal',
    scheme: scheme.toLowerCase() as 'http' | 'https',
    host,
    ...(port !== undefined && { port }),
    // As in nginx, a query without a path gets the path `/`.
    uri: rest.startsWith('?') ? `/${rest}` : rest,
    url,
  };
}

function faultOf(written: string): string {
  if (/^[:/?]|^$/.test(written)) return 'no host';
  return /^[^/?:[\]]+:/.test(written) ? 'invalid port' : 'invalid host';
}

const UNIX_PARTS = /^https?:\/\/(unix:[^:]+)(?::(.*))?$/is;

function unixTarget(url: string, scheme: string): LiteralTarget | string {
  const [, host, uri = ''] = UNIX_PARTS.exec(url) ?? [];
  if (host === undefined)
    return `no path in the unix domain socket in upstream "${url.slice(url.indexOf('//') + 2)}"`;
  return { kind: 'literal', scheme: scheme.toLowerCase() as 'http' | 'https', host, uri, url };
}

const { oneOf, value } = readers;
const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_proxy_module#${name}`;

/** Directives for requests to upstreams. */
export const requestDirectives = directivesFor<ProxyConfig>()({
  proxy_pass: {
    contexts: ['location', 'location if', 'limit_except'],
    args: passTarget,
    into: 'pass',
    inherit: 'nameless',
    summary:
      'Forwards the request to an upstream; a URI behind the host replaces the prefix of the location.',
    roles: uses('upstream', { behind: ['http://', 'https://'], until: ':/?' }),
    source: source('proxy_pass'),
  },
  proxy_allow_hosts: {
    contexts: HSL,
    args: allowedHosts,
    into: 'allowHosts',
    repeat: 'append',
    defaultText:
      'any host; if the client chooses it, none with a special-purpose address outside private networks',
    summary:
      'Hosts that variables in `proxy_pass` may name, or networks that all addresses of a name must belong to; others get 403. Names of `upstream` blocks are always allowed.',
    source: 'gw',
  },
  proxy_set_header: {
    contexts: HSL,
    args: headerRule,
    into: 'setHeaders',
    repeat: 'append',
    secret: 'named',
    defaultText: 'Host $proxy_host; Connection ""',
    summary: 'Sets a header of the request to the upstream; with an empty value the header is not sent.',
    source: source('proxy_set_header'),
  },
  proxy_upgrade_protocols: {
    contexts: HSL,
    args: protocols,
    into: 'upgradeProtocols',
    default: ['websocket'],
    defaultText: 'websocket',
    summary:
      'Protocols that clients may change to where `proxy_set_header Upgrade` passes the header on. Others are not passed on: after the change no location sees what a client asks for.',
    source: 'gw',
  },
  proxy_set_body: {
    contexts: HSL,
    args: value,
    into: 'setBody',
    summary: "The body that is sent to the upstream instead of the client's.",
    source: source('proxy_set_body'),
  },
  proxy_method: {
    contexts: HSL,
    args: value,
    into: 'method',
    summary: "The method that is sent to the upstream instead of the client's.",
    source: source('proxy_method'),
  },
  proxy_http_version: {
    contexts: HSL,
    args: oneOf('1.0', '1.1', '2'),
    into: 'httpVersion',
    default: '1.1',
    summary:
      'HTTP version of requests to the upstream; with 2, requests share connections, over TLS or without it.',
    source: source('proxy_http_version'),
  },
});
