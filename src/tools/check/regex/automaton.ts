import {
  CharSet,
  type Concatenation,
  DFA,
  type Element,
  type Expression,
  type JS,
  NFA,
  type NoParent,
  TooManyNodesError,
} from 'refa';
import type { AST } from '../../../config/index.ts';
import { DEAD, type Language } from './machine.ts';

/** Units for the two ends of a text, so that `^` and `$` are ordinary units; no text contains these noncharacters. */
const START = 0xfffe;
const END = 0xffff;
const LAST_UNIT = 0xffff;

/** Maximum number of nodes of an automaton; larger patterns are not analysed. */
const MAX_NODES = 2_000;

/** An automaton, and the number of text ends that it may match. */
interface Automaton {
  readonly dfa: DFA;
  readonly ends: number;
}

/** Thrown for a construct that an automaton cannot express. */
class Unknown extends Error {}

/** The texts in which a pattern matches, or the exact texts of a group; `undefined` if they are not known. */
export function automatonOf(parser: JS.Parser, part?: AST.CapturingGroup): Automaton | undefined {
  const options = { assertions: 'unknown', backreferences: 'throw', maxNodes: MAX_NODES } as const;
  try {
    const { expression } = part ? parser.parseElement(part, options) : parser.parse(options);
    const reader = new EndsReader(part === undefined);
    const alternatives = reader.alternatives(expression);
    return { dfa: toDfa(part ? alternatives : anywhere(alternatives)), ends: reader.ends };
  } catch (error) {
    if (error instanceof Unknown || error instanceof TooManyNodesError || isBackreference(error))
      return undefined;
    throw error;
  }
}

// refa throws a plain Error for a back-reference that it cannot resolve.
function isBackreference(error: unknown): boolean {
  return error instanceof Error && /backreference/i.test(error.message);
}

type Alternatives = NoParent<Concatenation>[];

/** Copies an expression and replaces `^` and `$` by their units, which no other set of characters contains. */
class EndsReader {
  ends = 0;
  readonly #mayAsk: boolean;
  readonly #units = CharSet.fromCharacters(LAST_UNIT, [START, END]);

  constructor(mayAsk: boolean) {
    this.#mayAsk = mayAsk;
  }

  alternatives({ alternatives }: Pick<Expression, 'alternatives'>): Alternatives {
    return alternatives.map(({ elements }) => ({
      type: 'Concatenation',
      elements: elements.map((element) => this.#element(element)),
    }));
  }

  #element(element: Element): NoParent<Element> {
    switch (element.type) {
      case 'CharacterClass':
        return { type: 'CharacterClass', characters: element.characters.without(this.#units) };
      case 'Alternation':
        return { type: 'Alternation', alternatives: this.alternatives(element) };
      case 'Quantifier':
        return this.#quantifier(element);
      case 'Unknown':
        return this.#end(element.id);
      case 'Assertion':
        throw new Unknown();
    }
  }

  #quantifier(element: Extract<Element, { type: 'Quantifier' }>): NoParent<Element> {
    const { min, max, lazy } = element;
    const before = this.ends;
    const alternatives = this.alternatives(element);
    // The number of ends in a repeated part is not known.
    if (this.ends > before && max > 1) throw new Unknown();
    return { type: 'Quantifier', min, max, lazy, alternatives };
  }

  #end(id: string): NoParent<Element> {
    if (!this.#mayAsk || (id !== '^' && id !== '$')) throw new Unknown();
    this.ends += 1;
    return { type: 'CharacterClass', characters: CharSet.fromCharacter(LAST_UNIT, id === '^' ? START : END) };
  }
}

/** The expression for a match anywhere in a text, with unused ends skipped. */
function anywhere(alternatives: Alternatives): Alternatives {
  const around = (): NoParent<Element> => ({
    type: 'Quantifier',
    min: 0,
    max: Infinity,
    lazy: false,
    alternatives: [
      { type: 'Concatenation', elements: [{ type: 'CharacterClass', characters: CharSet.all(LAST_UNIT) }] },
    ],
  });
  return [{ type: 'Concatenation', elements: [around(), { type: 'Alternation', alternatives }, around()] }];
}

function toDfa(alternatives: Alternatives): DFA {
  const options = { maxCharacter: LAST_UNIT };
  const nfa = NFA.fromRegex(
    { type: 'Expression', alternatives },
    options,
    {},
    new NFA.LimitedNodeFactory(MAX_NODES),
  );
  return DFA.fromFA(nfa, new DFA.LimitedNodeFactory(MAX_NODES));
}

/** The first units of the ranges that a DFA distinguishes. */
function cutsOf(dfa: DFA): readonly number[] {
  const cuts = new Set([0]);
  for (const { out } of dfa.nodes()) for (const { min, max } of out.keys()) cuts.add(min).add(max + 1);
  return [...cuts].filter((cut) => cut <= LAST_UNIT).toSorted((a, b) => a - b);
}

/** The language of an automaton, without the units for text ends. */
export class AutomatonLanguage implements Language {
  readonly start: number;
  readonly cuts: readonly number[];
  readonly #nodes: readonly DFA.ReadonlyNode[];
  readonly #ids: ReadonlyMap<DFA.ReadonlyNode, number>;
  readonly #accepted: readonly boolean[];
  #universal: ReadonlySet<number> | undefined;

  constructor({ dfa, ends }: Automaton) {
    this.#nodes = [...dfa.nodes()];
    this.#ids = new Map(this.#nodes.map((node, id) => [node, id]));
    this.cuts = cutsOf(dfa).filter((cut) => cut < START);
    const after = (node: DFA.ReadonlyNode | undefined, end: number): DFA.ReadonlyNode | undefined =>
      Array.from({ length: ends }).reduce<DFA.ReadonlyNode | undefined>((at) => at?.out.get(end), node);
    const finals: ReadonlySet<DFA.ReadonlyNode> = dfa.finals;
    this.#accepted = this.#nodes.map((node) => {
      const last = after(node, END);
      return last !== undefined && finals.has(last);
    });
    const first = after(dfa.initial, START);
    this.start = first ? (this.#ids.get(first) ?? DEAD) : DEAD;
  }

  step(state: number, unit: number): number {
    const next = this.#nodes[state]?.out.get(unit);
    return next ? (this.#ids.get(next) ?? DEAD) : DEAD;
  }

  accepts(state: number): boolean {
    return this.#accepted[state] === true;
  }

  isUniversal(state: number): boolean {
    return (this.#universal ??= this.#findUniversal()).has(state);
  }

  /** The largest set of accepting states that lead only to states in the set. */
  #findUniversal(): ReadonlySet<number> {
    const universal = new Set(this.#nodes.keys());
    for (let before = -1; before !== universal.size;) {
      before = universal.size;
      for (const state of universal) {
        const stays = this.accepts(state) && this.cuts.every((cut) => universal.has(this.step(state, cut)));
        if (!stays) universal.delete(state);
      }
    }
    return universal;
  }
}
