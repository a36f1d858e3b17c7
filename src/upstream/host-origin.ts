import type { ComplexValue } from '../config/index.ts';

/**
 * What load time knows of a piece of a value: its text, or who fills it. `path`: a client, with what begins with a slash.
 */
export type Origin = string | { readonly by: 'client' | 'path' | 'configuration' };

/** A value in its own pieces: variables are anybody's. */
export function writtenOrigins({ parts }: ComplexValue): readonly Origin[] {
  return parts.map((part) => (typeof part === 'string' ? part : { by: 'client' }));
}

/** Stands for a piece that the configuration fills. */
const SOME_TEXT = '\0';

interface Found {
  /** Some of the values leaves its host to clients. */
  readonly isOpen: boolean;
  /** Hosts, with a port where one is written, that the values have in full: in lower case. */
  readonly written: ReadonlySet<string>;
}

/** Who has a say in the host of an address, which is one of the given values: `[scheme://]host[:port][/…]`. */
export function findOrigin(values: readonly (readonly Origin[])[]): Found {
  const written = new Set<string>();
  const isOpen = values.map((pieces) => isLeftOpen(pieces, written)).includes(true);
  return { isOpen, written };
}

function isLeftOpen(pieces: readonly Origin[], written: Set<string>): boolean {
  let before = '';
  for (const piece of pieces) {
    if (isHostOver(before)) break;
    if (typeof piece === 'string') before += piece;
    else if (piece.by === 'configuration') before += SOME_TEXT;
    else if (endsHost(piece.by, hostIn(before))) break;
    else {
      // What comes behind it may be nothing, or a path.
      note(before, written);
      return true;
    }
  }
  note(before, written);
  return false;
}

/** Whether a client's text behind a host that has begun is meant as its path. */
function endsHost(by: 'client' | 'path', host: string): boolean {
  return by === 'path' ? host !== '' : host.endsWith(SOME_TEXT);
}

function note(before: string, written: Set<string>): void {
  const [host = ''] = /^(?:\[[^\]]*\]|[^/?:[\]]*)(?::\d+)?/.exec(hostIn(before)) ?? [];
  if (host !== '' && !host.includes(SOME_TEXT)) written.add(host.toLowerCase());
}

/** What follows the scheme, where there is one. */
function hostIn(before: string): string {
  const scheme = before.indexOf('://');
  return scheme < 0 ? before : before.slice(scheme + 3);
}

/** Behind a host come its port, its path or its arguments. */
function isHostOver(before: string): boolean {
  if (/^(?:https?|rediss?):\/?$/i.test(before)) return false;
  return /^(?:\[[^\]]*\]|[^/?:[\]]*)[/?:]/.test(hostIn(before));
}
