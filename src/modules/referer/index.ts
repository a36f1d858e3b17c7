import { moduleFor } from '../../contract/index.ts';
import type { VariableDefinition } from '../../contract/index.ts';
import { directives, isNamed } from './directives.ts';
import type { Referer, RefererConfig } from './directives.ts';
import { compileReferers } from './valid.ts';

const definition = (compile: VariableDefinition['compile']): VariableDefinition => ({
  summary: 'Empty when the request header `Referer` is one of `valid_referers`, else 1.',
  compile,
});

/** A pattern that names what one before it names already. */
function conflicting(referers: readonly Referer[]): string | undefined {
  const seen = new Set<string>();
  for (const referer of referers) {
    if (referer.kind !== 'host') continue;
    const { pattern } = referer;
    const names = pattern.startsWith('.') ? [pattern.slice(1), `*${pattern}`] : [pattern];
    if (names.some((name) => seen.has(name))) return pattern;
    for (const name of names) seen.add(name);
  }
  return undefined;
}

/** Which pages may lead to a location. */
export const referer = moduleFor<RefererConfig>()({
  name: 'referer',
  directives,
  variables: { invalid_referer: definition(() => () => '') },
  enabled: ({ referers }) => referers !== undefined,
  validate({ referers = [] }, report) {
    const all = referers.flat();
    const conflict = conflicting(all);
    if (conflict !== undefined)
      report.phrase('referers', `conflicting parameter "${conflict}"`, { rule: 'duplicate-directive' });
    const wantsNone = all.some(({ kind }) => kind === 'none' || kind === 'blocked');
    if (wantsNone && !all.some(isNamed)) {
      const message =
        'the "none" or "blocked" referers are specified in the "valid_referers" directive without any valid referer';
      report.phrase('referers', message);
    }
  },
  defines: ({ referers = [] }) => ({
    invalid_referer: definition((build) => {
      build.needHeader('referer');
      const isValid = compileReferers(referers.flat(), build.serverNames);
      return (x) => (isValid(x.header('referer')) ? '' : '1');
    }),
  }),
  compile: () => ({}),
});
