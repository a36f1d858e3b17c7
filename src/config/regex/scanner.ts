import { noEquivalent, PatternFault } from './fault.ts';

const MAX_NAME_LENGTH = 32;

/** Walks over a pattern. Offsets are UTF-16 indices. */
export class Scanner {
  readonly pattern: string;
  at = 0;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  get done(): boolean {
    return this.at >= this.pattern.length;
  }

  get next(): string {
    return this.pattern.charAt(this.at);
  }

  /** Steps over `text` when it comes next. */
  eat(text: string): boolean {
    if (!this.pattern.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  /** Steps over what a sticky expression matches here. */
  take(sticky: RegExp): RegExpExecArray | null {
    const match = this.peek(sticky);
    if (match) this.at = sticky.lastIndex;
    return match;
  }

  /** What a sticky expression would match here. */
  peek(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.at;
    return sticky.exec(this.pattern);
  }

  codePoint(): number {
    const codePoint = this.pattern.codePointAt(this.at) as number;
    this.at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  fault(message: string, offset = this.at): PatternFault {
    return new PatternFault(message, offset);
  }

  /** Blames everything from `start` to the next `)`. */
  noEquivalentGroup(start: number): PatternFault {
    const end = this.pattern.indexOf(')', start);
    if (end === -1) return this.fault('missing closing parenthesis', this.pattern.length);
    return noEquivalent(this.pattern.slice(start, end + 1), start);
  }

  /** A group's name and its terminator. */
  name(terminator: string): string {
    const start = this.at;
    if (/\d/.test(this.next)) throw this.fault('subpattern name must start with a non-digit');
    const name = this.take(/\w*/y)?.[0] ?? '';
    if (name === '') throw this.fault('subpattern name expected', start);
    if (name.length > MAX_NAME_LENGTH) {
      throw this.fault(`subpattern name is too long (maximum ${MAX_NAME_LENGTH} code units)`);
    }
    if (!this.eat(terminator)) throw this.fault('syntax error in subpattern name (missing terminator?)');
    return name;
  }
}
