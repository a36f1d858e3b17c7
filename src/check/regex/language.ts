import type { DFA } from 'refa';
import { cutsOf, END, START } from './automaton.ts';
import type { Automaton } from './automaton.ts';
import { DEAD } from './machine.ts';
import type { Language } from './machine.ts';

/** The texts that an automaton stands for, the ends of a text taken care of. */
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

  /** Accepting states that only lead to such states: the largest set of which that is true. */
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
