import { analysisOf } from '../../analysis.ts';
import { backtrackingOf } from '../../regex/index.ts';
import type { RegexUse } from '../../regex/index.ts';
import type { CheckedConfig, Problem, Rule, RuleSeverity } from '../../rule.ts';

export const regexRedos: Rule = {
  id: 'GW209',
  slug: 'regex-redos',
  severity: 'error',
  summary: 'a pattern that tries a text in very many ways',
  why: 'The pattern can split a long text into repeated parts in many ways, and tries them all before it gives up. gw turns to an engine that takes linear time, but that engine knows neither look-arounds nor back-references nor large counts; where a pattern has none of them, this is only a remark, for other servers do not have that engine. All other patterns are matched step by step on long texts, ten times slower, and a request that takes more than 250,000 steps gets a 500.',
  fix: 'Make the repeated parts exclude each other, for example "([^/]+/)*" instead of "(.+/?)*", and leave out look-arounds and counts above 16.',
  bad: { text: 'location ~ ^/(?!api/)(\\w+\\.?)+/end$ { return 200; }' },
  good: { text: 'location ~ ^/(?!api/)\\w+(?:\\.\\w+)*/end$ { return 200; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const uses = analysisOf(config).regexes.filter((use) => isFromClients(use) && mayBacktrack(use));
    // Those that the linear engine does not take come first.
    const first = uses.toSorted((a, b) => Number(isUnguarded(b)) - Number(isUnguarded(a)));
    const patterns = new Set(first.map(({ pattern }) => pattern));
    const judged = new Set([...patterns].slice(0, MAX_PATTERNS));
    for (const use of first) if (judged.has(use.pattern)) yield* problemsOf(use);
  },
};

/** More are not looked at: a configuration of thousands is to be checked at once, too. */
const MAX_PATTERNS = 150;

/** A pattern that repeats no group and one character at most takes linear time. */
function mayBacktrack({ pattern: { source } }: RegexUse): boolean {
  return /\)[*+{]/.test(source) || source.replaceAll(/\\.|[^*+{]/g, '').length > 1;
}

/** V8's linear engine declines it. */
function isUnguarded({ pattern }: RegexUse): boolean {
  return pattern.translated.bounds.linear === 0;
}

/** What upstreams send is not in the hands of clients. */
function isFromClients({ kind, subject }: RegexUse): boolean {
  return kind !== 'other' || subject !== undefined;
}

/** The longest text that clients send anywhere but in a body, by default. */
const LONG = 32_768;
/** Longer texts than that are nothing unusual in a URL or a header. */
const USUAL = 1024;

function* problemsOf({ pattern, at }: RegexUse): Iterable<Problem> {
  const { usual, linear } = pattern.translated.bounds;
  if (usual >= LONG) return;
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
      message: `pattern "${pattern.text}" can be tried in so many ways that gw counts the steps on texts of more than ${usual} characters`,
    };
  }
}

/** A quadratic pattern that has the linear engine behind it costs nothing worth a remark. */
function severityOf(isGuarded: boolean, isExponential: boolean): RuleSeverity | undefined {
  if (isGuarded) return isExponential ? 'info' : undefined;
  return isExponential ? 'error' : 'warning';
}
