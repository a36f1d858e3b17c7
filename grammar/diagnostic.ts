import type { Source, Span } from './source.ts';

/** The levels of nginx that a load uses. Only `emerg` refuses the configuration. */
export type Severity = 'emerg' | 'warn' | 'notice';

/** A set of edits that removes a fault. */
export interface Fix {
  /** Title for an editor's menu: `add ";"`. */
  readonly title: string;
  /** True: the fix changes no response. False: only the author can tell whether the fix is what was meant. */
  readonly safe: boolean;
  readonly edits: readonly TextEdit[];
}

/** A replacement of a span by a text; an empty span inserts. */
export interface TextEdit {
  readonly span: Span;
  readonly text: string;
}

/** A further place that a fault refers to, with a label for it. */
export interface RelatedPlace {
  readonly span: Span;
  readonly label: string;
}

/** Optional details of a fault. */
export interface FaultDetails {
  readonly hint?: string | undefined;
  /** Slug of the rule of `gw check` that reports the fault: `unknown-directive`. Default: `bad-value`. */
  readonly rule?: string | undefined;
  readonly related?: readonly RelatedPlace[] | undefined;
  readonly fix?: Fix | undefined;
}

/** A fault with its place and at most one hint. */
export interface Fault extends FaultDetails {
  readonly severity: Severity;
  /** One line, lower case, no full stop, the subject in double quotes. */
  readonly message: string;
  readonly span?: Span;
}

/** A hint, or all details. A function is called only when the fault is shown, for details that are costly to compute. */
type More = string | FaultDetails | (() => FaultDetails);

type Detailed = Pick<Fault, 'severity' | 'message'> & {
  readonly span: Span | undefined;
  readonly more: More | undefined;
};

/**
 * A range in which `emerg` faults are consequences of another fault. The first of them becomes `fault`; without `fault`
 * they are dropped.
 */
interface Explanation {
  readonly range: Span;
  readonly fault?: Fault | undefined;
  used: boolean;
}

/** Maximum faults that are kept for one source and severity; more would push the first ones off the screen. */
const MAX_FAULTS = 100;
const TOO_MANY = `more than ${MAX_FAULTS} faults, the rest of the file is not shown`;

/** Collects the faults of one load. Stages report to it and continue. */
export class Report {
  readonly faults: Fault[] = [];
  /** All sources in the order of reading, which is the order in which faults are printed. */
  readonly sources: Source[] = [];

  /** Spans of secrets, which are never shown. */
  readonly hidden: Span[] = [];

  readonly #explanations = new WeakMap<Source, Explanation[]>();
  readonly #seen: Readonly<Record<Severity, WeakMap<Source, Set<string>>>> = {
    emerg: new WeakMap(),
    warn: new WeakMap(),
    notice: new WeakMap(),
  };

  emerg(message: string, span?: Span, more?: More): void {
    this.#add({ severity: 'emerg', message, span, more });
  }

  warn(message: string, span?: Span, more?: More): void {
    this.#add({ severity: 'warn', message, span, more });
  }

  notice(message: string, span?: Span, more?: More): void {
    this.#add({ severity: 'notice', message, span, more });
  }

  /** Masks these spans with asterisks in excerpts. */
  hide(spans: readonly Span[]): void {
    this.hidden.push(...spans);
  }

  /** True if there is a fault of level `emerg`. */
  get failed(): boolean {
    return this.faults.some((fault) => fault.severity === 'emerg');
  }

  /**
   * Declares that the first `emerg` inside `range` is a consequence of `fault`, which replaces it. Without a fault,
   * because it has been reported already, whatever is reported inside is dropped.
   */
  explain(range: Span, fault?: Fault): void {
    const explanations = this.#explanations.get(range.source) ?? [];
    this.#explanations.set(range.source, explanations);
    explanations.push({ range, fault, used: false });
  }

  /** Tells whether faults at a place are consequences of one that has been reported. */
  isExplained(span: Span): boolean {
    const explanation = this.#explanationOf(span);
    return explanation !== undefined && explanation.fault === undefined;
  }

  /** Adds a hint to the faults from an index on, unless they have one, name a rule, or their message has `subject`. */
  adviseFrom(first: number, { subject, hint }: { readonly subject: string; readonly hint: string }): void {
    for (const [index, fault] of this.faults.entries()) {
      if (index < first || fault.hint !== undefined || fault.rule !== undefined) continue;
      if (fault.severity === 'emerg' && !fault.message.includes(subject))
        this.faults[index] = { ...fault, hint };
    }
  }

  #add({ severity, message, span, more }: Detailed): void {
    if (span && (this.#seen[severity].get(span.source)?.size ?? 0) > MAX_FAULTS) return;
    const found = span && this.#explanationOf(span);
    const explanation = severity === 'emerg' || found?.fault === undefined ? found : undefined;
    if (explanation) {
      if (explanation.fault && !explanation.used) this.#keep(explanation.fault);
      explanation.used = true;
    } else {
      this.#keep({ severity, message, ...(span && { span }), ...detailsOf(more) });
    }
  }

  #explanationOf({ source, start }: Span): Explanation | undefined {
    return this.#explanations.get(source)?.find(({ range }) => range.start <= start && start < range.end);
  }

  /** Keeps a fault unless it repeats one, for example of a file that is included twice, or exceeds `MAX_FAULTS`. */
  #keep(fault: Fault): void {
    const { severity, message, span } = fault;
    if (!span) return void this.faults.push(fault);
    const seen = this.#seen[severity].get(span.source) ?? new Set();
    this.#seen[severity].set(span.source, seen);
    const key = `${span.start} ${message}`;
    if (seen.has(key)) return;
    seen.add(key);
    this.faults.push(seen.size > MAX_FAULTS ? { severity, message: TOO_MANY, span } : fault);
  }
}

function detailsOf(more: More | undefined): FaultDetails | undefined {
  if (typeof more === 'function') return more();
  return typeof more === 'string' ? { hint: more } : more;
}

/** Returns a text after edits that do not overlap, with its own line ends. */
export function edited(text: string, edits: readonly TextEdit[]): string {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const inOrder = edits.toSorted((a, b) => a.span.start - b.span.start);
  let done = '';
  let position = 0;
  for (const { span, text: replacement } of inOrder) {
    done += text.slice(position, span.start) + replacement.replace(/\r?\n/g, lineEnd);
    position = span.end;
  }
  return done + text.slice(position);
}
