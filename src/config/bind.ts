import type { ConfigTree, DirectiveNode, Report, Span } from '../../grammar/index.ts';
import { placeOf, splitValue } from '../../grammar/index.ts';
import type { BoundBlock, BoundConfig, BoundField, VariableUse } from './bound.ts';
import type { ComplexValue } from './complex-value.ts';
import { chooseEntry } from './choose.ts';
import type { Entry, Registry } from './registry.ts';
import type { ReadScope } from './row.ts';

/** Where a configuration was loaded from; see `ReadScope`. */
export interface BindOptions {
  readonly registry: Registry;
  readonly report: Report;
  readonly confDir: string;
  readonly prefix: string;
}

/** Gives each directive to its row: checks name, context, arity and duplicates, and reads the words into values. */
export function bind(tree: ConfigTree, options: BindOptions): BoundConfig {
  const binder = new Binder(options);
  const main = binder.block({ context: 'main', node: undefined, args: undefined }, tree.directives);
  return { main, uses: binder.uses, defined: binder.defined };
}

type Opened = Pick<BoundBlock, 'context' | 'node' | 'args'>;
type OwnFields = Map<string, Map<string, BoundField>>;

class Binder {
  readonly uses: VariableUse[] = [];
  readonly defined = new Map<string, Span>();
  readonly #options: BindOptions;

  constructor(options: BindOptions) {
    this.#options = options;
  }

  block(opened: Opened, nodes: readonly DirectiveNode[]): BoundBlock {
    const own: OwnFields = new Map();
    const children: BoundBlock[] = [];
    const seen = new Map<string, Span>();
    for (const node of nodes) {
      const entry = chooseEntry(node, opened.context, this.#options);
      if (!entry || this.#isDuplicate(entry, node, seen)) continue;
      const child = this.#directive(entry, node, own);
      if (child) children.push(child);
    }
    return { ...opened, own, children };
  }

  #directive({ name, owner, row }: Entry, node: DirectiveNode, own: OwnFields): BoundBlock | undefined {
    const scope = this.#scope(name, node);
    if ('opens' in row) {
      const args = row.args.read(node.args, scope);
      return this.block({ context: row.opens, node, args }, node.block ?? []);
    }
    const value = 'data' in row ? row.data(node, scope) : row.args.read(node.args, scope);
    if (value === undefined || row.into === undefined) return undefined;
    const fields = own.get(owner) ?? new Map<string, BoundField>();
    own.set(owner, fields);
    const before = fields.get(row.into);
    const list = 'repeat' in row && row.repeat === 'append';
    fields.set(row.into, {
      directive: before?.directive ?? name,
      spans: [...(before?.spans ?? []), node.name.span],
      value: list ? [...((before?.value as unknown[] | undefined) ?? []), value] : value,
    });
    return undefined;
  }

  /** A directive may stand once per block unless its row collects several. */
  #isDuplicate({ name, row }: Entry, node: DirectiveNode, seen: Map<string, Span>): boolean {
    const repeats =
      'accepted' in row || ('repeat' in row && row.repeat === 'append') || ('many' in row && row.many);
    const first = seen.get(name);
    if (repeats || !first) {
      seen.set(name, node.name.span);
      return false;
    }
    this.#options.report.emerg(`"${name}" directive is duplicate`, node.name.span, firstSetAt(first));
    return true;
  }

  #scope(directive: string, node: DirectiveNode): ReadScope {
    const { report, confDir, prefix } = this.#options;
    return {
      directive,
      span: node.name.span,
      report,
      confDir,
      prefix,
      complexValue: (word) => {
        const parts = splitValue(word, report);
        for (const part of parts)
          if ('variable' in part) this.uses.push({ name: part.variable, span: part.span });
        return { parts: parts.map(plainPart) };
      },
      defineVariable: (name, span) => {
        if (!this.defined.has(name)) this.defined.set(name, span);
      },
    };
  }
}

type SplitPart = ReturnType<typeof splitValue>[number];

function plainPart(part: SplitPart): ComplexValue['parts'][number] {
  if ('text' in part) return part.text;
  return 'variable' in part ? { variable: part.variable } : { capture: part.capture };
}

function firstSetAt(span: Span): string {
  const { file, line } = placeOf(span);
  return `first set at ${file}:${line}`;
}
