import { constantText } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build, ConfigReport } from '../../contract/index.ts';
import { charsetOf, mediaTypeTest } from '../../http/index.ts';
import type { BodyFilter, Exchange, HeaderFilter } from '../../http/index.ts';
import { directives } from './directives.ts';
import type { CharsetConfig } from './directives.ts';
import { recodingsOf } from './recode.ts';
import type { Recoding } from './recode.ts';

/** The charset of answers: named in their `Content-Type`, and changed where it is another (nginx ngx_http_charset_module). */
export const charset = moduleFor<CharsetConfig>()({
  name: 'charset',
  directives,
  validate: checkMaps,
  enabled: ({ charset: target, sourceCharset, maps }) =>
    constantText(target) !== 'off' || sourceCharset !== undefined || maps !== undefined,
  compile(config, _resources, build) {
    const decide = compileDecision(config, build);
    return { filter: nameCharset(decide), ...(config.maps && { bodyFilter: recodeBody(decide) }) };
  },
});

function checkMaps(
  { charset: target, sourceCharset, maps = [] }: CharsetConfig,
  report: ConfigReport<CharsetConfig>,
): void {
  const pairs = new Set<string>();
  for (const [index, { from, to }] of maps.entries()) {
    const pair = [from, to]
      .map((name) => name.toLowerCase())
      .sort()
      .join(' ');
    const message = `duplicate "charset_map" between "${from}" and "${to}"`;
    if (pairs.has(pair)) report.phrase('maps', message, { index, rule: 'duplicate-directive' });
    pairs.add(pair);
  }
  const [from, to] = [sourceCharset && constantText(sourceCharset), constantText(target)];
  if (from === undefined || to === undefined || to === 'off') return;
  const pair = [from, to].map((name) => name.toLowerCase());
  if (pair[0] !== pair[1] && !pairs.has(pair.sort().join(' '))) {
    const message = `no "charset_map" between the charsets "${from}" and "${to}"`;
    report.phrase('sourceCharset', message, { rule: 'bad-reference' });
  }
}

/** What happens to one answer. */
interface Decision {
  /** The charset to name; `undefined` leaves the answer alone. */
  readonly name: string | undefined;
  readonly recoding?: Recoding;
  /** Why nothing can be done. */
  readonly fault?: string;
}

const ALONE: Decision = { name: undefined };

type Decide = (x: Exchange) => Decision;

function compileDecision(config: CharsetConfig, build: Build): Decide {
  const hasType = mediaTypeTest(config.types.flat());
  const target = build.value(config.charset);
  const source = config.sourceCharset ? build.value(config.sourceCharset) : undefined;
  const recodings = recodingsOf(config.maps ?? []);
  const between = (from: string, to: string, x: Exchange): Decision => {
    if (from.toLowerCase() === to.toLowerCase()) return { name: to };
    const encoding = x.responseHeader('Content-Encoding');
    if (encoding !== undefined && encoding !== '') return ALONE;
    const recoding = recodings.get(`${from} ${to}`.toLowerCase());
    if (recoding) return { name: to, recoding };
    return { name: undefined, fault: `no "charset_map" between the charsets "${from}" and "${to}"` };
  };
  const isLeftAlone = (x: Exchange, given: string): boolean =>
    given === '' ? !hasType(x) : !config.overrides;
  const known = namesOf(config);
  return (x) => {
    if (x.main === x && x.responseType === '') return ALONE;
    const given = charsetOf(x.responseType);
    const isPart = x.main !== x;
    const { charsetOverride } = x;
    if (charsetOverride !== '' && !known.has(charsetOverride.toLowerCase()))
      return { name: undefined, fault: `unknown charset "${charsetOverride}" to override` };
    if (!isPart && charsetOverride === '' && isLeftAlone(x, given)) return ALONE;
    // Part of another answer: it has to have the charset of that.
    const to = isPart ? charsetOf(x.main.responseType) : charsetOverride || target(x);
    const from = given === '' ? source?.(x) : given;
    if (to === '' || to === 'off') return ALONE;
    return from === undefined ? { name: to } : between(from, to, x);
  };
}

/** The charsets that an upstream may name, in lower case. */
function namesOf({ charset: target, sourceCharset, maps = [] }: CharsetConfig): ReadonlySet<string> {
  const written = [target, ...(sourceCharset ? [sourceCharset] : [])].map(
    (name) => constantText(name) ?? 'off',
  );
  const names = [...written, ...maps.flatMap(({ from, to }) => [from, to])].map((name) => name.toLowerCase());
  return new Set(names.filter((name) => name !== 'off'));
}

/** Redirects name none: an old browser would take it for the next page's (nginx). */
function nameCharset(decide: Decide): HeaderFilter {
  return (x) => {
    const { name, recoding, fault } = decide(x);
    if (fault !== undefined) x.rules.warn(fault, x);
    if (name !== undefined && !recoding) setCharset(x, name);
  };
}

function recodeBody(decide: Decide): BodyFilter {
  return {
    wants: (x) => decide(x).recoding !== undefined,
    open(x) {
      const { name, recoding } = decide(x);
      setCharset(x, name as string);
      return (recoding as Recoding)();
    },
  };
}

function setCharset(x: Exchange, name: string): void {
  const bare = x.responseType.replace(/;\s*charset=.*$/is, '');
  x.responseType = x.status === 301 || x.status === 302 ? bare : `${bare}; charset=${name}`;
}
