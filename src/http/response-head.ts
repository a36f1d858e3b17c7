import { isSafeHeaderName, isSafeHeaderValue } from '../http1/index.ts';
import { firstOf, joinedOf, removeAll } from './header-list.ts';

/** Clients bound the status line as they bound a header. */
const LONGEST_REASON = 1_000;

/** Who hears of what could not be taken over. */
interface WarningSink {
  warn(message: string): void;
}

/** The head of a response, while it is made. */
export class ResponseHead {
  /** The words behind the status, where they are not the usual ones. */
  reason: string | undefined = undefined;
  /** `Content-Type`; '' sends none. Filters may change it. */
  type = '';
  /** Bytes of the body, for filters; -1 when nobody knows yet. */
  lengthBytes = -1;
  /** Headers besides the fixed ones: name, value, name, value … */
  headers: string[] | undefined = undefined;
  /** Asked for when a body in chunks ends: the fields behind it. A response that has some comes in chunks. */
  trailers: (() => readonly string[]) | undefined = undefined;
  /** The head as it went out, where the engine writes it itself. */
  sentText: string | undefined = undefined;
  private readonly owner: WarningSink;

  constructor(owner: WarningSink) {
    this.owner = owner;
  }

  /** The first header of a name, whatever its case. */
  header(name: string): string | undefined {
    return firstOf(this.headers, name);
  }

  /** All headers of a name, with commas between them. */
  joinedHeader(name: string): string | undefined {
    return joinedOf(this.headers, name);
  }

  /** Adds a header. A control byte in it drops the header and is logged. */
  setHeader(name: string, value: string): void {
    if (isSafeHeaderName(name) && isSafeHeaderValue(value)) (this.headers ??= []).push(name, value);
    else this.owner.warn(`header "${name}" is dropped: control character in its value`);
  }

  /** A header in the place of all of its name. */
  replaceHeader(name: string, value: string): void {
    this.removeHeader(name);
    this.setHeader(name, value);
  }

  removeHeader(name: string): void {
    removeAll(this.headers, name);
  }

  /** Words of the status line instead of the status's own. A control byte in them, or too many, leaves those there. */
  setReason(phrase: string): void {
    if (phrase.length <= LONGEST_REASON && isSafeHeaderValue(phrase)) this.reason = phrase;
    else this.owner.warn('reason phrase is dropped: control character in it, or too long');
  }

  /** The fields behind the body: name, value, name, value … The head is out: those that cannot be made are left out. */
  trailerFields(): readonly string[] {
    try {
      return this.trailers?.() ?? [];
    } catch (error) {
      this.owner.warn(`the trailers of an answer could not be made: ${String(error)}`);
      return [];
    }
  }

  /** Takes back what configuration and modules have added. */
  clear(): void {
    this.headers = this.reason = this.trailers = undefined;
  }
}
