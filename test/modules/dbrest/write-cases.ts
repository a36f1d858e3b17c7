import type { Expected } from '../../harness/expect-answer.ts';

/** A request to a table of the shop, and its answer. */
export interface WriteCase {
  readonly it: string;
  /** Method and what follows the prefix. */
  readonly call: string;
  /** Text as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly prefer?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expected: Expected;
}

export const ROWS = 'return=representation';

/** The four keys of an error. */
export function error(code: string, message: string | RegExp, details: string | null = null): RegExp {
  const text = typeof message === 'string' ? escaped(JSON.stringify(message)) : message.source;
  const shown = details === null ? 'null' : escaped(JSON.stringify(details));
  return new RegExp(`^\\{"code":"${code}","details":${shown},"hint":null,"message":${text}\\}$`);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
