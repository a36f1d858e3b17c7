import { createTwoFilesPatch } from 'diff';

/** What must change in a file, as `diff -u` prints it. */
export function patchOf(
  { name, text }: { readonly name: string; readonly text: string },
  changed: string,
): string {
  const patch = createTwoFilesPatch(name, name, text, changed);
  return patch.slice(patch.indexOf('--- '));
}
