import type { Build, CoreConfig, RegexConfig } from '../contract/index.ts';
import { acceptsCoding, compileRegex, type Exchange, isMsie6 } from '../http/index.ts';

type Gzip = Pick<CoreConfig, 'gzipHttpVersion' | 'gzipProxied' | 'gzipDisable'>;

type Test = (x: Exchange) => boolean;

/**
 * Compiles the test for whether a response may be sent in gzip (nginx: ngx_http_gzip_ok). Responses to subrequests must
 * not be, as they are only parts of a response.
 */
export function compileAcceptsGzip({ gzipHttpVersion, gzipProxied, gzipDisable }: Gzip, build: Build): Test {
  for (const name of ['accept-encoding', 'via', 'authorization']) build.needHeader(name);
  const isServed = compileProxied(new Set(gzipProxied));
  const isDisabled = gzipDisable && compileDisabled(gzipDisable, build);
  return (x) => {
    const accepted = x.header('accept-encoding');
    if (accepted === undefined || x.main !== x || !acceptsCoding(accepted, 'gzip')) return false;
    if (x.request.httpVersion < gzipHttpVersion) return false;
    return (x.header('via') === undefined || isServed(x)) && !isDisabled?.(x);
  };
}

/** Compiles `gzip_proxied`. The first of the caching headers that is present decides. */
function compileProxied(flags: ReadonlySet<string>): Test {
  if (flags.has('off')) return () => false;
  if (flags.has('any')) return () => true;
  return (x) => {
    if (flags.has('auth') && x.header('authorization') !== undefined) return true;
    const expires = x.response.header('Expires');
    if (expires !== undefined) return flags.has('expired') && isPast(expires);
    const cacheControl = x.response.joinedHeader('Cache-Control');
    if (cacheControl !== undefined) {
      return ['no-cache', 'no-store', 'private'].some(
        (word) => flags.has(word) && hasWord(cacheControl, word),
      );
    }
    if (flags.has('no_last_modified') && x.response.header('Last-Modified') !== undefined) return false;
    return !(flags.has('no_etag') && x.response.header('ETag') !== undefined);
  };
}

/** Compares whole seconds: a time in the current second is not past. */
function isPast(date: string): boolean {
  return Date.parse(date) < Math.floor(Date.now() / 1000) * 1000;
}

function hasWord(list: string, word: string): boolean {
  return list.split(/[,;\s]+/).some((item) => item.toLowerCase() === word);
}

function compileDisabled(patterns: readonly (RegexConfig | 'msie6')[], build: Build): Test {
  build.needHeader('user-agent');
  const regexes = patterns.flatMap((pattern) => (pattern === 'msie6' ? [] : compileRegex(pattern)));
  const hasMsie6 = patterns.includes('msie6');
  return (x) => {
    const name = x.header('user-agent');
    if (name === undefined) return false;
    if (hasMsie6 && isMsie6(name)) return true;
    try {
      return regexes.some((regex) => regex.test(name));
    } catch (error) {
      // A match that exceeds the limit counts as a match (nginx: ngx_http_gzip_ok).
      x.writeLog((error as Error).message);
      return true;
    }
  };
}
