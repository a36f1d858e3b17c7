import { type ComplexValue, constantText, directivesFor, readers } from '../../config/index.ts';
import { type Build, type ConfigReport, moduleFor } from '../../contract/index.ts';
import {
  type BodyFilter,
  CHARSET_OVERRIDE,
  charsetOf,
  type Exchange,
  type HeaderFilter,
  mediaTypeTest,
  RANGED,
} from '../../http/index.ts';
import { type CharsetMap, readCharsetMap, type Recoding, recodingsOf } from './recode.ts';

interface CharsetConfig {
  readonly charset: ComplexValue;
  readonly sourceCharset?: ComplexValue;
  readonly overrides: boolean;
  readonly types: readonly (readonly string[])[];
  readonly maps?: readonly CharsetMap[];
}

const HSL = ['http', 'server', 'location'] as const;
const HSLI = [...HSL, 'location if'] as const;

const OFF: ComplexValue = { parts: ['off'] };

const DEFAULT_TYPES = [
  'text/html',
  'text/xml',
  'text/plain',
  'text/vnd.wap.wml',
  'application/javascript',
  'application/rss+xml',
];

/** nginx's charset module. */
const directives = directivesFor<CharsetConfig>()({
  charset: {
    contexts: HSLI,
    args: readers.value,
    into: 'charset',
    default: OFF,
    defaultText: 'off',
    summary: 'Charset that is added to the `Content-Type` of responses, or `off`.',
    source: 'nginx ngx_http_charset_module#charset',
  },
  source_charset: {
    contexts: HSLI,
    args: readers.value,
    into: 'sourceCharset',
    summary: 'Charset of the original body; if it differs from `charset`, the body is recoded.',
    source: 'nginx ngx_http_charset_module#source_charset',
  },
  override_charset: {
    contexts: HSLI,
    args: readers.flag,
    into: 'overrides',
    default: false,
    summary: 'Whether responses that already have a charset are recoded too.',
    source: 'nginx ngx_http_charset_module#override_charset',
  },
  charset_types: {
    contexts: HSL,
    args: readers.mediaTypes,
    into: 'types',
    repeat: 'append',
    default: [DEFAULT_TYPES],
    defaultText: DEFAULT_TYPES.join(' '),
    summary: 'Media types that get a charset, besides text/html; `*` for all.',
    source: 'nginx ngx_http_charset_module#charset_types',
  },
  charset_map: {
    contexts: ['http'],
    data: readCharsetMap,
    words: { min: 2, max: 2 },
    syntax: 'charset1 charset2 { byte bytes; ... }',
    into: 'maps',
    merge: (before, added) => [...before, ...added],
    summary: 'A table of bytes of one charset and their equivalent in another, in hexadecimal.',
    source: 'nginx ngx_http_charset_module#charset_map',
  },
});

/** nginx's charset module: adds the charset to `Content-Type`, and recodes bodies (nginx ngx_http_charset_module). */
export const charset = moduleFor<CharsetConfig>()({
  name: 'charset',
  summary: 'Names the character set of responses, and converts them.',
  directives,
  validate: checkMaps,
  enabled: ({ charset: target, sourceCharset, maps }) =>
    constantText(target) !== 'off' || sourceCharset !== undefined || maps !== undefined,
  compile(config, _resources, build) {
    const decide = compileDecision(config, build);
    const filter = nameCharset(decide);
    return {
      filter,
      ranges: { typeOfParts: typeOfParts(filter, decide) },
      ...(config.maps && { bodyFilter: recodeBody(decide) }),
    };
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

/** The decision on one response. */
interface Decision {
  /** The charset to add; `undefined`: none. */
  readonly name: string | undefined;
  readonly recoding?: Recoding;
  /** The reason why the response cannot be recoded. */
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
    const encoding = x.response.header('Content-Encoding');
    if (encoding !== undefined && encoding !== '') return ALONE;
    const recoding = recodings.get(`${from} ${to}`.toLowerCase());
    if (recoding) return { name: to, recoding };
    return { name: undefined, fault: `no "charset_map" between the charsets "${from}" and "${to}"` };
  };
  const isLeftAlone = (x: Exchange, given: string): boolean =>
    given === '' ? !hasType(x) : !config.overrides;
  const known = namesOf(config);
  return (x) => {
    if (x.main === x && x.response.type === '') return ALONE;
    const given = charsetOf(x.response.type);
    const isPart = x.main !== x;
    const charsetOverride = x.state(CHARSET_OVERRIDE) ?? '';
    if (charsetOverride !== '' && !known.has(charsetOverride.toLowerCase()))
      return { name: undefined, fault: `unknown charset "${charsetOverride}" to override` };
    if (!isPart && charsetOverride === '' && isLeftAlone(x, given)) return ALONE;
    // A subrequest is a part of another response and needs its charset.
    const to = isPart ? charsetOf(x.main.response.type) : charsetOverride || target(x);
    const from = given === '' ? source?.(x) : given;
    if (to === '' || to === 'off') return ALONE;
    return from === undefined ? { name: to } : between(from, to, x);
  };
}

/** Returns the charsets that an upstream may name, in lower case. */
function namesOf({ charset: target, sourceCharset, maps = [] }: CharsetConfig): ReadonlySet<string> {
  const written = [target, ...(sourceCharset ? [sourceCharset] : [])].map(
    (name) => constantText(name) ?? 'off',
  );
  const names = [...written, ...maps.flatMap(({ from, to }) => [from, to])].map((name) => name.toLowerCase());
  return new Set(names.filter((name) => name !== 'off'));
}

/** Adds the charset, but not to redirects: old browsers would use it for the next page (nginx). */
function nameCharset(decide: Decide): HeaderFilter {
  return (x) => {
    // Each part has the charset.
    if (x.status === 206 && x.state(RANGED)?.texts) return;
    const { name, recoding, fault } = decide(x);
    if (fault !== undefined) x.writeLog(fault);
    if (name !== undefined && !recoding) setCharset(x, name);
  };
}

/** Returns the type that a whole response would have. */
function typeOfParts(filter: HeaderFilter, decide: Decide): (x: Exchange, type: string) => string {
  return (x, type) => {
    x.response.type = type;
    filter(x);
    const { name, recoding } = decide(x);
    if (recoding) setCharset(x, name as string);
    return x.response.type;
  };
}

/** Decides on the whole response instead of the multipart response with its ranges. */
function ofWhole(decide: Decide): Decide {
  return (x) => {
    const ranged = x.status === 206 ? x.state(RANGED) : undefined;
    if (!ranged?.texts) return decide(x);
    const { type } = x.response;
    x.response.type = ranged.type;
    try {
      return decide(x);
    } finally {
      x.response.type = type;
    }
  };
}

function recodeBody(decideAlone: Decide): BodyFilter {
  const decide = ofWhole(decideAlone);
  return {
    wants: (x) => decide(x).recoding !== undefined,
    keepsLength: (x) => decide(x).recoding?.keepsLength === true,
    open(x) {
      const { name, recoding } = decide(x);
      const texts = x.status === 206 ? x.state(RANGED)?.texts : undefined;
      // Each part has the charset.
      if (!texts) setCharset(x, name as string);
      return (recoding as Recoding).open(texts);
    },
  };
}

function setCharset(x: Exchange, name: string): void {
  const bare = x.response.type.replace(/;\s*charset=.*$/is, '');
  x.response.type = x.status === 301 || x.status === 302 ? bare : `${bare}; charset=${name}`;
}
