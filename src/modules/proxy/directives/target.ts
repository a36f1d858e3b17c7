import { constantText, readers } from '../../../config/index.ts';
import type { ArgReader, ReadScope } from '../../../config/index.ts';
import type { LocationMatch } from '../../../contract/index.ts';
import type { LiteralTarget, PassTarget } from '../config.ts';

/** `proxy_pass URL`. */
export const passTarget: ArgReader<PassTarget> = readers.oneWord('URL', (word, scope) => {
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

/** The URI takes the place of a prefix: there has to be one. */
function takesUri({ block }: ReadScope): boolean {
  if (block.context !== 'location') return false;
  const match = block.args as LocationMatch | undefined;
  return match === undefined || match.kind === 'prefix' || match.kind === 'exact';
}

const URL_PARTS = /^(https?):\/\/(unix:[^:]*|\[[0-9a-f:.]+\]|[^/?:[\]]*)(?::(\d*))?([/?].*)?$/is;

/** Takes a URL apart; a text says what is wrong with it, in nginx's words. */
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
    // nginx: a query alone has the root in front of it.
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
