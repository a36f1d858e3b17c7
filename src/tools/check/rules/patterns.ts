import {
  type CheckedConfig,
  matchOf,
  type Problem,
  type Rule,
  type RuleSeverity,
} from '../../../contract/index.ts';
import { refuses } from '../access.ts';
import { analysisOf } from '../analysis.ts';
import { quotedLocation, type CheckedLocation, type Reach, shownUri, wordsOf } from '../locations/index.ts';
import { backtrackingOf, extensionEnd, type RegexUse } from '../regex/index.ts';

/** Matches texts that occur in patterns but not in paths. */
const LIKE_A_PATTERN = /\\[.dwsSDW/-]|\.[*+](?![a-z])|\([^()]*\|[^()]*\)|\[[^\]]*\][*+]|^\^|\$$|\(\?[:=!<P]/;

const regexInPrefix: Rule = {
  id: 'GW205',
  slug: 'regex-in-prefix',
  severity: 'warning',
  summary: 'a pattern in a location without "~"',
  why: 'Without "~", dots, stars and brackets are ordinary characters, so hardly any request matches the location.',
  fix: 'Put "~" (or "~*", which ignores case) before the pattern.',
  bad: { text: String.raw`location /files/.*\.php { return 404; }` },
  good: { text: String.raw`location ~ ^/files/.*\.php$ { return 404; }` },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks('location')) {
      const match = matchOf(block);
      const word = block.node?.args.at(-1);
      if (!word || (match?.kind !== 'prefix' && match?.kind !== 'exact')) continue;
      if (!LIKE_A_PATTERN.test(match.path)) continue;
      const isBare = match.kind === 'prefix' && !match.stop;
      const { span } = word;
      yield {
        at: span,
        message: `"${match.path}" is ${isBare ? 'a literal prefix' : 'not used as a pattern'}; did you mean "~"?`,
        fix: isBare
          ? {
              title: 'make it a pattern',
              safe: false,
              edits: [{ span: { ...span, end: span.start }, text: '~ ' }],
            }
          : undefined,
      };
    }
  },
};

const unanchoredRegex: Rule = {
  id: 'GW208',
  slug: 'unanchored-regex',
  severity: 'warning',
  summary: 'a regex for an extension that is not anchored at its end',
  why: 'Without "$", the extension can be anywhere in the URI: a file with a longer name, or one below a folder of that name, is handled as if it had the extension.',
  fix: 'End the pattern with "$".',
  bad: { text: 'location ~ \\.php { return 200 script; }' },
  good: { text: 'location ~ \\.php$ { return 200 script; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { location, reach } of analysisOf(config).locations.reached())
      yield* unanchoredProblems(location, reach);
  },
};

function* unanchoredProblems(location: CheckedLocation, reach: Reach): Iterable<Problem> {
  const { pattern, block } = location;
  if (!pattern || reach.kind !== 'some' || refuses(block) || isOneName(pattern.ast.raw)) return;
  if (extensionEnd(pattern.ast)?.isAnchored !== false) return;
  const other = `${reach.uri}x/b`;
  if (!pattern.regex.test(other)) return;
  const at = wordsOf(location);
  const end = { ...at, start: at.end - block.node!.args.at(-1)!.quote.length };
  yield {
    at,
    message: `location ${quotedLocation(location)} matches "${shownUri(reach.uri)}", and "${shownUri(other)}" as well`,
    ...(pattern.ast.alternatives.length === 1 && {
      fix: {
        title: 'end the pattern with "$": other URIs then go to another location',
        safe: false,
        edits: [{ span: { ...end, end: end.start }, text: '$' }],
      },
    }),
  };
}

/** True for a whole path such as `^/index\.php`, which other names hardly begin with. */
function isOneName(source: string): boolean {
  return source.startsWith('^') && !/[*+]/.test(source);
}

const regexRedos: Rule = {
  id: 'GW209',
  slug: 'regex-redos',
  severity: 'error',
  summary: 'a pattern that may take very many steps for some texts',
  why: 'The pattern can split a long text into repeated parts in many ways, and all of them are tried before the match fails. gw falls back to an engine that takes linear time, but does not support look-arounds, back-references and large counts. For a pattern without these, the finding is only a remark, since other servers do not have such an engine. Other patterns are matched on long texts while steps are counted, ten times slower, and a request that takes more than 250,000 steps gets 500.',
  fix: 'Make repeated parts exclude each other, for example "([^/]+/)*" instead of "(.+/?)*", and avoid look-arounds and counts above 16.',
  bad: { text: 'location ~ ^/(?!api/)(\\w+\\.?)+/end$ { return 200; }' },
  good: { text: 'location ~ ^/(?!api/)\\w+(?:\\.\\w+)*/end$ { return 200; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const uses = analysisOf(config).regexes.filter((use) => isFromClients(use) && mayBacktrack(use));
    // Patterns that the linear engine declines come first.
    const first = uses.toSorted((a, b) => Number(isUnguarded(b)) - Number(isUnguarded(a)));
    const patterns = new Set(first.map(({ pattern }) => pattern));
    const judged = new Set([...patterns].slice(0, MAX_PATTERNS));
    for (const use of first) if (judged.has(use.pattern)) yield* backtrackingProblems(use);
  },
};

