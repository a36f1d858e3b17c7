import type { Cursor } from './cursor.ts';
import type { Place } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** What the cursor may be in; a file may be included in several places. */
export function placesAt({ blocks, file }: Cursor, workspace: Workspace): readonly Place[] {
  return workspace.placesInside(file, namesOf(blocks));
}

/** The server block of this file that the cursor is in, as occurrences name it; `undefined` when it is in none. */
export function serverAt({ blocks, file }: Cursor, workspace: Workspace): string | undefined {
  const names = namesOf(blocks);
  const opener = blocks.findLast((_, index) =>
    workspace.placesInside(file, names.slice(0, index + 1)).includes('server'),
  );
  return opener?.[0] && `${file.path}:${opener[0].start}`;
}

function namesOf(blocks: Cursor['blocks']): readonly string[] {
  return blocks.map(([opener]) => opener?.value ?? '');
}
