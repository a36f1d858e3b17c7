import {
  type DirectiveNode,
  indentAt,
  lineOf,
  type Piece,
  piecesOf,
  removed,
  type Source,
  type Span,
  type TextEdit,
} from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import type { Rule } from '../../contract/index.ts';
import type { Finding, SuppressedFinding } from './finding.ts';
import type { Catalogue } from './catalogue.ts';
import { means } from './selection.ts';

/** An ignore comment: rules, range and reason, as in `# gw-ignore GW304: reason`. */
interface Ignore {
  /** Ids, slugs and prefixes as written. */
  readonly rules: readonly string[];
  /** The reason; if it is empty, nothing is ignored. */
  readonly reason: string;
  readonly span: Span;
  /** The range in which its findings start; absent: everywhere. */
  readonly covers?: Span;
  /** The edit that removes it, or rules from it. */
  without(rules: readonly string[]): TextEdit;
}

const COMMENT = /^#\s*gw-ignore(-file)?(?![\w-])([^:]*)(?::\s*(.*\S))?/;

/** The ignore comments of a source in file order. */
function ignoreComments(source: Source): readonly Ignore[] {
  // Most sources have none and need not be tokenized again.
  if (!source.text.includes('gw-ignore')) return [];
  const pieces = piecesOf(source);
  return pieces.flatMap((piece, index) => {
    const found = piece.kind === 'comment' ? COMMENT.exec(piece.image) : null;
    return found ? ignoreOf(found, { source, pieces, index }) : [];
  });
}

interface CommentPosition {
  readonly source: Source;
  readonly pieces: readonly Piece[];
  readonly index: number;
}

function ignoreOf([, file, names = '', reason = '']: RegExpExecArray, at: CommentPosition): Ignore {
  const { source, pieces, index } = at;
  const { start, image } = pieces[index] as Piece;
  const span = { source, start, end: start + image.length };
  const rules = names.split(/[\s,]+/).filter(Boolean);
  return {
    rules,
    reason,
    span,
    ...(file === undefined
      ? { covers: coveredBy(at) }
      : { covers: { source, start: 0, end: source.text.length } }),
    without: (gone) => {
      const left = rules.filter((rule) => !gone.includes(rule));
      return left.length === 0
        ? deletion(span)
        : { span, text: `# gw-ignore${file ?? ''} ${left.join(', ')}: ${reason}` };
    },
  };
}

/** The range of a comment: on a line of its own the next statement, else the statement on its line. */
function coveredBy({ source, pieces, index }: CommentPosition): Span {
  const { start } = pieces[index] as Piece;
  const isAlone = indentAt(source.text, start) !== undefined;
  const step = isAlone ? 1 : -1;
  let last = index + step;
  while (isAlone && pieces[last]?.kind === 'comment') last++;
  const found = pieces[last];
  if (!found) return { source, start, end: start };
  if (isAlone) {
    const { start: from } = lineOf({ source, start: found.start, end: found.start });
    while (last + 1 < pieces.length && isInside(pieces[last] as Piece)) last++;
    return { source, start: from, end: lineOf({ source, ...rangeOf(pieces[last] as Piece) }).end };
  }
  const { start: lineStart } = lineOf({ source, start, end: start });
  let first = last;
  while (first > 0 && isInside(pieces[first - 1] as Piece)) first--;
  return { source, start: Math.min(lineStart, (pieces[first] as Piece).start), end: start };
}

/** True for a token after which the statement continues. */
function isInside({ kind }: Piece): boolean {
  return kind === 'word' || kind === 'comment';
}

function rangeOf({ start, image }: Piece): { start: number; end: number } {
  return { start: start + image.length - 1, end: start + image.length };
}

/** The edit that deletes a comment, with its line if nothing else is on it, else with the blanks before it. */
function deletion({ source, start, end }: Span): TextEdit {
  const indent = indentAt(source.text, start);
  if (indent !== undefined) {
    const lineEnd = source.text.indexOf('\n', end);
    return {
      span: { source, start: start - indent, end: lineEnd < 0 ? source.text.length : lineEnd + 1 },
      text: '',
    };
  }
  const before = /[ \t]*$/.exec(source.text.slice(0, start))?.[0].length ?? 0;
  return { span: { source, start: start - before, end }, text: '' };
}

/** The remaining findings, the ignored ones, and findings about the ignoring itself. */
interface Suppressed {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly faults: readonly Finding[];
}

/** Options of `suppress`. */
interface SuppressOptions {
  readonly sources: readonly Source[];
  /** Absent if the configuration could not be read. */
  readonly main: BlockView | undefined;
  /**
   * Returns whether a rule has run: ignoring another rule is not reported as superfluous. Always false if the load
   * failed.
   */
  readonly wasAsked: (rule: Rule) => boolean;
  readonly catalogue: Catalogue;
}

