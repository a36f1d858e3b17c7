import { type AST, RegExpParser } from '../../config/index.ts';

/** One instruction of the matcher. Targets are indexes of instructions. */
export type Instruction =
  | { readonly op: 'character'; readonly accepts: (unit: number) => boolean; readonly behind: boolean }
  /** Continues at `first`, and at `second` if that fails. */
  | { readonly op: 'split'; readonly first: number; readonly second: number }
  | { readonly op: 'jump'; readonly to: number }
  | { readonly op: 'keep'; readonly slot: number }
  /** Unsets the groups of a loop's body when a round begins. */
  | { readonly op: 'forget'; readonly from: number; readonly to: number }
  | { readonly op: 'start' | 'end' | 'accept' }
  | { readonly op: 'word'; readonly negate: boolean }
  | { readonly op: 'look'; readonly negate: boolean; readonly next: number }
  | { readonly op: 'reference'; readonly groups: readonly number[]; readonly behind: boolean }
  /** Count the rounds of a loop and record where a round began. */
  | { readonly op: 'zero'; readonly register: number }
  | { readonly op: 'round'; readonly register: number }
  | { readonly op: 'again'; readonly loop: Loop };

export interface Loop {
  readonly register: number;
  readonly min: number;
  readonly max: number;
  readonly greedy: boolean;
  readonly body: number;
  readonly next: number;
}

/** A compiled pattern. */
export interface Program {
  readonly instructions: readonly Instruction[];
  /** Number of slots: two per group, the whole match first. */
  readonly slots: number;
  readonly registers: number;
  readonly names: readonly (readonly [name: string, group: number])[];
}

/** Compiles a pattern in JavaScript syntax, without flags. */
export function programOf(source: string): Program {
  return new Writer(new RegExpParser().parsePattern(source)).program;
}

class Writer {
  readonly program: Program;
  readonly #code: Instruction[] = [];
  readonly #groups: AST.CapturingGroup[] = [];
  #registers = 0;

  constructor(pattern: AST.Pattern) {
    this.#collect(pattern);
    this.#choice(pattern.alternatives, false);
    this.#code.push({ op: 'accept' });
    this.program = {
      instructions: this.#code,
      slots: 2 * (this.#groups.length + 1),
      registers: this.#registers,
      names: this.#groups.flatMap(({ name }, index) => (name === null ? [] : [[name, index + 1] as const])),
    };
  }

  /** Collects the groups in the order of their numbers. */
  #collect(node: AST.Pattern | AST.Alternative | AST.Element): void {
    if (node.type === 'CapturingGroup') this.#groups.push(node);
    if ('alternatives' in node) for (const alternative of node.alternatives) this.#collect(alternative);
    else if (node.type === 'Alternative') for (const element of node.elements) this.#collect(element);
    else if (node.type === 'Quantifier') this.#collect(node.element);
  }

  #choice(alternatives: readonly AST.Alternative[], behind: boolean): void {
    const ends: number[] = [];
    for (const [index, { elements }] of alternatives.entries()) {
      const isLast = index === alternatives.length - 1;
      const split = isLast ? -1 : this.#hole();
      // A look-behind is matched from its end to its start.
      for (const element of behind ? elements.toReversed() : elements) this.#element(element, behind);
      if (isLast) continue;
      ends.push(this.#hole());
      this.#code[split] = { op: 'split', first: split + 1, second: this.#code.length };
    }
    for (const end of ends) this.#code[end] = { op: 'jump', to: this.#code.length };
  }

  #hole(): number {
    return this.#code.push({ op: 'accept' }) - 1;
  }

  #element(element: AST.Element, behind: boolean): void {
    switch (element.type) {
      case 'Group':
        return this.#choice(element.alternatives, behind);
      case 'CapturingGroup':
        return this.#capture(element, behind);
      case 'Quantifier':
        return this.#repeat(element, behind);
      case 'Assertion':
        return this.#assertion(element);
      case 'Backreference':
        this.#code.push({
          op: 'reference',
          groups: [element.resolved].flat().map((group) => this.#groups.indexOf(group) + 1),
          behind,
        });
        return;
      case 'Character':
      case 'CharacterClass':
      case 'CharacterSet':
      case 'ExpressionCharacterClass':
        this.#code.push({ op: 'character', accepts: acceptsOf(element), behind });
    }
  }

  #capture(group: AST.CapturingGroup, behind: boolean): void {
    const slot = 2 * (this.#groups.indexOf(group) + 1);
    this.#code.push({ op: 'keep', slot: behind ? slot + 1 : slot });
    this.#choice(group.alternatives, behind);
    this.#code.push({ op: 'keep', slot: behind ? slot : slot + 1 });
  }

  #assertion(assertion: AST.Assertion): void {
    if (assertion.kind === 'word') this.#code.push({ op: 'word', negate: assertion.negate });
    else if (assertion.kind === 'start' || assertion.kind === 'end') this.#code.push({ op: assertion.kind });
    else if ('alternatives' in assertion) {
      const look = this.#hole();
      this.#choice(assertion.alternatives, assertion.kind === 'lookbehind');
      this.#code.push({ op: 'accept' });
      this.#code[look] = { op: 'look', negate: assertion.negate, next: this.#code.length };
    }
  }

  #repeat({ min, max, greedy, element }: AST.Quantifier, behind: boolean): void {
    const register = 2 * this.#registers++;
    this.#code.push({ op: 'zero', register });
    const again = this.#hole();
    const body = this.#code.length;
    this.#code.push({ op: 'round', register });
    const groups = groupsIn(element).map((group) => this.#groups.indexOf(group) + 1);
    if (groups.length > 0)
      this.#code.push({ op: 'forget', from: 2 * Math.min(...groups), to: 2 * Math.max(...groups) + 2 });
    this.#element(element, behind);
    this.#code.push({ op: 'jump', to: again });
    const next = this.#code.length;
    this.#code[again] = { op: 'again', loop: { register, min, max, greedy, body, next } };
  }
}

function groupsIn(node: AST.Alternative | AST.Element): AST.CapturingGroup[] {
  const own = node.type === 'CapturingGroup' ? [node] : [];
  if ('alternatives' in node) return [...own, ...node.alternatives.flatMap(groupsIn)];
  if (node.type === 'Alternative') return node.elements.flatMap(groupsIn);
  return node.type === 'Quantifier' ? groupsIn(node.element) : own;
}

const UNITS = 0x10000;

/**
 * Returns a test for the UTF-16 units that a character or class accepts, as V8 defines it. The results for ASCII are
 * precomputed.
 */
function acceptsOf(
  node: AST.Character | AST.CharacterSet | AST.CharacterClass | AST.ExpressionCharacterClass,
) {
  if (node.type === 'Character' && node.value < UNITS) return (unit: number) => unit === node.value;
  const regex = new RegExp(`^${node.raw}$`);
  const ascii = Array.from({ length: 128 }, (_, unit) => regex.test(String.fromCharCode(unit)));
  return (unit: number) => ascii[unit] ?? regex.test(String.fromCharCode(unit));
}
