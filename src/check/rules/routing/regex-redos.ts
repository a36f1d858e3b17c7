import { analysisOf } from '../../analysis.ts';
import { backtrackingOf } from '../../regex/index.ts';
import type { RegexUse } from '../../regex/index.ts';
import type { CheckedConfig, Problem, Rule, RuleSeverity } from '../../rule.ts';

export const regexRedos: Rule = {
  id: 'GW209',
  slug: 'regex-redos',
  severity: 'error',
  summary: 'a pattern that a client can keep busy for seconds',
  why: 'The pattern can split a long text into repeated parts in many ways, and tries them all before it gives up: one request blocks a worker. gw turns to an engine that takes linear time, but that engine knows neither look-arounds nor back-references nor large counts; where a pattern has none of them, this is only a remark, for other servers do not have that engine.',
  fix: 'Make the repeated parts exclude each other, for example "([^/]+/)*" instead of "(.+/?)*", and leave out look-arounds.',
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

function isUnguarded({ pattern: { source } }: RegexUse): boolean {
  return /\(\?(?:[=!]|<[=!])|\\[1-9]/.test(source);
}

/** What upstreams send is not in the hands of clients. */
function isFromClients({ kind, subject }: RegexUse): boolean {
  return kind !== 'other' || subject !== undefined;
}

function* problemsOf({ pattern, at }: RegexUse): Iterable<Problem> {
  const { risk } = pattern.translated;
  if (risk === 'safe') return;
  const worst = backtrackingOf(pattern);
  const severity = worst && severityOf(risk, worst.isExponential);
  if (!severity) return;
  const how = worst.isExponential ? 'exponentially' : 'polynomially';
  const guard = severity === 'info' ? '; gw falls back to its linear engine' : '';
  yield {
    at,
    severity,
    message: `pattern "${pattern.text}" backtracks ${how} on texts such as "${worst.attack}…"${guard}`,
  };
}

/** A quadratic pattern that has the linear engine behind it costs nothing worth a remark. */
function severityOf(risk: 'guarded' | 'unguarded', isExponential: boolean): RuleSeverity | undefined {
  if (risk === 'guarded') return isExponential ? 'info' : undefined;
  return isExponential ? 'error' : 'warning';
}
