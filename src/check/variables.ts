import type { DirectiveNode } from '../../grammar/index.ts';

const REFERENCE = /\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g;

/** The variables that the words of a directive name, in lower case, whatever the words are for. */
export function variablesIn({ args }: DirectiveNode): readonly string[] {
  return args.flatMap(({ value }) =>
    [...value.matchAll(REFERENCE)].map(([, bracketed, plain]) => (bracketed ?? plain ?? '').toLowerCase()),
  );
}
