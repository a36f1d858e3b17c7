import { scanKeywords } from './keywords.ts';
import { connectionTarget } from './settings.ts';
import type { ConnectionTarget, DsnFault } from './target.ts';
import { DsnError } from './target.ts';
import { isUri, scanUri } from './uri.ts';

/** A libpq connection string, keywords or URI, or its first fault. Pure: no environment, no password file. */
export function readDsn(text: string): ConnectionTarget | { readonly fault: DsnFault } {
  try {
    return connectionTarget(isUri(text) ? scanUri(text) : scanKeywords(text), { start: 0, end: text.length });
  } catch (error) {
    if (error instanceof DsnError) return { fault: error };
    throw error;
  }
}
