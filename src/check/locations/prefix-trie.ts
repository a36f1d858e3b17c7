import { cutsAround, DEAD } from '../regex/index.ts';
import type { Machine } from '../regex/index.ts';

/** The longest of some prefixes that a text has, as an automaton. */
export class PrefixTrie<T> {
  readonly #edges: Map<number, number>[] = [new Map()];
  /** By node: the longest prefix up to it. */
  readonly #longest: (T | undefined)[] = [undefined];
  readonly #texts: string[] = [];
  #cuts: readonly number[] | undefined;
  #isSettled = true;

  set(prefix: string, value: T): void {
    let node = 0;
    for (let at = 0; at < prefix.length; at++) node = this.#next(node, prefix.charCodeAt(at));
    this.#longest[node] = value;
    this.#texts.push(prefix);
    this.#cuts = undefined;
    this.#isSettled = false;
  }

  /** The texts whose longest prefix is right; `undefined` stands for those that have none. */
  machine(isRight: (longest: T | undefined) => boolean): Machine {
    this.#settle();
    // Behind the last node of the trie the answer stands: it is counted on from the nodes' own numbers.
    const away = this.#edges.length;
    const right = this.#longest.map((value) => isRight(value));
    const leave = (node: number): number => (right[node] ? away + node : DEAD);
    return {
      start: 0,
      cuts: (this.#cuts ??= cutsAround(this.#texts)),
      step: (state, unit) => (state >= away ? state : (this.#edges[state]?.get(unit) ?? leave(state))),
      accepts: (state) => right[state >= away ? state - away : state] === true,
    };
  }

  #next(node: number, unit: number): number {
    const known = this.#edges[node]?.get(unit);
    if (known !== undefined) return known;
    const added = this.#edges.push(new Map()) - 1;
    this.#edges[node]?.set(unit, added);
    this.#longest.push(undefined);
    return added;
  }

  /** A node is made behind the one that leads to it: in their order, each finds its value there. */
  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    for (const [node, edges] of this.#edges.entries()) {
      for (const next of edges.values()) this.#longest[next] ??= this.#longest[node];
    }
  }
}
