import { guardRegexes, linearRegex, type ReadRegex } from '../../config/index.ts';
import { HttpFault } from '../status.ts';
import { type Instruction, type Loop, type Program, programOf } from './program.ts';

/** About 20 ms. nginx's PCRE has a limit as well, of ten million. */
export const MAX_STEPS = 250_000;

/** Thrown when a match takes too many steps. */
export class MatchLimit extends Error {}

/**
 * A matcher that backtracks as JavaScript does (ECMA-262, 22.2.2), but counts its steps and gives up after a limit. It
 * is ten times slower than V8 and serves texts that are too long for V8's engines.
 */
export class BoundedRegex {
  readonly #program: Program;
  readonly #maxSteps: number;

  /** Takes a pattern in JavaScript syntax, without flags. */
  constructor(source: string, maxSteps = MAX_STEPS) {
    this.#program = programOf(source);
    this.#maxSteps = maxSteps;
  }

  /** Works as `RegExp.exec`. Throws a `MatchLimit`. */
  exec(text: string): RegExpExecArray | null {
    const run = new Run(this.#program, text, this.#maxSteps);
    for (let at = 0; at <= text.length; at++) {
      if (run.matches(at)) return this.#result(run.slots, text);
    }
    return null;
  }

  #result(slots: Int32Array, text: string): RegExpExecArray {
    const groups: (string | undefined)[] = [];
    for (let slot = 0; slot < this.#program.slots; slot += 2) {
      const [from = -1, to = -1] = slots.subarray(slot, slot + 2);
      groups.push(from < 0 || to < 0 ? undefined : text.slice(from, to));
    }
    const { names } = this.#program;
    const named = names.length === 0 ? undefined : Object.create(null);
    for (const [name, group] of names) named[name] = groups[group];
    return Object.assign(groups, { index: slots[0], input: text, groups: named }) as RegExpExecArray;
  }
}

/** The state of one match: registers, and a stack for backtracking. */
class Run {
  /** The groups, followed by the loops. */
  readonly slots: Int32Array;
  readonly #instructions: readonly Instruction[];
  readonly #loops: number;
  readonly #text: string;
  /**
   * Pairs: an instruction and the position to continue at, or a slot's former value and the slot as a negative number.
   */
  readonly #back: number[] = [];
  #at = 0;
  /** Steps left. */
  #steps: number;

  constructor({ instructions, slots, registers }: Program, text: string, steps: number) {
    this.#steps = steps;
    this.#instructions = instructions;
    this.#loops = slots;
    this.#text = text;
    this.slots = new Int32Array(slots + 2 * registers).fill(-1);
  }

  /** Tries to match from a position on. If there is no match, the slots are unchanged. */
  matches(at: number): boolean {
    const end = this.#run(0, at);
    if (end < 0) return false;
    this.slots[0] = at;
    this.slots[1] = end;
    return true;
  }

  /**
   * Runs to the next `accept`. Returns the position reached, or -1. After a match, the entries for backtracking stay on
   * the stack.
   */
  #run(start: number, from: number): number {
    const floor = this.#back.length;
    let pc = start;
    this.#at = from;
    for (;;) {
      if (--this.#steps < 0) throw new MatchLimit('match limit exceeded');
      const instruction = this.#instructions[pc] as Instruction;
      if (instruction.op === 'accept') return this.#at;
      const next = this.#next(instruction, pc);
      if (next >= 0) pc = next;
      else if (this.#undo(floor)) {
        this.#at = this.#back.pop() as number;
        pc = this.#back.pop() as number;
      } else return -1;
    }
  }

  /** Executes one instruction. Returns the next one, or -1 if it fails. */
  #next(instruction: Instruction, pc: number): number {
    const at = this.#at;
    switch (instruction.op) {
      case 'character':
        return this.#character(instruction) ? pc + 1 : -1;
      case 'split':
        this.#back.push(instruction.second, at);
        return instruction.first;
      case 'accept':
        return pc;
      case 'jump':
        return instruction.to;
      case 'again':
        return this.#again(instruction.loop);
      case 'look':
        return this.#look(instruction, pc);
      case 'reference':
        return this.#reference(instruction) ? pc + 1 : -1;
      case 'start':
        return at === 0 ? pc + 1 : -1;
      case 'end':
        return at === this.#text.length ? pc + 1 : -1;
      case 'word':
        return (isWord(this.#text, at - 1) !== isWord(this.#text, at)) === instruction.negate ? -1 : pc + 1;
      case 'keep':
        this.#set(instruction.slot, at);
        return pc + 1;
      case 'forget':
        for (let slot = instruction.from; slot < instruction.to; slot++) this.#set(slot, -1);
        return pc + 1;
      case 'zero':
        this.#count(instruction.register, 0, -1);
        return pc + 1;
      case 'round':
        this.#count(instruction.register, (this.slots[this.#loops + instruction.register] as number) + 1, at);
        return pc + 1;
    }
  }

  #character({ accepts, behind }: Extract<Instruction, { op: 'character' }>): boolean {
    const position = behind ? --this.#at : this.#at++;
    return position >= 0 && position < this.#text.length && accepts(this.#text.charCodeAt(position));
  }

