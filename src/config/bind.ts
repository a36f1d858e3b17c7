import {
  type ConfigTree,
  type DirectiveNode,
  type FaultDetails,
  placeText,
  type Report,
  type Span,
  splitValue,
} from '../../grammar/index.ts';
import { chooseEntry, syntaxOf } from './choose-entry.ts';
import { isNginxVariable, refusalOf } from './refusals.ts';
import type { DirectiveEntry, Registry } from './registry.ts';
import type { AnyRow, ComplexValue, Context, ReadScope } from './row.ts';
import {
  type Compat,
  definedBySkipped,
  isDecisive,
  type PlacedDirective,
  skipDependents,
  type VariableUse,
} from './skipping.ts';

/** The value of a field of a module's config that one block sets, and the directives that set it. */
export interface BoundField {
  readonly directive: string;
  /** The span of each directive that contributed, in file order. */
  readonly spans: readonly Span[];
  /** The directives that contributed, in file order. */
  readonly nodes: readonly DirectiveNode[];
  readonly value: unknown;
  /** What the value depends on and gw does not support (`compat skip`): requests that need the value get 501. */
  readonly missing?: string | undefined;
}

/** A block after binding: the fields that it sets itself, by module, and the blocks inside it in file order. */
export interface BoundBlock {
  readonly context: Context;
  readonly node: DirectiveNode | undefined;
  /** Index among the directives of the enclosing block. */
  readonly nth: number;
  /** The block's arguments as the reader of its row has read them. */
  readonly args: unknown;
  readonly own: ReadonlyMap<string, ReadonlyMap<string, BoundField>>;
  readonly children: readonly BoundBlock[];
}

/** The typed configuration: the main block, and the variables that its texts use and define. */
export interface BoundConfig {
  readonly main: BoundBlock;
  readonly uses: readonly VariableUse[];
  /** The variables that directives such as `set` define, with the span of the first definition. */
  readonly defined: ReadonlyMap<string, Span>;
  /** Variables that another directive than `set` defines: they replace built-in variables of the same name. */
  readonly fixed: ReadonlySet<string>;
  /** Variables that are named captures of a regular expression. */
  readonly captured: ReadonlySet<string>;
}

/** The details of a duplicate: the place of the first one, as in `first set at gw.conf:3`. */
export function firstAt(
  span: Span | undefined,
  verb: 'set' | 'declared',
  rule = 'duplicate-directive',
): FaultDetails {
  if (!span) return { rule };
  return {
    rule,
    hint: `first ${verb} at ${placeText(span)}`,
    related: [{ span, label: `first ${verb} here` }],
  };
}

/** Options of `bind`; the directories are those of `ReadScope`. */
interface BindOptions {
  readonly registry: Registry;
  readonly report: Report;
  readonly confDir: string;
  readonly prefix: string;
  /** True: directives without effect are reported as notices. */
  readonly advise?: boolean;
  readonly compat: Compat;
}

/** Binds each directive to its row: checks name, context, arity and duplicates, and reads its words into a value. */
export function bind(tree: ConfigTree, options: BindOptions): BoundConfig {
  const binder = new Binder(options);
  const main = binder.block({ context: 'main', node: undefined, nth: 0, args: undefined }, tree.directives);
  if (options.compat === 'skip') binder.skipDependents();
  return { main, uses: binder.uses, defined: binder.defined, fixed: binder.fixed, captured: binder.captured };
}

type Opened = Pick<BoundBlock, 'context' | 'node' | 'nth' | 'args'>;
/** A directive, its index in its block, and that block. */
interface PlacedNode {
  readonly node: DirectiveNode;
  readonly nth: number;
  readonly block: ReadScope['block'];
}
type OwnFields = Map<string, Map<string, BoundField>>;
/** The variables in the words of one directive. */
interface DrawnVariables {
  readonly uses: VariableUse[];
  /** Not those that it only assigns. */
  readonly defines: string[];
}

class Binder {
  readonly uses: VariableUse[] = [];
  readonly defined = new Map<string, Span>();
  readonly fixed = new Set<string>();
  readonly captured = new Set<string>();
  readonly #options: BindOptions;
  /** Variables of directives that gw does not support. */
  readonly #missing = new Set<string>();
  /** The directives that may have to be skipped. */
  readonly #placed: PlacedDirective[] = [];

