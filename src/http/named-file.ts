import { resolve } from 'node:path';
import { type ComplexValue, constantText } from '../config/index.ts';
import type { Exchange } from './exchange.ts';
import { HttpFault } from './status.ts';

/** The name of a file that contains variables. */
export interface NamedFile {
  readonly value: ComplexValue;
  /** Absolute: relative names start here. */
  readonly directory: string;
}

/** A client may have sent the value of a variable, so no value may lead to a parent directory. */
const UPWARDS = /(?:^|\/)\.\.(?:\/|$)|\0/;

/** Returns the name if it contains variables, otherwise `undefined`. */
export function namedFile(value: ComplexValue, directory: string): NamedFile | undefined {
  return constantText(value) === undefined ? { value, directory } : undefined;
}

/** Compiles the absolute path of a file for a request; '' for an empty name. An unsafe name gives a 500. */
export function compileNamedFile(
  { value, directory }: NamedFile,
  build: { value(value: ComplexValue): (x: Exchange) => string },
  what = 'certificate',
): (x: Exchange) => string {
  const render = build.value(value);
  const [first] = value.parts;
  // The part before the first variable comes from the configuration, so it may contain `..`.
  const writtenLength = typeof first === 'string' ? first.lastIndexOf('/') + 1 : 0;
  return (x) => {
    const text = render(x);
    if (UPWARDS.test(text.slice(writtenLength))) throw new HttpFault(500, `unsafe ${what} name "${text}"`);
    return text === '' ? '' : resolve(directory, text);
  };
}
