import { type DirectiveNode, reworded, type Span, type Word } from '../../../../grammar/index.ts';
import { readers } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../../contract/index.ts';

const unitPitfall: Rule = {
  id: 'GW122',
  slug: 'unit-pitfall',
  severity: 'warning',
  summary: 'a number that most likely has the wrong unit',
  why: 'A number without a unit means seconds or bytes, for a few directives milliseconds, and "M" in a time means months. A timeout of hours is the same as no timeout, and a limit of ten bytes refuses every body.',
  fix: 'Write the unit: "5000ms", "5s", "5m", "10m".',
  bad: { text: 'send_timeout 5000;' },
  good: { text: 'send_timeout 5000ms;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks()) {
      for (const node of block.own()) {
        const [word] = node.args;
        const row = config.registry
          .named(node.name.value)
          .find(({ row: { contexts } }) => contexts.includes(block.context))?.row;
        if (!word || !row || 'data' in row || node.args.length > 1) continue;
        if (row.args === readers.time) yield* timeProblems(node, word);
        if (row.args === readers.size) yield* sizeProblems(node, word);
        const leastMs = SHORTEST_MS.get(node.name.value);
        if (leastMs !== undefined) yield* shortTimeProblems(node, word, leastMs);
      }
    }
  },
};

const HOUR_S = 3600;
const MINUTE_S = 60;

function* timeProblems({ name }: DirectiveNode, word: Word): Iterable<Problem> {
  const { value } = word;
  if (looksLikeMilliseconds(value)) {
    const message = `"${name.value} ${value}" means ${value} seconds; did you mean "${value}ms"?`;
    yield unitProblem(word, message, `${value}ms`);
  } else if (/^\d+M$/.test(value)) {
    const minutes = value.toLowerCase();
    const message = `"${name.value} ${value}" means ${value.slice(0, -1)} months; did you mean "${minutes}"?`;
    yield unitProblem(word, message, minutes);
  }
}

/** Directives of nginz whose numbers without a unit are milliseconds, with the shortest plausible times. */
const SHORTEST_MS: ReadonlyMap<string, number> = new Map([
  ['circuit_breaker_timeout', 100],
  ['dynamic_upstreams_refresh', 100],
  ['health_probe_interval', 100],
  ['health_probe_timeout', 100],
  ['health_probe_slow_start', 100],
  ['health_upstream_probe_interval', 100],
  ['health_upstream_probe_timeout', 100],
  ['health_upstream_probe_slow_start', 100],
]);

function* shortTimeProblems({ name }: DirectiveNode, word: Word, leastMs: number): Iterable<Problem> {
  const { value } = word;
  // A slow start of 0 means no slow start.
  if (!/^\d+$/.test(value) || Number(value) === 0 || Number(value) >= leastMs) return;
  const message = `"${name.value} ${value}" means ${value} milliseconds; did you mean "${value}s"?`;
  yield unitProblem(word, message, `${value}s`);
}

/** True for thousands that are neither whole hours nor round minutes, in which people count seconds. */
function looksLikeMilliseconds(value: string): boolean {
  if (!/^\d{4,}$/.test(value)) return false;
  const seconds = Number(value);
  if (seconds % HOUR_S === 0) return false;
  return seconds % 1000 === 0 || (seconds % 100 === 0 && seconds % MINUTE_S !== 0);
}

/** Directives whose sizes are never a few bytes. */
const LARGE_SIZES: ReadonlySet<string> = new Set([
  'client_max_body_size',
  'client_body_buffer_size',
  'proxy_buffer_size',
]);
const SMALLEST_BYTES = 512;

function* sizeProblems({ name }: DirectiveNode, word: Word): Iterable<Problem> {
  const { value } = word;
  if (!LARGE_SIZES.has(name.value) || !/^\d+$/.test(value)) return;
  const bytes = Number(value);
  // "client_max_body_size 0" means any size.
  if (bytes === 0 || bytes >= SMALLEST_BYTES) return;
  const meant = name.value === 'client_max_body_size' ? `${value}m` : `${value}k`;
  const unit = bytes === 1 ? 'byte' : 'bytes';
  yield unitProblem(word, `"${name.value} ${value}" means ${value} ${unit}; did you mean "${meant}"?`, meant);
}

function unitProblem(word: Word, message: string, meant: string): Problem {
  const edits = [reworded(word, meant)];
  return { at: word.span, message, fix: { title: `replace it with "${meant}"`, safe: false, edits } };
}

const mixedCaseVariable: Rule = {
  id: 'GW217',
  slug: 'mixed-case-variable',
  severity: 'info',
  summary: 'one variable in two spellings',
  why: 'The case of a variable is ignored: names that differ only in case are the same variable, and setting one sets the other.',
  fix: 'Write it in lower case everywhere, or choose another name for the second.',
  bad: { text: 'set $Site_Name blue;\nadd_header X-Site $site_name;' },
  good: { text: 'set $site_name blue;\nadd_header X-Site $site_name;' },
  *check({ bound }: CheckedConfig): Iterable<Problem> {
    // Built-in variables are left out, because they are not assigned.
    const uses = bound.uses.filter(({ name }) => bound.defined.has(name));
    const places = [...[...bound.defined].map(([name, span]) => ({ name, span })), ...uses];
    const first = new Map<string, Spelling>();
    const told = new Set<string>();
    for (const { name, span } of places) {
      const written = writtenAt(span, name);
      if (written === undefined) continue;
      const before = first.get(name);
      if (!before) first.set(name, { written, span });
      else if (before.written !== written && !told.has(name)) {
        told.add(name);
        yield {
          at: span,
          message: `"$${written}" and "$${before.written}" are the same variable`,
          related: [{ span: before.span, label: 'written differently here' }],
        };
      }
    }
  },
};

interface Spelling {
  readonly written: string;
  readonly span: Span;
}

/** The spelling in the text; `undefined` if it is not a plain `$name`, such as a named group of a pattern. */
function writtenAt({ source, start, end }: Span, name: string): string | undefined {
  const written = /^\$\{?(\w+)\}?$/.exec(source.text.slice(start, end))?.[1];
  return written?.toLowerCase() === name ? written : undefined;
}

/** The rules about spelling. */
export const SPELLING_RULES: readonly Rule[] = [unitPitfall, mixedCaseVariable];
