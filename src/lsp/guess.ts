import type { Context, Registry } from '../config/index.ts';
import type { TextFile } from './files.ts';

const MARK = /^[ \t]*#[ \t]*gw-context:[ \t]*([a-z_ ,]+?)[ \t]*$/m;

/** Those of nginx's order of nesting first: a file whose directives fit several is most likely the outermost. */
const ORDER: readonly Context[] = [
  'main',
  'http',
  'server',
  'location',
  'upstream',
  'events',
  'limit_except',
  'server if',
  'location if',
];

/** The context that a file says it is for: the last one of `# gw-context: http, server`. */
export function saidContext({ source }: TextFile): Context | undefined {
  const last = MARK.exec(source.text)?.[1]?.split(',').at(-1)?.trim();
  return ORDER.find((context) => context === last);
}

/** The context in which most directives of a file are allowed; `main` for an empty one. */
export function guessedContext({ nodes }: TextFile, table: Registry): Context {
  let best: Context = 'main';
  let most = 0;
  for (const context of ORDER) {
    const fitting = nodes.filter(({ name, block }) =>
      table.named(name.value).some(({ row }) => {
        const takesBlock = 'opens' in row || 'data' in row;
        return row.contexts.includes(context) && takesBlock === (block !== undefined);
      }),
    ).length;
    if (fitting > most) [best, most] = [context, fitting];
  }
  return best;
}

/** Whether a text looks like a whole configuration: it has what only the main context may have. */
export function looksWhole(text: string): boolean {
  return /^[ \t]*(?:(?:http|events)\s*\{|worker_processes\s)/m.test(text);
}