/** Removes findings that comments and the `check` block ignore. Reports ignoring without effect or without a reason. */
export function suppress(all: readonly Finding[], options: SuppressOptions): Suppressed {
  const { sources, main } = options;
  const ignores = [
    ...sources.flatMap(ignoreComments).map((ignore) => new WatchedIgnore(ignore, 'comment')),
    ...(main ? ignoresOfBlocks(main) : []).map((ignore) => new WatchedIgnore(ignore, 'configuration')),
  ];
  const findings: Finding[] = [];
  const suppressed: SuppressedFinding[] = [];
  for (const finding of all) {
    const ignore = finding.refuses ? undefined : ignores.find((each) => each.takes(finding));
    if (!ignore) findings.push(finding);
    else suppressed.push({ ...finding, suppression: { by: ignore.by, reason: ignore.reason } });
  }
  const faults = ignores.flatMap((ignore) => [...ignore.faults(options)]);
  return { findings, suppressed, faults };
}

/** The `ignore` directives in `check { ignore GW311 "reason"; }`. */
function ignoresOfBlocks(main: BlockView): readonly Ignore[] {
  const blocks = main.inner.filter(({ context }) => context === 'check');
  return blocks.flatMap((block) =>
    wellFormed(block.own('ignore')).map((node) => ({
      rules: node.args.slice(0, -1).map(({ value }) => value),
      reason: node.args.at(-1)?.value ?? '',
      span: node.span,
      without: () => removed(node),
    })),
  );
}

/** Without directives that lack a word, which are faults of the load. */
function wellFormed(nodes: readonly DirectiveNode[]): readonly DirectiveNode[] {
  return nodes.filter(({ args }) => args.length >= 2);
}

/** An ignore comment, and the rules that it has matched. */
class WatchedIgnore {
  readonly by: SuppressedFinding['suppression']['by'];
  readonly #ignore: Ignore;
  readonly #used = new Set<string>();

  constructor(ignore: Ignore, by: WatchedIgnore['by']) {
    this.#ignore = ignore;
    this.by = by;
  }

  get reason(): string {
    return this.#ignore.reason;
  }

  /** Returns whether it covers a finding; one with several places can be ignored at each of them. */
  takes({ rule: id, slug, span, related = [] }: Finding): boolean {
    const { covers, rules, reason } = this.#ignore;
    const places = span ? [span, ...related.map((place) => place.span)] : [];
    if (reason === '' || (covers && !places.some((place) => isIn(place, covers)))) return false;
    const names = rules.filter((name) => means(name, { id: id as Rule['id'], slug }));
    for (const name of names) this.#used.add(name);
    return names.length > 0;
  }

  *faults({ catalogue, wasAsked }: SuppressOptions): Iterable<Finding> {
    const { rules, reason, span } = this.#ignore;
    const unknown = rules.filter((name) => !catalogue.has(name));
    for (const name of unknown) {
      const near = catalogue.nearest(name);
      const hint = near === undefined ? '"gw why --list" shows all rules' : `did you mean "${near}"?`;
      const message = `there is no rule "${name}" to ignore`;
      yield finding({ rule: 'bad-suppression', span, message, hint }, catalogue);
    }
    const named = rules.join(', ');
    if (rules.length === 0)
      yield finding(
        { rule: 'bad-suppression', span, message: 'ignore comment names no rule', hint: FORM },
        catalogue,
      );
    else if (reason === '')
      yield finding(
        { rule: 'bad-suppression', span, message: `ignoring "${named}" needs a reason`, hint: FORM },
        catalogue,
      );
    if (reason === '') return;
    const vain = rules.filter(
      (name) => !unknown.includes(name) && !this.#used.has(name) && catalogue.meant(name).every(wasAsked),
    );
    if (vain.length > 0) yield this.#inVain(vain, catalogue);
  }

  #inVain(rules: readonly string[], catalogue: Catalogue): Finding {
    const { span, without } = this.#ignore;
    const what = this.by === 'comment' ? 'ignore comment' : '"ignore"';
    const message = `${what} for "${rules.join(', ')}" matches nothing`;
    const fix = { title: 'delete it', safe: true, edits: [without(rules)] };
    return finding({ rule: 'unused-suppression', span, message, fix }, catalogue);
  }
}

const FORM = 'write "# gw-ignore GW304: why this is meant"';

function finding({ rule, ...rest }: Omit<Finding, 'slug' | 'severity'>, catalogue: Catalogue): Finding {
  const { id, slug, severity } = catalogue.known(rule);
  return { ...rest, rule: id, slug, severity };
}

function isIn({ source, start }: Span, covers: Span): boolean {
  return source === covers.source && covers.start <= start && start <= covers.end;
}
