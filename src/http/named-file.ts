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

/** Values of variables never lead upwards: a client may have sent them. */
const UPWARDS = /(?:^|\/)\.\.(?:\/|$)|\0/;

/** Returns the name of a file, if it contains variables. */
export function namedFile(value: ComplexValue, directory: string): NamedFile | undefined {
  return constantText(value) === undefined ? { value, directory } : undefined;
}

/** Compiles the absolute path that a name means for a request, '' for an empty name. An unsafe one is a 500. */
export function compileNamedFile(
  { value, directory }: NamedFile,
  build: { value(value: ComplexValue): (x: Exchange) => string },
): (x: Exchange) => string {
  const render = build.value(value);
  const [first] = value.parts;
  // The directory that the configuration writes in front of the first variable may lead upwards.
  const writtenLength = typeof first === 'string' ? first.lastIndexOf('/') + 1 : 0;
  return (x) => {
    const text = render(x);
    if (UPWARDS.test(text.slice(writtenLength)))
      throw new HttpFault(500, `unsafe certificate name "${text}"`);
    return text === '' ? '' : resolve(directory, text);
  };
}