  constructor(options: BindOptions) {
    this.#options = options;
  }

  block(opened: Opened, nodes: readonly DirectiveNode[]): BoundBlock {
    const own: OwnFields = new Map();
    const children: BoundBlock[] = [];
    const seen = new Map<string, Span>();
    for (const [nth, node] of nodes.entries()) {
      const entry = chooseEntry(node, opened.context, this.#options);
      if (!entry) this.#skip(node, opened.context, own);
      if (!entry || this.#isDuplicate(entry, node, seen)) continue;
      const child = this.#directive(entry, { node, nth, block: opened }, own);
      if (child) children.push(child);
    }
    return { ...opened, own, children };
  }

  #directive(entry: DirectiveEntry, placed: PlacedNode, own: OwnFields): BoundBlock | undefined {
    const { name, row } = entry;
    const { node, nth } = placed;
    const drawn: DrawnVariables = { uses: [], defines: [] };
    const scope = this.#scope(name, placed, drawn);
    const { report } = this.#options;
    const before = report.faults.length;
    const value = 'data' in row ? row.data(node, scope) : row.args.read(node.args, scope);
    if (report.faults.length > before && !('data' in row))
      report.adviseFrom(before, { subject: `"${name}"`, hint: `syntax: ${syntaxOf(name, row)}` });
    // What is wrong with the value is a consequence, too, if a part of it is not there.
    if (node.args.some(({ span }) => report.isExplained(span))) report.explain(node.name.span);
    if (value !== undefined && 'accepted' in row) this.#advise(name, row.accepted, node.name.span);
    if (value !== undefined) this.#adviseOfParameters(entry, node);
    const opened = 'opens' in row && { context: row.opens, node, nth, args: value };
    const inner = opened && 'entry' in row ? this.block(opened, node.block ?? []) : undefined;
    const kept = inner && value !== undefined ? entryOf(entry, inner, scope) : value;
    if (kept !== undefined) this.#keep(entry, { value: kept, node }, own);
    this.uses.push(...drawn.uses);
    if (this.#options.compat === 'skip') {
      const close = (cause: VariableUse): void => closeField(own, entry, cause);
      this.#placed.push({ ...drawn, node, row, context: placed.block.context, close });
    }
    return opened ? (inner ?? this.block(opened, node.block ?? [])) : undefined;
  }

  #keep(
    { name, owner, row }: DirectiveEntry,
    { value, node }: { value: unknown; node: DirectiveNode },
    own: OwnFields,
  ): void {
    if (row.into === undefined) return;
    const { span } = node.name;
    const fields = own.get(owner) ?? new Map<string, BoundField>();
    own.set(owner, fields);
    const before = fields.get(row.into);
    if (before && before.directive !== name && !isRepeatable(row)) {
      const message = `"${name}" directive is duplicate, "${before.directive}" directive was specified earlier`;
      this.#options.report.emerg(message, span, firstAt(before.spans[0], 'set'));
    }
    fields.set(row.into, {
      directive: before?.directive ?? name,
      spans: [...(before?.spans ?? []), span],
      nodes: [...(before?.nodes ?? []), node],
      value: joined(row, before?.value, value),
    });
  }

  #advise(name: string, why: string, span: Span): void {
    if (!this.#options.advise) return;
    const message = `"${name}" is accepted for compatibility and has no effect`;
    this.#options.report.notice(message, span, { rule: 'ignored-directive', hint: why });
  }

  /** Reports the parameters without effect. */
  #adviseOfParameters({ row: { ignores } }: DirectiveEntry, { args }: DirectiveNode): void {
    if (!this.#options.advise || !ignores) return;
    for (const { value, span } of args) {
      const name = value.replace(/=.*$/s, '=').toLowerCase();
      const why = Object.hasOwn(ignores, name) ? ignores[name] : undefined;
      if (why !== undefined) this.#advise(name.replace(/=$/, ''), why, span);
    }
  }

