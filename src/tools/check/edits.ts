import { edited, type Fix, type Source, type TextEdit } from '../../../grammar/index.ts';
import type { Finding } from './finding.ts';

/** A finding with a fix. */
export type Mendable = Finding & { readonly fix: Fix };

/** Returns the largest list of findings, from the first on, that can be fixed at once because no two edits overlap. */
export function mendableAtOnce(findings: readonly Mendable[]): readonly Mendable[] {
  const taken = new Map<Source, TextEdit[]>();
  return findings.filter(({ fix }) => {
    if (fix.edits.some((edit) => taken.get(edit.span.source)?.some((other) => meet(edit, other))))
      return false;
    for (const edit of fix.edits) {
      const edits = taken.get(edit.span.source) ?? [];
      taken.set(edit.span.source, edits);
      edits.push(edit);
    }
    return true;
  });
}

/** Two insertions at one offset overlap as well: the next round decides their order. */
function meet({ span: a }: TextEdit, { span: b }: TextEdit): boolean {
  return (
    (a.start < b.end && b.start < a.end) || a.start === b.start || a.end === b.start || b.end === a.start
  );
}

/** The texts of the sources after the fixes of these findings, with the line ends of the source. */
export function mended(findings: readonly Mendable[]): ReadonlyMap<Source, string> {
  const bySource = new Map<Source, TextEdit[]>();
  for (const edit of findings.flatMap(({ fix }) => fix.edits)) {
    const edits = bySource.get(edit.span.source) ?? [];
    bySource.set(edit.span.source, edits);
    edits.push(edit);
  }
  return new Map([...bySource].map(([source, edits]) => [source, edited(source.text, edits)]));
}
