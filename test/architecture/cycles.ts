import type { SourceFile } from './tree.ts';

/** Every circle that a walk through the imports closes, as the paths along it; the first path is repeated at the end. */
export function cyclesOf(tree: readonly SourceFile[]): string[][] {
  const files = new Map(tree.map((file) => [file.path, file]));
  const done = new Set<string>();
  const cycles: string[][] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt >= 0) cycles.push([...trail.slice(seenAt), path]);
    if (seenAt >= 0 || done.has(path)) return;
    const targets = new Set(files.get(path)?.imports.map(({ target }) => target));
    for (const target of targets) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of files.keys()) visit(path, []);
  return cycles;
}
