/**
 * Bytes, in one piece or several, go to the server as they are, in the binary form of their type: that of a text, a json or
 * a bytea is itself.
 */
export type BoundValue = string | Buffer | readonly Buffer[] | null;

/** A statement and its bound values; equal texts share one prepared statement. */
export interface Statement {
  readonly text: string;
  readonly values: readonly BoundValue[];
}

/** Collects bound values while a statement's text is put together. */
export class Parameters {
  readonly values: BoundValue[] = [];

  /** The placeholder of a value. */
  bind(value: BoundValue): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** An array literal: every element quoted, so that none is NULL or a nested array. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
