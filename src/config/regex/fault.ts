/** Why a pattern cannot be used; thrown inside this folder only and returned by `translatePcre`. */
export class PatternFault extends Error {
  /** Index into the pattern. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** PCRE understands it, JavaScript has nothing that means the same. `what` explains a construct that is fine elsewhere. */
export function noEquivalent(construct: string, offset: number, what = ''): PatternFault {
  const explained = what === '' ? '' : ` (${what})`;
  return new PatternFault(`PCRE construct "${construct}"${explained} has no equivalent here`, offset);
}