  /** Starts another round of a loop or leaves the loop. Beyond the minimum, a round that consumed nothing fails. */
  #again({ register, min, max, greedy, body, next }: Loop): number {
    const at = this.#at;
    const rounds = this.slots[this.#loops + register] as number;
    const began = this.slots[this.#loops + register + 1];
    if (rounds > min && began === at) return -1;
    if (rounds < min) return body;
    if (rounds >= max) return next;
    this.#back.push(greedy ? next : body, at);
    return greedy ? body : next;
  }

  /** Runs a look-around on its own. Once it has matched, no alternative within it is tried. */
  #look({ negate, next }: Extract<Instruction, { op: 'look' }>, pc: number): number {
    const floor = this.#back.length;
    const at = this.#at;
    const isFound = this.#run(pc + 1, at) >= 0;
    this.#at = at;
    if (!isFound) return negate ? next : -1;
    if (negate) {
      while (this.#undo(floor)) this.#back.length -= 2;
      return -1;
    }
    this.#keepUndos(floor);
    return next;
  }

  #reference({ groups, behind }: Extract<Instruction, { op: 'reference' }>): boolean {
    const group = groups.find((candidate) => (this.slots[2 * candidate + 1] as number) >= 0);
    const [from = -1, to = -1] = group === undefined ? [] : this.slots.subarray(2 * group, 2 * group + 2);
    if (from < 0 || to < 0) return true;
    const length = to - from;
    this.#steps -= length;
    const position = behind ? this.#at - length : this.#at;
    this.#at = behind ? position : position + length;
    return position >= 0 && this.#text.startsWith(this.#text.slice(from, to), position);
  }

  #count(register: number, rounds: number, began: number): void {
    this.#set(this.#loops + register, rounds);
    this.#set(this.#loops + register + 1, began);
  }

  #set(slot: number, value: number): void {
    this.#back.push(this.slots[slot] as number, -1 - slot);
    this.slots[slot] = value;
  }

  /** Restores the slots that were set since the last choice. Returns false if there is no choice above the floor. */
  #undo(floor: number): boolean {
    while (this.#back.length > floor) {
      const top = this.#back.at(-1) as number;
      if (top >= 0) return true;
      this.#back.length -= 1;
      this.slots[-1 - top] = this.#back.pop() as number;
    }
    return false;
  }

  /** Drops the choices above the floor. Slots can still be restored. */
  #keepUndos(floor: number): void {
    let kept = floor;
    for (let index = floor; index < this.#back.length; index += 2) {
      const [value, mark] = [this.#back[index] as number, this.#back[index + 1] as number];
      if (mark >= 0) continue;
      this.#back[kept++] = value;
      this.#back[kept++] = mark;
    }
    this.#back.length = kept;
  }
}

function isWord(text: string, at: number): boolean {
  return at >= 0 && at < text.length && /\w/.test(text.charAt(at));
}

/** A compiled pattern of the configuration. A match that takes too long throws an `HttpFault`. */
export interface Regex {
  /** Groups have PCRE's numbers. */
  exec(text: string): RegExpExecArray | null;
  test(text: string): boolean;
}

/** Matches a `$` at the end of a pattern or of an alternative, the only places where it is an anchor. */
const END = /(?:^|[^\\]|\\\\)\$(?:[|)]|$)/;

/**
 * Compiles a pattern. The length of a text decides which engine matches it, so that no match takes longer than about 50
 * ms.
 */
export function compileRegex(regex: ReadRegex): Regex {
  guardRegexes();
  const usual = new RegExp(regex.source);
  const { usual: short, linear: long } = regex.bounds;
  let linear: RegExp | undefined;
  let bounded: BoundedRegex | undefined;
  const engineFor = ({ length }: string): RegExp | BoundedRegex => {
    if (length <= short) return usual;
    if (length <= long) linear ??= linearRegex(regex.source);
    return (length <= long && linear) || (bounded ??= new BoundedRegex(regex.source));
  };
  const match = (text: string): RegExpExecArray | null => {
    try {
      return engineFor(text).exec(text);
    } catch (error) {
      throw error instanceof MatchLimit ? matchLimitFault(regex, text) : error;
    }
  };
  // `$` matches before a trailing line end in PCRE, but not in JavaScript. A location for `\.php$` must match the path
  // `/a.php%0A`.
  const mayEndBeforeLineEnd = END.test(regex.pattern);
  const exec = (text: string): RegExpExecArray | null =>
    match(text) ?? (mayEndBeforeLineEnd && text.endsWith('\n') ? match(text.slice(0, -1)) : null);
  return { exec, test: (text) => exec(text) !== null };
}

const MAX_QUOTED = 200;
/** PCRE2_ERROR_MATCHLIMIT */
const MATCH_LIMIT = -47;

function matchLimitFault({ pattern }: ReadRegex, text: string): HttpFault {
  const shown = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return new HttpFault(500, `pcre2_match() failed: ${MATCH_LIMIT} on "${shown}" using "${pattern}"`);
}
