import { type ComplexValue, constantText } from '../config/index.ts';
import { type Exchange, isSafeHeaderName, byteText, CONNECTION_FIELDS } from '../http/index.ts';
import type { ForwardingBuild } from './build.ts';
import { applicableRules, checkedValue, type HeaderRule, NOT_PASSED, withHops } from './header-rules.ts';
import type { HeadWriter, Target } from './protocol.ts';
import { checkedMethod } from './request-target.ts';

/** The directives of a location about the heads of its requests. */
interface HeadConfig {
  readonly passRequestHeaders: boolean;
  readonly setHeaders?: readonly HeaderRule[];
  readonly method?: ComplexValue;
}

interface HeadDefaults<T extends Target> {
  /** Returns `:authority`, unless a rule sets `Host`. */
  authorityOf(x: Exchange, target: T): string;
  /** Names, in lower case, and values of fields that are sent unless a rule sets them. */
  readonly fields?: readonly (readonly [name: string, value: string])[];
}

type AddFields = (x: Exchange, fields: string[]) => void;

/**
 * Compiles the heads of HTTP/2 requests: pseudo-fields, configured fields, gw's own, the client's; names in lower case.
 */
export function compileHttp2Head<T extends Target>(
  config: HeadConfig,
  { authorityOf, fields: defaults = [] }: HeadDefaults<T>,
  build: ForwardingBuild,
): HeadWriter<T> {
  const rules = applicableRules(config.setHeaders);
  const names = new Set(rules.map(({ name }) => name.toLowerCase()));
  const readHost = compileHost(rules, build);
  const addConfigured = compileConfigured(rules, build);
  const own = defaults.filter(([name]) => !names.has(name)).flat();
  const dropped = new Set([...NOT_PASSED, ...CONNECTION_FIELDS, ...names]);
  const addPassed = config.passRequestHeaders ? compilePassed(dropped, build) : (): void => undefined;
  build.needHeader('content-length');
  const readMethod = config.method && build.value(config.method);
  return (x, { target, uri, bodyBytes, method: forced }) => {
    const method = forced ?? (readMethod ? checkedMethod(readMethod(x)) : x.method);
    const authority = readHost?.(x) ?? authorityOf(x, target);
    const scheme = target.connections.isTls ? 'https' : 'http';
    const fields = [':method', method, ':scheme', scheme, ':authority', byteText(authority), ':path', uri];
    addConfigured(x, fields);
    fields.push(...own);
    if (bodyBytes > 0) fields.push('content-length', String(bodyBytes));
    else if (bodyBytes === 0 && x.header('content-length') === '0') fields.push('content-length', '0');
    addPassed(x, fields);
    return { head: '', fields, method };
  };
}

/** `Host` sets `:authority`. An empty `Host` sends none in HTTP/1, but in HTTP/2 there always is an authority. */
function compileHost(
  rules: readonly HeaderRule[],
  build: ForwardingBuild,
): ((x: Exchange) => string | undefined) | undefined {
  const rule = rules.find(({ name }) => name.toLowerCase() === 'host');
  if (!rule || constantText(rule.value) === '') return undefined;
  const render = build.value(rule.value);
  return (x) => checkedValue('Host', render(x).trim()) || undefined;
}

function compileConfigured(rules: readonly HeaderRule[], build: ForwardingBuild): AddFields {
  const compiled = rules.flatMap(({ name, value }) => {
    const lowerCase = name.toLowerCase();
    if (lowerCase === 'host' || CONNECTION_FIELDS.has(lowerCase) || constantText(value) === '') return [];
    return [{ name: lowerCase, shown: name, render: build.value(value) }];
  });
  return (x, fields) => {
    for (const { name, shown, render } of compiled) {
      const value = checkedValue(shown, render(x).trim());
      // "trailers" is the only value that HTTP/2 allows.
      if (value !== '' && (name !== 'te' || value === 'trailers')) fields.push(name, byteText(value));
    }
  };
}

/** Compiles the client's headers, without those that are dropped or end with this hop. */
function compilePassed(dropped: ReadonlySet<string>, build: ForwardingBuild): AddFields {
  build.needAllHeaders();
  return ({ request: { headers } }, fields) => {
    const from = fields.length;
    let hops: ReadonlySet<string> | undefined;
    for (let index = 0; index < headers.length; index += 2) {
      const name = (headers[index] as string).toLowerCase();
      const value = headers[index + 1] as string;
      if (name === 'connection') hops = withHops(hops, value);
      // With "ignore_invalid_headers off", names may arrive that HTTP/2 cannot carry (RFC 9113, 8.2.1).
      else if (!dropped.has(name) && isSafeHeaderName(name)) fields.push(name, byteText(value));
    }
    if (hops) removeHops(fields, from, hops);
  };
}

function removeHops(fields: string[], from: number, hops: ReadonlySet<string>): void {
  for (let index = fields.length - 2; index >= from; index -= 2) {
    if (hops.has(fields[index] as string)) fields.splice(index, 2);
  }
}
