import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, type ComplexValue, readers } from '../../config/index.ts';

/** `auth_jwt_require value ... [error=status]`: none of the values may be empty or `0`. */
export interface Requirement {
  readonly values: readonly ComplexValue[];
  readonly status: 401 | 403;
}

/** A variable with the value that a path of names leads to. */
export interface NamedMember {
  readonly variable: string;
  readonly of: 'claims' | 'header';
  readonly path: readonly string[];
}

/** Reads values, and the status of a refusal. */
export const requirement: ArgReader<Requirement> = readers.words(
  { syntax: '$value ... [error=401 | 403]', min: 1, max: Infinity },
  (words, scope) => {
    const last = words.at(-1) as Word;
    const [, status] = /^error=(.*)$/.exec(last.value) ?? [];
    if (status === undefined) return { values: words.map((word) => scope.complexValue(word)), status: 401 };
    if ((status !== '401' && status !== '403') || words.length === 1) {
      scope.report.emerg(`invalid parameter "${last.value}"`, last.span);
      return undefined;
    }
    return {
      values: words.slice(0, -1).map((word) => scope.complexValue(word)),
      status: status === '401' ? 401 : 403,
    };
  },
);
