import { readFileSync } from 'node:fs';
import { decodeText } from '../grammar/index.ts';
import type { Source } from '../grammar/index.ts';
import { failureText } from './failure.ts';

/** The text of a file, `-` for standard input. When it cannot be read it says why and gives `undefined`. */
export function readText(file: string): Source | undefined {
  const name = file === '-' ? 'standard input' : file;
  try {
    return { name, text: decodeText(readFileSync(file === '-' ? 0 : file)).text };
  } catch (error) {
    process.stderr.write(`gw: ${failureText(error, name)}\n`);
    return undefined;
  }
}
