import { readFileSync, statSync, type Stats } from 'node:fs';
import { systemReason } from '../system/index.ts';

const MOST_BYTES = 1_048_576;

interface SmallFileRules {
  /** The name of the file in faults. */
  readonly name: string;
  /** Returns a reason not to read the file, by its attributes. */
  readonly refuse?: (stats: Stats) => string | undefined;
}

/** Reads a file of libpq, or returns the reason why it is not read. */
export function readSmallFile(
  path: string,
  { name, refuse }: SmallFileRules,
): { readonly text: string } | { readonly fault: string } {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { fault: `${name} is not a plain file` };
    const fault = refuse?.(stats);
    if (fault !== undefined) return { fault };
    if (stats.size > MOST_BYTES) return { fault: `${name} is larger than 1 MB` };
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    return { fault: `${name} cannot be read (${systemReason(error)})` };
  }
}