  /** True if a directive that may occur once per block occurs again; the fault is reported. */
  #isDuplicate({ name, row }: DirectiveEntry, node: DirectiveNode, seen: Map<string, Span>): boolean {
    const first = seen.get(name);
    if (isRepeatable(row) || !first) {
      seen.set(name, node.name.span);
      return false;
    }
    this.#options.report.emerg(`"${name}" directive is duplicate`, node.name.span, firstAt(first, 'set'));
    return true;
  }

  /** Leaves out a directive that gw does not support. */
  #skip(node: DirectiveNode, context: Context, own: OwnFields): void {
    const { compat, registry } = this.#options;
    const { value: name, span } = node.name;
    if (compat !== 'skip' || !refusalOf(name, context)) return;
    for (const variable of definedBySkipped(node)) {
      // A skipped directive must not hide a family of variables: `js_set $http_x_user` is not what the client sends.
      if (registry.definesVariable(variable)) continue;
      this.#missing.add(variable);
      this.fixed.add(variable);
      if (!this.defined.has(variable)) this.defined.set(variable, span);
    }
    if (isDecisive(name)) markSkipped(own, { name, span });
  }

  /** Closes the directives that depend on variables that gw does not have. */
  skipDependents(): void {
    const { report, registry } = this.#options;
    const isKnown = (name: string): boolean => registry.hasVariable(name) || this.defined.has(name);
    const isMissing = (name: string): boolean =>
      this.#missing.has(name) || (isNginxVariable(name) && !isKnown(name));
    skipDependents(this.#placed, { isMissing, report });
  }

  #scope(directive: string, { node, nth, block }: PlacedNode, drawn: DrawnVariables): ReadScope {
    const { report, confDir, prefix } = this.#options;
    return {
      directive,
      nth,
      block,
      span: node.name.span,
      report,
      confDir,
      prefix,
      complexValue: (word) => {
        const parts = splitValue(word, report);
        for (const part of parts) {
          if (!('variable' in part)) continue;
          drawn.uses.push({ name: part.variable.toLowerCase(), span: part.span });
        }
        return { parts: parts.map(plainPart) };
      },
      defineVariable: (name, span, how) => {
        const lowerCase = name.toLowerCase();
        if (how !== 'assigned') drawn.defines.push(lowerCase);
        if (how !== 'assigned') this.fixed.add(lowerCase);
        if (how === 'captured') this.captured.add(lowerCase);
        if (!this.defined.has(lowerCase)) this.defined.set(lowerCase, span);
      },
    };
  }
}

/** Marks a block, because of a directive in it: its requests are not served. */
function markSkipped(own: OwnFields, { name, span }: VariableUse): void {
  const core = own.get('core') ?? new Map<string, BoundField>();
  own.set('core', core);
  if (!core.has('skipped')) core.set('skipped', { directive: name, spans: [span], nodes: [], value: name });
}

/**
 * Marks a field that depends on what gw does not support: requests must not depend on it. If the directive has no
 * field, or its field is not inherited, the whole block is not served.
 */
function closeField(own: OwnFields, { owner, row }: DirectiveEntry, cause: VariableUse): void {
  const fields = own.get(owner);
  const field = row.into === undefined ? undefined : fields?.get(row.into);
  if (!fields || !field || owner === 'upstream') markSkipped(own, cause);
  else fields.set(row.into as string, { ...field, missing: field.missing ?? cause.name });
}

function isRepeatable(row: AnyRow): boolean {
  if ('data' in row) return row.merge !== undefined;
  return ('repeat' in row && row.repeat === 'append') || ('many' in row && row.many === true);
}

/** The element of a list that a named block is. */
function entryOf({ owner, row }: DirectiveEntry, { args, own }: BoundBlock, scope: ReadScope): unknown {
  if (!('entry' in row) || typeof args !== 'string') return undefined;
  const fields = [...(own.get(owner) ?? [])].map(([name, { value }]) => [name, value] as const);
  return row.entry(args, Object.fromEntries(fields), scope);
}

/** The value of several directives of one block for the same field. */
function joined(row: AnyRow, before: unknown, value: unknown): unknown {
  if ('repeat' in row && row.repeat === 'append')
    return [...((before as unknown[] | undefined) ?? []), value];
  return before !== undefined && 'data' in row && row.merge ? row.merge(before, value) : value;
}

type SplitPart = ReturnType<typeof splitValue>[number];

function plainPart(part: SplitPart): ComplexValue['parts'][number] {
  if ('text' in part) return part.text;
  return 'variable' in part ? { variable: part.variable.toLowerCase() } : { capture: part.capture };
}
