import type { Source, Span } from './source.ts';

/** nginx's level names, as far as a load uses them. Only `emerg` refuses the configuration. */
export type Severity = 'emerg' | 'warn' | 'notice';

/** A replacement of stretches of the sources that mends a fault. */
export interface Fix {
  /** What it does, for an editor's menu: `add ";"`. */
  readonly title: string;
  /** True: requests are answered as before. False: the author must say that this is what was meant. */
  readonly safe: boolean;
  readonly edits: readonly TextEdit[];
}

/** The text that takes the place of a span; an empty span inserts. */
export interface TextEdit {
  readonly span: Span;
  readonly text: string;
}

/** Another place that a fault is about, and what stands there. */
export interface RelatedPlace {
  readonly span: Span;
  readonly label: string;
}

/** What more is known of a fault than its words and its place. */
export interface FaultDetails {
  readonly hint?: string | undefined;
  /** Slug of the rule of `gw check` that it breaks: `unknown-directive`. Without one it is a value that is not right. */
  readonly rule?: string | undefined;
  readonly related?: readonly RelatedPlace[] | undefined;
  readonly fix?: Fix | undefined;
}

/** A fault, what it is about, and at most one hint. */
export interface Fault extends FaultDetails {
  readonly severity: Severity;
  /** One line, lower case, no full stop, the subject in double quotes. */
  readonly message: string;
  readonly span?: Span;
}

/** A hint, or all that is known besides; a function where that is costly to find out and may not be shown. */
type More = string | FaultDetails | (() => FaultDetails);

type Detailed = Pick<Fault, 'severity' | 'message'> & {
  readonly span: Span | undefined;
  readonly more: More | undefined;
};

/** A range whose faults are consequences of another: the first becomes `fault`, or none of them is kept. */
interface Explanation {
  readonly range: Span;
  readonly fault?: Fault | undefined;
  used: boolean;
}

/** What is kept for one source and severity; the rest would only scroll the first one away. */
const MAX_FAULTS = 100;
const TOO_MANY = `more than ${MAX_FAULTS} faults, the rest of the file is not shown`;

/** Collects what one run finds; load stages report and go on. */
export class Report {
  readonly faults: Fault[] = [];
  /** Every source that was read, in the order of reading: the order in which faults are printed. */
  readonly sources: Source[] = [];

  /** Stretches of the sources that are never shown. */
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

  /** The excerpts of faults show asterisks there. */
  hide(spans: readonly Span[]): void {
    this.hidden.push(...spans);
  }

  /** True when a fault refuses the configuration. */
  get failed(): boolean {
    return this.faults.some((fault) => fault.severity === 'emerg');
  }

  /**
   * Says that an `emerg` that will start inside `range` is only the consequence of `fault`, which then takes its place.
   * Without a fault (it has been reported already) such an `emerg` is dropped.
   */
  explain(range: Span, fault?: Fault): void {
    const explanations = this.#explanations.get(range.source) ?? [];
    this.#explanations.set(range.source, explanations);
    explanations.push({ range, fault, used: false });
  }

  #add({ severity, message, span, more }: Detailed): void {
    if (span && (this.#seen[severity].get(span.source)?.size ?? 0) > MAX_FAULTS) return;
    const explanation = severity === 'emerg' && span && this.#explanationOf(span);
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

  /** A file that is included twice says everything twice: once is enough, and so are `MAX_FAULTS` for one file. */
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