/** Maximum number of patterns that are analysed, so that a configuration with thousands is checked fast. */
const MAX_PATTERNS = 150;

/** False for a pattern that repeats no group and at most one character: it takes linear time. */
function mayBacktrack({ pattern: { source } }: RegexUse): boolean {
  return /\)[*+{]/.test(source) || source.replaceAll(/\\.|[^*+{]/g, '').length > 1;
}

/** True if V8's linear engine declines the pattern. */
function isUnguarded({ pattern }: RegexUse): boolean {
  return pattern.translated.bounds.linear === 0;
}

/** False for variables that upstreams fill. */
function isFromClients({ kind, subject }: RegexUse): boolean {
  return kind !== 'other' || subject !== undefined;
}

/** The longest text that clients can send by default, except in a body. */
const LONG_TEXT = 32_768;
/** Length of a text that is still usual in a URL or header. */
const USUAL = 1024;

function* backtrackingProblems({ pattern, at }: RegexUse): Iterable<Problem> {
  const { usual, linear } = pattern.translated.bounds;
  if (usual >= LONG_TEXT) return;
  const worst = backtrackingOf(pattern);
  const severity = worst && severityOf(linear > 0, worst.isExponential);
  if (severity) {
    const how = worst.isExponential ? 'exponentially' : 'polynomially';
    const guard = severity === 'info' ? '; gw falls back to its linear engine' : '';
    yield {
      at,
      severity,
      message: `pattern "${pattern.text}" backtracks ${how} on texts such as "${worst.attack}…"${guard}`,
    };
  } else if (linear === 0 && usual < USUAL) {
    yield {
      at,
      severity: 'warning',
      message: `pattern "${pattern.text}" can match in so many ways that gw counts the steps for texts of more than ${usual} characters`,
    };
  }
}

/** The severity of backtracking; none for a quadratic pattern that the linear engine takes. */
function severityOf(isGuarded: boolean, isExponential: boolean): RuleSeverity | undefined {
  if (isGuarded) return isExponential ? 'info' : undefined;
  return isExponential ? 'error' : 'warning';
}

const caseSensitiveRegex: Rule = {
  id: 'GW210',
  slug: 'case-sensitive-regex',
  severity: 'info',
  off: true,
  summary: 'a regex for extensions that does not match upper case',
  why: 'Cameras and older systems write extensions in upper case. Requests for such files go to another location.',
  fix: 'Write "~*" instead of "~".',
  bad: { text: 'location ~ \\.(?:jpg|png)$ { expires 1d; }' },
  good: { text: 'location ~* \\.(?:jpg|png)$ { expires 1d; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { location, reach } of analysisOf(config).locations.reached())
      yield* caseProblems(location, reach);
  },
};

/** Extensions of scripts, which programs call by their exact name. */
const SCRIPT = /\.(?:php|cgi|pl|py|asp|aspx|jsp)$/;

function* caseProblems(location: CheckedLocation, reach: Reach): Iterable<Problem> {
  const { pattern, match, block } = location;
  if (!pattern || match.kind !== 'regex' || match.caseless || reach.kind !== 'some') return;
  if (!extensionEnd(pattern.ast)?.isAnchored || SCRIPT.test(reach.uri)) return;
  const upper = reach.uri.replace(/\.\w+$/, (extension) => extension.toUpperCase());
  if (upper === reach.uri || pattern.regex.test(upper)) return;
  const [modifier] = block.node!.args;
  yield {
    at: wordsOf(location),
    message: `location ${quotedLocation(location)} matches "${shownUri(reach.uri)}", but not "${shownUri(upper)}"`,
    ...(modifier?.value === '~' && {
      fix: {
        title: 'ignore case: it then matches other URIs, too',
        safe: false,
        edits: [{ span: modifier.span, text: '~*' }],
      },
    }),
  };
}

/** A group in which a letter follows `:?`, with alternatives: an optional colon before the first one is unlikely. */
const MISSPELT_GROUP = /(?<!\\)\(:\?[a-z][^()]*\|/i;

const misspeltGroup: Rule = {
  id: 'GW223',
  slug: 'misspelt-group',
  severity: 'warning',
  summary: '"(:?" where "(?:" is meant',
  why: '"(:?a|b)" is a group that begins with an optional colon. It is counted, so "$1" is not the expected text.',
  fix: 'Write "(?:a|b)".',
  bad: { text: 'location ~ ^/(:?img|css)/([a-z]+)$ { return 200 $1; }' },
  good: { text: 'location ~ ^/(?:img|css)/([a-z]+)$ { return 200 $1; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { at } of analysisOf(config).regexes) {
      const group = MISSPELT_GROUP.exec(at.source.text.slice(at.start, at.end));
      if (!group) continue;
      const start = at.start + group.index;
      const span = { ...at, start, end: start + '(:?'.length };
      yield {
        at: span,
        message: '"(:?" begins a group with a colon, if there is one; did you mean "(?:"?',
        fix: { title: 'write "(?:"', safe: false, edits: [{ span, text: '(?:' }] },
      };
    }
  },
};

/** The rules about patterns. */
export const PATTERN_RULES: readonly Rule[] = [
  regexInPrefix,
  unanchoredRegex,
  regexRedos,
  caseSensitiveRegex,
  misspeltGroup,
];
