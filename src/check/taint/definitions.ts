import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import type { CheckedConfig, Use } from '../rule.ts';
import type { RegexUse } from '../regex/index.ts';
import { ifBlocks } from './if-blocks.ts';
import type { Site } from './site.ts';

/** A value that a variable may have at a place, and the directive that gives it. */
export interface Definition {
  readonly word: Word;
  readonly by: Use;
  /** In a `map`: the line. */
  readonly line?: DirectiveNode;
}

/** The steps of the rewrite module run in the order of the file, before all others. */
const STEPS: ReadonlySet<string> = new Set(['set', 'return', 'rewrite', 'if', 'break']);

/** Lines of a `map` that have no value. */
const SETTINGS: ReadonlySet<string> = new Set(['hostnames', 'volatile', 'include']);

/** Which directives give variables their values. */
export class Definitions {
  readonly #maps = new Map<string, Use>();
  readonly #regexOfLine = new Map<DirectiveNode, RegexUse>();
  /** Whose values are the operator's own words. */
  readonly #fixed = new Set<string>();
  /** What some `set` or `auth_request_set` names: for all others nobody has to look through the blocks. */
  readonly #assigned: ReadonlySet<string>;

  constructor(config: CheckedConfig, regexes: readonly RegexUse[]) {
    for (const use of config.uses('map')) this.#maps.set(nameIn(use.node.args[1]), use);
    for (const { node } of config.uses('geo', 'split_clients')) this.#fixed.add(nameIn(node.args.at(-1)));
    this.#assigned = new Set(config.uses('set', 'auth_request_set').map(({ node }) => nameIn(node.args[0])));
    for (const use of regexes) if (use.line) this.#regexOfLine.set(use.line, use);
  }

  regexOf(line: DirectiveNode): RegexUse | undefined {
    return this.#regexOfLine.get(line);
  }

  /** `undefined`: no directive gives the variable a value here. */
  of(variable: string, site: Site): readonly Definition[] | undefined {
    if (this.#fixed.has(variable)) return [];
    const map = this.#maps.get(variable);
    if (map) return linesOf(map);
    if (!this.#assigned.has(variable)) return undefined;
    const found = [...setsOf(variable, site), ...answersOf(variable, site)];
    return found.length > 0 ? found : undefined;
  }
}

function linesOf(by: Use): readonly Definition[] {
  return (by.node.block ?? []).flatMap((line) => {
    const [word] = line.args;
    return !word || SETTINGS.has(line.name.value) ? [] : [{ word, by, line }];
  });
}

/** What `set` may have left in a variable: of each block the last one, and those under a condition. */
function* setsOf(variable: string, { block, node }: Site): Generator<Definition> {
  let before: DirectiveNode | undefined = STEPS.has(node.name.value) ? node : undefined;
  for (const around of block.outward()) {
    for (const inner of ifBlocks(around)) if (inner !== block) yield* allIn(inner, variable);
    const own = allIn(around, variable);
    const earlier = own.filter(({ by }) => !before || isBefore(by.node, before, around));
    const last = earlier.at(-1);
    if (last) return yield last;
    before = around.node && around.context.endsWith(' if') ? around.node : undefined;
  }
}

function allIn(block: BlockView, variable: string): readonly Definition[] {
  return block.own('set').flatMap((node) => {
    const [name, word] = node.args;
    return word && nameIn(name) === variable ? [{ word, by: { node, block } }] : [];
  });
}

function isBefore(one: DirectiveNode, other: DirectiveNode, block: BlockView): boolean {
  const all = block.own();
  return all.indexOf(one) < all.indexOf(other);
}

function answersOf(variable: string, { block }: Site): readonly Definition[] {
  return block.effective('auth_request_set').flatMap((node) => {
    const [name, word] = node.args;
    return word && nameIn(name) === variable ? [{ word, by: { node, block } }] : [];
  });
}

/** The variable that a word names, in lower case. */
export function nameIn(word: Word | undefined): string {
  return (word?.value ?? '').replace(/^\$\{?|\}$/g, '').toLowerCase();
}
